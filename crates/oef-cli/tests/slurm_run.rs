//! `oef run` on a real Slurm: the command runs on a node, and its terminal is here.

#[path = "../../oef-executor/tests/slurm_lab/mod.rs"]
mod slurm_lab;

mod slurm_daemon;

use slurm_daemon::{OEF, World};
use slurm_lab::Lab;
use std::io::Write as _;
use std::process::{Command, Stdio};

#[test]
fn a_command_runs_on_a_node_with_its_streams_here() {
    let world = World::new(Lab::up(&[("LAB_ACCOUNTING", "0")]));
    let server = format!("unix://{}/oef.sock", world.folder.display());

    // The daemon listens on loopback: nodes cannot reach it, as far as it knows.
    world.settings("", "1s");
    let daemon = world.serve();
    let (ok, _, said) = world.ask(&["run", "--tenant", "a", "--create-tenant", "--", "true"]);
    assert!(!ok && said.contains("cannot reach the daemon") && said.contains("[jobs]"), "{said}");
    daemon.stop();

    world.settings(&format!("[jobs]\naddress = \"{server}\"\n"), "1s");
    let _daemon = world.serve();
    let script = "read line; echo \"$line on $SLURMD_NODENAME with $OEF_GPU_TYPE\"; exit 9";
    let mut command = Command::new(OEF);
    command.args(["run", "--tenant", "a", "--create-tenant", "--types", "rtx3090", "--"]);
    command.args(["sh", "-c", script]).env("OEF_SERVER", &server).env("HOME", &world.folder);
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("oef");
    child.stdin.take().expect("stdin").write_all(b"hello\n").expect("written");
    let output = child.wait_with_output().expect("ended");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(9), "{out}{err}{}", world.log());
    assert!(out.starts_with("hello on n") && out.contains("with rtx3090"), "{out}");

    // A shell beside a job, on its node.
    let submit = ["submit", "--tenant", "a", "--workdir", "/", "--", "sleep", "600"];
    let (ok, id, said) = world.ask(&submit);
    assert!(ok, "{said}");
    let id = id.trim();
    world.until("job that runs", || world.oef(&["job", id, "--json"])["state"] == "running");
    let echo = "echo $OEF_JOB_ID on $SLURMD_NODENAME";
    let (ok, out, said) = world.ask(&["shell", id, "--", "sh", "-c", echo]);
    assert!(ok && out.starts_with(&format!("{id} on n")), "{out}{said}{}", world.log());
    world.ask(&["cancel", id]);
}
