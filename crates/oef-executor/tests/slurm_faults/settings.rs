//! Modules, prolog lines and a container image in a real job, for one workload and not for others.

use crate::common::write_program;
use crate::world::World;
use oef_executor::slurm::{Form, Slurm, Submit, gpu_nodes};
use oef_executor::{Ending, Executor as _, Launch, LogQuery, Program, Stream};
use std::fs;

/// What a job sees of its settings.
const SHOW: &[u8] = b"echo \"${LOADED:-none} ${PROLOG:-none} ${IMAGE:-none}\"";

fn output(world: &mut World, launch: &Launch) -> String {
    world.start(launch);
    let ending = world.ending(launch);
    let text =
        world.executor.logs(launch.job, LogQuery::start(Stream::Out)).map(|chunk| chunk.text);
    assert_eq!(ending, Ending::Finished, "{text:?}");
    text.expect("output")
}

#[test]
fn settings_of_a_workload_reach_its_jobs_and_no_others() {
    let mut world = World::with(|config, folder| {
        let bin = folder.join("bin");
        fs::create_dir_all(&bin).expect("made");
        // A node whose shells know `module`, as a site's profile gives it to them.
        let module = "BASH_FUNC_module%%=() { export LOADED=\"$1:$2\"; }";
        write_program(
            &bin.join("sbatch"),
            &format!("#!/bin/sh\nexec env '{module}' sbatch \"$@\"\n"),
        );
        for program in ["squeue", "sinfo", "scancel", "srun", "scontrol"] {
            write_program(&bin.join(program), &format!("#!/bin/sh\nexec {program} \"$@\"\n"));
        }
        config.slurm.bin_dir = Some(bin);
        // What runs an image: it is told which, and what to run in it.
        let container = folder.join("container");
        write_program(
            &container,
            "#!/bin/sh\n[ \"$1\" = run ] || exit 9\nIMAGE=$2; export IMAGE; shift 2\nexec \"$@\"\n",
        );
        let words = [container.display().to_string(), "run".to_string()];
        config.rules.plain.prolog = vec!["export PROLOG=all".into()];
        let special = Submit {
            modules: vec!["cuda/12".into()],
            prolog: vec!["PROLOG=$PROLOG+vgg".into()],
            container: Some("torch.sif".into()),
            container_command: words.to_vec(),
            ..Submit::default()
        };
        config.rules.workloads = [("vgg16".to_string(), special)].into();
    });
    let job = |world: &World, id, workload: &str| Launch {
        workload: workload.into(),
        program: Program::Script(SHOW.to_vec()),
        ..world.job(id, &["n3:0"])
    };
    let special = job(&world, 1, "vgg16");
    assert_eq!(output(&mut world, &special), "load:cuda/12 all+vgg torch.sif\n");
    let plain = job(&world, 2, "lstm");
    assert_eq!(output(&mut world, &plain), "none all none\n");
}

#[test]
fn a_real_slurm_says_the_same_in_both_forms() {
    let mut slurms = Vec::new();
    let mut world = World::with(|config, _| {
        slurms.push(config.slurm.clone());
        config.slurm.form = Form::Json;
        slurms.push(config.slurm.clone());
    });
    let nodes = |slurm: &Slurm| gpu_nodes(slurm, Some("gpu"), None).expect("nodes");
    let (text, json) = (&slurms[0], &slurms[1]);
    // Jobs of the test before may still be leaving.
    world.until("the same nodes", |_| (nodes(text) == nodes(json)).then_some(()));
    assert_eq!(nodes(json).len(), 6);
    let job = world.job(1, &["n1:0", "n2:0"]);
    world.start(&job);
    world.all_run(&job);
    let id = world.slurm_id(&job);
    world.lab.call("scancel", &[&id]);
    assert_eq!(world.ending(&job), Ending::Checkpointed);
    let kept = fs::read_dir(world.folder.join("state")).expect("there").flatten();
    let unread: Vec<_> = kept
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().starts_with("unreadable"))
        .collect();
    assert!(unread.is_empty(), "{unread:?}");
}

#[test]
fn a_submission_that_hangs_after_slurm_took_it_is_found_and_not_made_again() {
    let mut world = World::with(|config, folder| {
        let bin = folder.join("bin");
        fs::create_dir_all(&bin).expect("made");
        // Slurm takes the first job, and nobody hears of it.
        let hangs = format!(
            "#!/bin/sh\nmkdir {0}/hung 2>/dev/null || exec sbatch \"$@\"\nsbatch \"$@\" >/dev/null\nexec sleep 1000\n",
            folder.display()
        );
        write_program(&bin.join("sbatch"), &hangs);
        for program in ["squeue", "sinfo", "scancel", "srun", "scontrol"] {
            write_program(&bin.join(program), &format!("#!/bin/sh\nexec {program} \"$@\"\n"));
        }
        config.slurm.bin_dir = Some(bin);
        config.slurm.limit = std::time::Duration::from_secs(5);
    });
    let (hangs, other) = (world.job(1, &["n3:1"]), world.job(2, &["n3:2"]));
    world.start(&hangs);
    world
        .until("a submission that hangs", |world| world.folder.join("hung").exists().then_some(()));
    // Nobody else waits for it.
    world.start(&other);
    world.runs(&other, 1);
    world.runs(&hangs, 1);
    assert_eq!(world.finish(&hangs), Ending::Finished);
    assert_eq!(world.finish(&other), Ending::Finished);
    assert_eq!((world.starts(hangs.job), world.starts(other.job)), (1, 1));
}
