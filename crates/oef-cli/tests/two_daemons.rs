//! Two daemons of one user on one machine: neither takes the other's clients away.

mod common;
#[path = "common/daemon.rs"]
mod daemon;
#[path = "common/up.rs"]
mod up;

use common::Dir;
use std::process::Child;

/// Ends a daemon.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_second_daemon_leaves_the_first_ones_access_file_alone() {
    let home = Dir::new();
    let first = Ends(up::spawn(&home, up::up(&home, "a=1", &[])));
    let access = home.join("oef/access.json");
    let before = std::fs::read_to_string(&access).expect("an access file");
    let (state, home_dir) = (home.join("second"), home.path().display().to_string());
    let listen = ["--listen", "127.0.0.1:0", "--state"];
    let args = ["up", "--gpus", "b=1"].iter().chain(&listen).map(ToString::to_string);
    let second = Ends(up::spawn(&home, args.chain([state.display().to_string()])));

    let own = state.join("access.json");
    up::wait_for(&own);
    assert_eq!(std::fs::read_to_string(&access).expect("still there"), before);
    assert!(up::ask(&home, &["cluster"]).out.contains("a-0"), "commands go to the first");
    let named =
        [("XDG_STATE_HOME", home_dir.as_str()), ("OEF_ACCESS", own.to_str().expect("text"))];
    let ran = daemon::run(&["cluster"], "", &named);
    assert!(ran.out.contains("b-0"), "unless the second is named: {}{}", ran.out, ran.err);

    // The journal that is meant is that of the daemon that is meant.
    let checked = up::ask(&home, &["journal", "check"]);
    assert!(checked.err.contains(&home.join("state").display().to_string()), "{}", checked.err);
    let checked = daemon::run(&["journal", "check"], "", &named);
    assert!(checked.err.contains(&state.display().to_string()), "{}", checked.err);

    // A daemon writes where clients with the same variable look.
    let named = home.join("named.json");
    let vars = [("XDG_STATE_HOME", &*home_dir), ("OEF_ACCESS", named.to_str().expect("text"))];
    let state = home.join("fourth").display().to_string();
    let args = ["up", "--gpus", "d=1", "--listen", "127.0.0.1:0", "--state", &state];
    let fourth = Ends(up::spawn_with(&home, args, &vars));
    up::wait_for(&named);
    let ran = daemon::run(&["cluster"], "", &vars);
    assert!(ran.out.contains("d-0"), "{}{}", ran.out, ran.err);
    drop(fourth);

    // When the first is gone, the usual place is free.
    drop(first);
    drop(second);
    let _third = Ends(up::spawn(&home, up::up(&home, "a=1", &[])));
    assert_ne!(std::fs::read_to_string(&access).expect("written anew"), before);
}
