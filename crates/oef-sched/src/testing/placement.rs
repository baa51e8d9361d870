//! Where jobs go: one host, one type, adjacent types; staying, moving, coming together.

use super::world::World;
use crate::*;
use oef_core::Mechanism;

fn max_min() -> Settings {
    Settings { mechanism: Mechanism::MaxMin, ..Settings::default() }
}

#[test]
fn the_biggest_gang_has_one_host_and_small_jobs_fill_the_gaps() {
    let mut world = World::new(max_min(), &[("k80", 3, 4)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let small: Vec<JobId> = (0..4).map(|_| world.submit(workload, 1)).collect();
    let four = [world.submit(workload, 4), world.submit(workload, 4)];
    world.tick();
    for gang in four {
        assert_eq!(world.hosts(gang).len(), 1);
    }
    let hosts: Vec<Vec<usize>> = small.iter().map(|&job| world.hosts(job)).collect();
    assert!(hosts.iter().all(|host| *host == hosts[0]), "{hosts:?}");
}

#[test]
fn a_small_job_goes_where_it_leaves_the_fewest_gpus_over() {
    let mut world = World::new(max_min(), &[("k80", 2, 4)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    world.tick();
    let three = world.submit(workload, 3);
    let one = world.submit(workload, 1);
    assert_eq!(world.hosts(three), world.hosts(one));
    let four = world.submit(workload, 4);
    assert_eq!(world.hosts(four).len(), 1);
}

#[test]
fn a_gang_too_big_for_a_host_takes_the_fewest_hosts_of_one_type() {
    let mut world = World::new(max_min(), &[("k80", 4, 4), ("v100", 1, 4)]);
    let workload = world.tenant("a", 1.0, &[1.0, 3.0]);
    let gang = world.submit(workload, 10);
    world.tick();
    assert_eq!((world.runs_on(gang), world.hosts(gang).len()), ("k80", 3));
}

#[test]
fn types_are_crossed_last_and_adjacent_ones_first() {
    let nodes = [("k80", 1, 4), ("p100", 1, 2), ("v100", 1, 2)];
    let mut world = World::new(max_min(), &nodes);
    let workload = world.tenant("a", 1.0, &[1.0, 2.0, 4.0]);
    world.tick();
    // One type, though a slower one, comes before the faster two together.
    let alone = world.submit(workload, 4);
    assert_eq!(world.runs_on(alone), "k80");
    let across = world.submit(workload, 3);
    assert_eq!((world.runs_on(across), world.hosts(across)), ("+", vec![1, 2]));
    let why = why(&world.state, across).map(|forecast| forecast.sentence);
    assert_eq!(why.as_deref(), Some("no single gpu type had room for the gang"));
}

#[test]
fn running_jobs_stay_when_others_come_and_go() {
    let mut world = World::new(max_min(), &[("k80", 2, 4)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let jobs: Vec<JobId> = (0..6).map(|_| world.submit(workload, 1)).collect();
    world.tick();
    let before: Vec<Vec<GpuId>> = world.state.placements().into_iter().map(|p| p.gpus).collect();
    world.finish(jobs[0]);
    world.submit(workload, 2);
    world.tick();
    let after: Vec<Vec<GpuId>> = world.state.placements().into_iter().map(|p| p.gpus).collect();
    assert_eq!(before[1..], after[..5]);
    assert!(world.state.jobs().all(|job| job.restarts() == 0));
}

#[test]
fn a_job_moves_to_a_faster_idle_type_only_if_that_pays() {
    // A restart of 14 s is won back within an hour by more than 0.4 %.
    for (speed, moves) in [(1.003, false), (1.02, true)] {
        let mut world = World::new(max_min(), &[("k80", 1, 1), ("v100", 1, 1)]);
        let workload = world.tenant("a", 1.0, &[1.0, speed]);
        let first = world.submit(workload, 1);
        let second = world.submit(workload, 1);
        world.tick();
        assert_eq!([world.runs_on(first), world.runs_on(second)], ["v100", "k80"]);
        world.finish(first);
        world.tick();
        assert_eq!(world.runs_on(second) == "v100", moves, "{speed}");
    }
}

#[test]
fn a_gang_that_was_spread_comes_together_when_a_host_has_room() {
    let mut world = World::new(max_min(), &[("k80", 2, 4)]);
    let workload = world.tenant("a", 1.0, &[1.0]);
    let small: Vec<JobId> = (0..6).map(|_| world.submit(workload, 1)).collect();
    world.tick();
    for (n, &job) in small.iter().enumerate() {
        // One of four on each host ends: two and two are free, and then one more on each.
        if matches!(n, 0 | 4) {
            world.finish(job);
        }
    }
    let gang = world.submit(workload, 4);
    assert_eq!(world.hosts(gang).len(), 2);
    for &job in &small[1..4] {
        world.finish(job);
    }
    world.tick();
    assert_eq!(world.hosts(gang).len(), 1);
    let job = world.state.job(gang).map(|job| (job.restarts(), job.lease().map(|l| l.generation)));
    assert_eq!(job, Some((1, Some(Generation(2)))));
    world.ticks(3);
    assert_eq!(world.state.job(gang).map(Job::restarts), Some(1), "it stays from then on");
}

#[test]
fn what_a_job_leaves_for_a_better_place_is_handed_out_in_the_same_round() {
    let mut world = World::new(max_min(), &[("k80", 1, 1), ("v100", 1, 1)]);
    let able = world.tenant("able", 1.0, &[1.0, 2.0]);
    let slow = world.tenant("slow", 1.0, &[1.0, 0.0]);
    let (first, second) = (world.submit(able, 1), world.submit(able, 1));
    let third = world.submit(slow, 1);
    world.tick();
    for job in [first, second] {
        if world.runs_on(job) == "v100" {
            world.finish(job);
            break;
        }
    }
    world.tick();
    assert_eq!(world.runs_on(third), "k80");
    assert_eq!(world.state.cluster().idle(), [0, 0]);
}

#[test]
fn a_job_that_needs_memory_runs_only_where_it_is_known_to_be() {
    let settings = Settings { mechanism: Mechanism::MaxMin, ..Settings::default() };
    let mut world = World::new(settings, &[("rtx3070", 1, 2), ("a100", 1, 1), ("odd", 1, 2)]);
    let a = world.tenant("a", 1.0, &[1.0, 2.0, 3.0]);
    let jobs: Vec<JobId> = (0..3)
        .map(|_| {
            let spec = JobSpec { memory: Some(20 * 1024), ..world.spec(a, 1) };
            world.submit_spec(spec)
        })
        .collect();
    world.ticks(2);
    let on = |world: &World| -> Vec<String> {
        jobs.iter().map(|job| world.runs_on(*job).to_string()).collect()
    };
    assert_eq!(on(&world), ["a100", "-", "-"], "nobody knows the memory of the odd ones");
    assert_eq!(world.state.workloads()[a.0].share, [0.0, 1.0, 0.0], "shares know it");
    let mut settings = world.state.settings().clone();
    settings.gpu_memory.insert("odd".into(), 24 * 1024);
    world.happen(EventKind::Settings(Box::new(settings.clone())));
    world.tick();
    assert_eq!(on(&world).iter().filter(|on| *on == "odd").count(), 2, "{:?}", on(&world));
    settings.gpu_memory = [("odd".into(), 1024), ("a100".into(), 1024)].into();
    world.happen(EventKind::Settings(Box::new(settings)));
    let late = JobSpec { memory: Some(20 * 1024), ..world.spec(a, 1) };
    let late = world.submit_spec(late);
    world.tick();
    let said = why(&world.state, late).map(|forecast| forecast.sentence).unwrap_or_default();
    assert!(said.starts_with("needs GPUs with 20 GiB of memory"), "{said}");
}
