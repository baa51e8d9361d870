//! The binary against a server with prepared answers.
#![allow(dead_code, reason = "every test file uses a part of it")]

#[path = "../../../oef-api/tests/responder/mod.rs"]
pub mod responder;

use crate::common::Ran;
use assert_cmd::Command;
use responder::Responder;

/// Runs `oef` against this server, on a screen of 80 columns.
pub fn oef_at(server: &Responder, args: &[&str]) -> Ran {
    oef_at_with(server, args, "")
}

/// The same with this on stdin.
pub fn oef_at_with(server: &Responder, args: &[&str], stdin: &str) -> Ran {
    run(args, stdin, &[("OEF_SERVER", &server.address), ("OEF_TOKEN", "t0ken")])
}

/// The same on a screen of so many columns.
pub fn oef_at_width(server: &Responder, args: &[&str], columns: &str) -> Ran {
    let vars = [("OEF_SERVER", &*server.address), ("OEF_TOKEN", "t0ken"), ("COLUMNS", columns)];
    run(args, "", &vars)
}

/// Runs `oef` with these variables alone beside the usual ones.
pub fn run(args: &[&str], stdin: &str, vars: &[(&str, &str)]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oef"));
    for name in ["OEF_SERVER", "OEF_TOKEN", "OEF_CA", "OEF_TENANT", "XDG_STATE_HOME"] {
        command.env_remove(name);
    }
    command
        .env("TZ", "UTC")
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", "80")
        .envs(vars.iter().copied());
    let output = command.args(args).write_stdin(stdin).output().expect("the binary runs");
    Ran {
        code: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
        err: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
    }
}

/// A document that a daemon gave once.
pub fn recorded(name: &str) -> String {
    let path = format!("{}/tests/data/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A refusal.
pub fn problem(kind: &str, status: u16, detail: &str, hint: &str) -> responder::Reply {
    let body = serde_json::json!({
        "type": kind, "status": status, "title": kind, "detail": detail, "hint": hint,
    });
    responder::Reply::Json(status, body.to_string())
}

/// An event of a job as it comes over the wire.
pub fn job_event(id: u64, job: u64, state: &str) -> String {
    let body = serde_json::json!({
        "id": id, "at": "2026-11-15T10:00:00Z", "topic": "job", "job": job, "state": state,
        "tenant": "speech", "message": format!("job {job} is {state}"),
    });
    format!("id: {id}\nevent: job\ndata: {body}\n\n")
}
