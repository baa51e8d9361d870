//! Nodes whose clocks are wrong.

use crate::common::{PROGRAM, write_program};
use crate::world::{World, next};
use oef_executor::{DeviceId, Ending, Launch, LeaseEvent, Program};
use oef_sched::Span;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// How wrong they are.
const OFF_S: i64 = 3600;

/// A library that makes a program see another time of day; lengths of time stay what they are.
fn shifted_clock(folder: &Path) -> PathBuf {
    let source = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *at) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(clock, at);
    if (done == 0 && clock == CLOCK_REALTIME && getenv("CLOCK_OFF_S")) at->tv_sec += atol(getenv("CLOCK_OFF_S"));
    return done;
}
"#;
    let (text, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&text, source).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&text).arg("-ldl");
    assert!(compiler.status().expect("a C compiler").success());
    library
}

fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("soon enough")
}

/// How many seconds from now a start was, by the clock of its node.
fn started_off(world: &World, launch: &Launch) -> Option<i64> {
    world.told(launch).into_iter().find_map(|event| match event {
        LeaseEvent::Started { at_ms, .. } => Some(i64::try_from(at_ms / 1000).ok()? - now_s()),
        _ => None,
    })
}

#[test]
fn jobs_move_between_nodes_whose_clocks_differ_by_hours() {
    let mut world = World::with(|config, folder| {
        let library = shifted_clock(folder);
        // The clock of n1 is an hour ahead, that of n2 an hour behind, and the others are right.
        let runner = folder.join("runner");
        let script = format!(
            "#!/bin/sh\ncase $SLURMD_NODENAME in n1) CLOCK_OFF_S={OFF_S};; n2) CLOCK_OFF_S=-{OFF_S};; *) exec {PROGRAM} \"$@\";; esac\n\
             export CLOCK_OFF_S LD_PRELOAD={}\nexec {PROGRAM} \"$@\"\n",
            library.display()
        );
        write_program(&runner, &script);
        config.runner = vec![runner.into(), "runner".into()];
    });
    let mut job = world.job(1, &["n1:0"]);
    for (count, (node, off)) in [("n1", OFF_S), ("n2", -OFF_S), ("n3", 0)].into_iter().enumerate() {
        job.devices = vec![DeviceId(format!("{node}:0"))];
        world.start(&job);
        world.runs(&job, count + 1);
        let told = world.until("word of the start", |world| started_off(world, &job));
        assert!((told - off).abs() < 300, "{node}: {told} s off, and not {off}");
        world.stop(&job);
        assert_eq!(world.ending(&job), Ending::Checkpointed, "{node}");
        assert!(!world.is_running(&job), "{node}");
        job = next(&job);
    }
    // How long a job may run is counted on its node's own clock, which no hour is missing from.
    for (id, node) in [(2, "n1"), (3, "n2")] {
        let script = b"trap 'exit 75' TERM; while :; do sleep 0.05; done".to_vec();
        let limited = Launch {
            max_run: Some(Span(1500)),
            program: Program::Script(script),
            ..world.job(id, &[&format!("{node}:1")])
        };
        world.start(&limited);
        let ending = world.ending(&limited);
        assert!(matches!(ending, Ending::TimedOut { .. }), "{node}: {ending:?}");
    }
}
