//! A daemon with emulated GPUs for one test, and jobs of the tenant `me` on it.

use super::common::{Dir, Ran};
use super::up::{self, PATIENCE};
use serde_json::Value;
use std::process::Child;
use std::time::{Duration, Instant};

/// `oef up` on emulated GPUs in a folder of its own, stopped when dropped.
pub struct Up {
    pub home: Dir,
    pub child: Child,
}

impl Up {
    pub fn start() -> Up {
        let home = Dir::new();
        let child = Up::spawn(&home);
        Up { home, child }
    }

    pub fn spawn(home: &Dir) -> Child {
        up::spawn(home, up::up(home, "slow=2,fast=2", &["--trust-tenants"]))
    }

    pub fn oef(&self, args: &[&str]) -> Ran {
        up::ask(&self.home, args)
    }

    /// Submits this shell script and gives its number.
    #[track_caller]
    pub fn submit(&self, options: &[&str], script: &str) -> String {
        let args: Vec<&str> = ["submit", "--tenant", "me", "--create-tenant"]
            .iter()
            .chain(options)
            .copied()
            .chain(["--", "sh", "-c", script])
            .collect();
        let ran = self.oef(&args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out.trim().to_string()
    }

    /// Waits until the job is in this state.
    #[track_caller]
    pub fn until(&self, id: &str, state: &str) -> Value {
        let began = Instant::now();
        loop {
            let ran = self.oef(&["job", id, "--json"]);
            let job: Value =
                serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
            if job["state"] == state {
                return job;
            }
            assert!(began.elapsed() < PATIENCE, "not {state}: {job}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // What still runs would outlive the test: that is what runners are for.
        let _ = self.oef(&["cancel", "--all", "--tenant", "me"]);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) && self.oef(&["jobs"]).out.contains(" me ")
        {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
