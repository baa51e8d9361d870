//! How busy GPUs are, from a driver's library to every place that shows it, with a real daemon. The library is a small
//! one of our own (`fake_nvml/nvml.c`), which a daemon loads as it loads NVIDIA's.

mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use common::{Dir, Ran};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const GIB: u64 = 1 << 30;

/// A daemon that finds GPUs of our making.
struct Lab {
    home: Dir,
    child: Child,
    gpus: &'static str,
}

impl Lab {
    fn start(gpus: &'static str, figures: &str) -> Lab {
        let home = Dir::new();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_nvml/nvml.c");
        let library = home.join("libnvidia-ml.so.1");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .arg(source)
            .status()
            .expect("a C compiler");
        assert!(compiled.success());
        // What starts NVIDIA's multi-process service: nothing is to be started here.
        let control = home.file("nvidia-cuda-mps-control", "#!/bin/sh\nexit 0\n");
        let made = Command::new("chmod").args(["+x", &control]).status();
        assert!(made.is_ok_and(|status| status.success()));
        home.file("figures", figures);
        let child = Lab::spawn(&home, gpus);
        Lab { home, child, gpus }
    }

    fn spawn(home: &Dir, gpus: &str) -> Child {
        let path = |name: &str| home.join(name).display().to_string();
        let config = format!(
            "listen = \"127.0.0.1:0\"\ntrust_tenants = true\nstate_dir = \"{}\"\n[socket]\npath = \"{}\"\n[scheduling]\nround = \"200ms\"\n[gpus]\nread_every = \"100ms\"\n{gpus}",
            path("state"),
            path("oef.sock")
        );
        let config = home.file("oef.toml", config);
        let programs = format!("{}:{}", path("."), std::env::var("PATH").unwrap_or_default());
        let vars = [
            ("LD_LIBRARY_PATH", &*path(".")),
            ("OEF_FAKE_NVML", &path("figures")),
            ("PATH", &programs),
        ];
        up::spawn_with(home, ["serve", "--config", &config], &vars)
    }

    /// Written aside and put in place, so that no half of it is read.
    fn set(&self, figures: &str) {
        let new = self.home.file("figures.new", figures);
        std::fs::rename(new, self.home.join("figures")).expect("in place");
    }

    fn oef(&self, args: &[&str]) -> Ran {
        up::ask(&self.home, args)
    }

    /// A job that sleeps, of a tenant of its own; its place when it runs.
    fn sleeps(&self, tenant: &str) -> (String, usize) {
        let words = ["submit", "--tenant", tenant, "--create-tenant", "--", "sleep", "1000"];
        let ran = self.oef(&words);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let id = ran.out.trim().to_string();
        let began = Instant::now();
        loop {
            let job = self.oef(&["job", &id, "--json"]).json();
            if job["state"] == "running" {
                return (id, job["gpus"][0]["index"].as_u64().expect("a place") as usize);
            }
            assert!(began.elapsed() < up::PATIENCE, "{job}");
        }
    }

    fn access(&self) -> Value {
        let access = std::fs::read_to_string(self.home.join("state/access.json")).expect("access");
        serde_json::from_str(&access).expect("JSON")
    }

    fn server(&self) -> String {
        self.access()["server"].as_str().expect("an address").to_string()
    }

    fn metrics(&self) -> String {
        let address = self.server().replace("http://", "");
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let token = self.access()["token"].as_str().expect("a token").to_string();
        let ask = format!(
            "GET /metrics HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(ask.as_bytes()).expect("asked");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    }

    /// The value of a metric of a GPU; none: there is no such series.
    fn metric(&self, name: &str, gpu: usize) -> Option<f64> {
        let (begin, end) = (format!("{name}{{node="), format!("gpu=\"{gpu}\"}} "));
        let text = self.metrics();
        let line = text.lines().find(|line| line.starts_with(&begin) && line.contains(&end))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    fn utilisation(&self, gpu: usize) -> Option<f64> {
        self.metric("oef_gpu_utilisation_ratio", gpu)
    }

    /// How busy a tenant's GPUs were, once that is known.
    fn used_by(&self, tenant: &str) -> Value {
        let mut found = Value::Null;
        self.until("usage", || {
            let usage = self.oef(&["usage", "--json"]).json();
            let rows = usage["rows"].as_array().expect("rows").clone();
            found = rows.into_iter().find(|row| row["name"] == tenant).unwrap_or_default();
            !found["utilisation"].is_null()
        });
        found
    }

    #[track_caller]
    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < up::PATIENCE, "{what} did not come:\n{}", self.metrics());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.join("log")).unwrap_or_default()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.oef(&["cancel", "--all", "--tenant", "ada"]);
        let _ = self.oef(&["cancel", "--all", "--tenant", "bob"]);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn figures(first: u32, second: u32) -> String {
    format!("0 {first} {} {}\n1 {second} 0 {}\n", 70 * GIB, 80 * GIB, 80 * GIB)
}

#[test]
fn what_the_driver_says_is_in_metrics_top_cluster_and_usage_over_a_restart() {
    let mut lab = Lab::start("", &figures(97, 3));
    lab.until("figures", || lab.utilisation(0).is_some());
    assert_eq!((lab.utilisation(0), lab.utilisation(1)), (Some(0.97), Some(0.03)));
    assert_eq!(lab.metric("oef_gpu_memory_used_bytes", 0), Some((70 * GIB) as f64));
    assert_eq!(lab.metric("oef_gpu_memory_total_bytes", 1), Some((80 * GIB) as f64));
    let gpus = &lab.oef(&["cluster", "--json"]).json()["nodes"][0]["gpus"];
    assert_eq!(gpus[0]["utilisation"], 0.97);
    assert_eq!(gpus[0]["memory_used"], 70 * GIB);
    assert_eq!(gpus[0]["idle_s"], Value::Null, "nobody holds it");
    let cluster = lab.oef(&["cluster"]).out;
    for part in ["busy", "memory", "97%  3%", "70/160G"] {
        assert!(cluster.contains(part), "`{part}` is not in:\n{cluster}");
    }
    let top = lab.oef(&["top", "--once"]).out;
    assert!(top.contains("97%  70G") && top.contains("3%   0G"), "{top}");
    let (_, ada) = lab.sleeps("ada");
    let (_, bob) = lab.sleeps("bob");
    assert_ne!(ada, bob);
    let parts = [0.97, 0.03];
    for (tenant, place) in [("ada", ada), ("bob", bob)] {
        let row = lab.used_by(tenant);
        common::near(&row["utilisation"], parts[place]);
        assert!(row["measured"].as_f64() > Some(0.0), "{row}");
    }
    let usage = lab.oef(&["usage"]).out;
    assert!(usage.contains("97%") && usage.contains("3%") && usage.contains("busy"), "{usage}");
    let csv = lab.oef(&["usage", "--csv"]).out;
    assert!(csv.contains(",measured,utilisation\n") && csv.contains(",0.970000\n"), "{csv}");
    // A tenant sees what its own GPU does and not what another's does.
    let made =
        lab.oef(&["token", "create", "--role", "tenant", "--tenant", "ada", "--json"]).json();
    let token = made["secret"].as_str().expect("a secret");
    let vars = [("OEF_SERVER", &*lab.server()), ("OEF_TOKEN", token)];
    let seen = daemon::run(&["cluster", "--json"], "", &vars).json();
    let gpus = &seen["nodes"][0]["gpus"];
    assert_eq!(gpus[ada]["utilisation"], parts[ada]);
    assert_eq!(gpus[bob]["utilisation"], Value::Null, "{seen}");
    lab.child.kill().expect("killed");
    let _ = lab.child.wait();
    lab.set(&figures(0, 0));
    lab.child = Lab::spawn(&lab.home, lab.gpus);
    let row = lab.used_by("ada");
    assert!(row["measured"].as_f64() > Some(0.0), "what was measured before is still there: {row}");
    // Now both are held and do nothing: that is seen, and makes the mean smaller.
    lab.until("an idle GPU", || lab.metric("oef_gpu_held_idle_seconds", ada) > Some(0.0));
    lab.until("a smaller mean", || {
        lab.used_by("ada")["utilisation"].as_f64() < row["utilisation"].as_f64()
    });
    let idle = &lab.oef(&["cluster", "--json"]).json()["nodes"][0]["gpus"][bob]["idle_s"];
    assert!(idle.as_f64() > Some(0.0), "{idle}");
}

#[test]
fn a_driver_that_loses_a_gpu_fails_or_hangs_stops_nothing() {
    let mut lab = Lab::start("", &figures(50, 60));
    lab.until("figures", || lab.utilisation(1) == Some(0.6));
    for (trouble, times) in [("lost", 1), ("error", 2)] {
        lab.set(&format!("0 50 0 {GIB}\n1 {trouble}\n"));
        lab.until("a GPU without figures", || lab.utilisation(1).is_none());
        assert_eq!(lab.utilisation(0), Some(0.5), "the other one still tells");
        let cluster = lab.oef(&["cluster", "--json"]).json();
        assert_eq!(cluster["nodes"][0]["gpus"][1]["memory_total"], Value::Null);
        // Many readings later it has been said once.
        let before = lab.metric("oef_gpu_utilisation_ratio", 0);
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(lab.metric("oef_gpu_utilisation_ratio", 0), before);
        let said = lab.log().matches("a GPU does not tell what it does").count();
        assert_eq!(said, times, "{}", lab.log());
    }
    lab.set(&figures(50, 70));
    lab.until("figures again", || lab.utilisation(1) == Some(0.7));
    lab.set("hang\n");
    lab.until("no figures", || lab.utilisation(0).is_none() && lab.utilisation(1).is_none());
    // Everything else goes on: a job starts, runs and ends.
    let (id, _) = lab.sleeps("ada");
    assert_eq!(lab.oef(&["cancel", &id]).code, 0);
    lab.until("its end", || lab.oef(&["job", &id, "--json"]).json()["state"] == "cancelled");
    assert!(!lab.oef(&["cluster"]).out.contains("busy"), "a column that nothing is known for");
    // Nor does the driver keep it from stopping.
    let stopped = Command::new("kill").arg(lab.child.id().to_string()).status();
    assert!(stopped.is_ok_and(|status| status.success()));
    assert_eq!(lab.child.wait().expect("it ends").code(), Some(0), "{}", lab.log());
}

#[test]
fn slices_of_a_gpu_have_the_figures_of_the_whole() {
    let lab = Lab::start("mps = \"small=2x8%,big=1x30%@1\"\n", &figures(40, 80));
    lab.until("figures", || lab.utilisation(1).is_some());
    let nodes = lab.oef(&["cluster", "--json"]).json()["nodes"].clone();
    for node in nodes.as_array().expect("nodes") {
        let expected = if node["type"] == "big" { 0.8 } else { 0.4 };
        for gpu in node["gpus"].as_array().expect("GPUs") {
            assert_eq!(gpu["utilisation"], expected, "{node}");
        }
    }
    assert_eq!(nodes.as_array().map(Vec::len), Some(2));
}
