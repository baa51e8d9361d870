use super::*;
use clap::Parser as _;

fn built(words: &[&str]) -> Result<JobBatch, String> {
    let line = ["oef", "submit"].iter().chain(words);
    let cli = crate::args::Cli::try_parse_from(line).map_err(|error| error.to_string())?;
    let crate::args::Command::Job(crate::args::jobs::JobCommand::Submit(args)) = cli.command else {
        return Err("another command".into());
    };
    let env = |name: &str| (name == "HERE").then(|| "taken".to_string());
    jobs(&args, &Here { folder: "/home/ada".into(), env: &env }).map_err(|failure| match failure {
        Failure::Said { complaints, .. } => format!("{complaints:?}"),
        other => format!("{other:?}"),
    })
}

fn one(words: &[&str]) -> JobSubmit {
    let batch = built(words).expect("a job");
    assert_eq!((batch.jobs.len(), &batch.name), (1, &None));
    batch.jobs.into_iter().next().expect("a job")
}

#[test]
fn the_command_line_says_it_all() {
    let job = one(&[
        "--tenant",
        "t",
        "--workload",
        "w",
        "--workers",
        "4",
        "--types",
        "a,b",
        "--one-type",
        "--gpu-memory",
        "20G",
        "--name",
        "n",
        "--priority",
        "-1",
        "--now",
        "--env",
        "A=1=2",
        "--env",
        "HERE",
        "--workdir",
        "sub",
        "--checkpoint-dir",
        "/ckpt",
        "--max-run",
        "2h",
        "--min-run",
        "10m",
        "--retries",
        "3",
        "--label",
        "k=v",
        "--signal",
        "usr1",
        "--grace",
        "30s",
        "--warm",
        "torch,torchvision",
        "--",
        "python",
        "train.py",
        "--x",
    ]);
    let document = serde_json::to_value(&job).expect("a document");
    let expected = serde_json::json!({
        "tenant": "t", "workload": "w", "name": "n", "command": ["python", "train.py", "--x"],
        "workers": 4, "types": ["a", "b"], "gpu_memory_gib": 20.0, "one_type": true, "priority": -1, "now": true, "env": {"A": "1=2", "HERE": "taken"},
        "workdir": "/home/ada/sub", "checkpoint_dir": "/ckpt", "max_run_s": 7200.0,
        "min_run_s": 600.0, "retries": 3, "stop_signal": "usr1", "grace_s": 30.0,
        "labels": {"k": "v"}, "warm": ["torch", "torchvision"],
    });
    assert_eq!(document, expected);
}

#[test]
fn little_is_needed() {
    let job = one(&["--", "true"]);
    assert_eq!((*job.workers, job.workdir.as_deref()), (1, Some("/home/ada")));
    assert_eq!(job.checkpoint_dir, None);
}

#[test]
fn a_file_gives_way_to_the_command_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("job.toml");
    let text = "command = [\"t\", \"{lr}\"]\nworkers = 2\nname = \"f\"\n[env]\nA = \"1\"\n[sweep]\nlr = [1, 2]\n";
    std::fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let batch = built(&["--file", &path, "--workers", "3", "--env", "B=2"]).expect("jobs");
    assert_eq!((batch.jobs.len(), *batch.jobs[1].workers), (2, 3));
    assert_eq!(batch.jobs[1].command, ["t", "2"]);
    assert_eq!(batch.jobs[1].env.len(), 2);
    let batch = built(&["--file", &path, "--sweep", "lr=7", "--", "other", "{lr}"]).expect("jobs");
    assert_eq!((batch.jobs.len(), &batch.jobs[0].command[1]), (1, &"7".to_string()));
}

#[test]
fn bad_submissions_are_told() {
    for (words, said) in [
        (&[][..], "nothing to run"),
        (&["--", ""], "no name"),
        (&["--env", "NOT_HERE", "--", "true"], "there is no variable `NOT_HERE`"),
        (&["--env", "=1", "--", "true"], "has no name"),
        (&["--label", "k", "--", "true"], "is not a label"),
        (&["--workers", "0", "--", "true"], "invalid value '0'"),
        (&["--retries", "1001", "--", "true"], "invalid value '1001'"),
        (&["--gpu-memory", "much", "--", "true"], "is not a size of memory"),
        (&["--max-run", "soon", "--", "true"], "write a time"),
        (&["--signal", "kill", "--", "true"], "invalid value 'kill'"),
        (&["--script", "/nowhere/run.sh"], "no such file"),
        (&["--script", "x", "--", "true"], "cannot be used with"),
        (&["--follow", "--json", "--", "true"], "cannot be used with"),
        (&["--file", "/nowhere/job.toml"], "no such file"),
        (&["--sweep", "lr", "--", "true"], "no `=`"),
    ] {
        let error = built(words).expect_err(said);
        assert!(error.contains(said), "{words:?}: {error}");
    }
}
