//! Where a job's checkpoints are, and how they come to where it runs next. Pure.

use super::settings::{CheckpointSettings, HOST, Keeping, Transport};
use crate::world::{JobEntry, RunEnding};
use oef_executor::checkpoints::{Fetch, FetchLimits, Source};
use oef_sched::{JobId, Span};
use std::path::{Path, PathBuf};

/// Where the checkpoints of one job can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the folder that all hosts see.
    Shared,
    /// On this host.
    Host(String),
}

/// Where the checkpoints of all jobs are.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The state folder, absolute.
    dir: PathBuf,
    settings: CheckpointSettings,
}

impl Places {
    pub fn new(dir: &Path, settings: &CheckpointSettings) -> Places {
        Places { dir: dir.into(), settings: settings.clone() }
    }

    /// How many copies are kept on hosts that jobs have left.
    pub fn stale_max(&self) -> usize {
        self.settings.stale
    }

    /// Where the checkpoints of a job belong whose first worker is on this host; all its workers get that
    /// folder. None: its owner named a folder, which is theirs, or it is a profile run, which keeps nothing.
    pub fn wanted(&self, job: &JobEntry, host: &str) -> Option<Place> {
        if job.spec.checkpoint_dir.is_some() || job.spec.probe.is_some() {
            return None;
        }
        Some(match self.settings.place {
            Keeping::Shared => Place::Shared,
            Keeping::Node => Place::Host(host.into()),
        })
    }

    /// The folder of a job.
    pub fn folder(&self, job: JobId, place: &Place) -> PathBuf {
        match place {
            Place::Shared => self.dir.join("jobs").join(job.to_string()).join("checkpoint"),
            Place::Host(host) => self.host_dir(host).join(job.to_string()),
        }
    }

    /// The folder of a host, with one folder for each job.
    pub fn host_dir(&self, host: &str) -> PathBuf {
        match &self.settings.node_dir {
            Some(template) => template.to_string_lossy().replace(HOST, host).into(),
            None => self.dir.join("nodes").join(host).join("checkpoints"),
        }
    }

    /// What has to be brought before a job can start where it is wanted.
    pub fn fetch(&self, id: JobId, job: &JobEntry, wanted: &Place) -> Option<Fetch> {
        let is_at = whereabouts(job)?;
        if is_at == *wanted {
            return None;
        }
        let from = match &is_at {
            Place::Shared => "the shared folder".to_string(),
            Place::Host(host) => host.clone(),
        };
        let source = self.source(id, &is_at);
        Some(Fetch { from, source, is_known: is_known(job), limits: self.limits() })
    }

    fn limits(&self) -> FetchLimits {
        let s = &self.settings;
        FetchLimits {
            time: Span::from_seconds(s.time_limit.0.as_secs_f64()),
            silence: Span::from_seconds(s.silence.0.as_secs_f64()),
            kib_per_second: s.bandwidth.map(|rate| rate.kib_per_second),
            tries: s.tries,
        }
    }

    fn source(&self, id: JobId, place: &Place) -> Source {
        let path = self.folder(id, place);
        // The shared folder is seen from everywhere.
        let Place::Host(host) = place else { return Source::Folder { path } };
        let s = &self.settings;
        let address = s.address.as_deref().unwrap_or(s.transport.usual_address());
        let address = address.replace(HOST, host);
        match s.transport {
            Transport::Folder => Source::Folder { path },
            Transport::Ssh => {
                let (destination, port) = with_port(&address);
                Source::Ssh { destination, port, options: s.ssh_options.clone(), path }
            }
            Transport::Rsync => Source::Daemon {
                url: format!("{}/{id}", address.trim_end_matches('/')),
                password_file: s.password_file.clone(),
            },
        }
    }
}

/// `HOST:PORT` in its parts. One of version 6 has colons of its own, and stands in brackets.
fn with_port(address: &str) -> (String, Option<u16>) {
    let parts = address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match parts {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host.into(), Some(port))
        }
        _ => (address.into(), None),
    }
}

/// Where the last good checkpoints of a job are; none: it never ran.
fn whereabouts(job: &JobEntry) -> Option<Place> {
    match &job.home {
        Some(home) => Some(home.host.clone().map_or(Place::Shared, Place::Host)),
        // It ran before anybody wrote down where.
        None if has_run(job) => Some(Place::Shared),
        None => None,
    }
}

fn has_run(job: &JobEntry) -> bool {
    job.telemetry.steps > 0.0 || job.runs.iter().any(|run| run.started.is_some())
}

/// Whether the job has said that it saved its work: in its progress, or by its exit code.
fn is_known(job: &JobEntry) -> bool {
    let saved = |ending: Option<RunEnding>| ending == Some(RunEnding::Checkpointed);
    job.telemetry.checkpoint.is_some_and(|step| step > 0.0)
        || job.home.as_ref().is_some_and(|home| home.saved > 0.0)
        || job.runs.iter().any(|run| saved(run.ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::world::Home;
    use crate::world::lives::new_entry;
    use oef_sched::{Time, WorkloadKey};

    fn places(text: &str) -> Places {
        let config = Config::check(&format!("[checkpoints]\n{text}")).expect("right");
        Places::new(Path::new("/state"), &config.checkpoints)
    }

    fn job(home: Option<Option<&str>>, checkpoint: Option<f64>) -> JobEntry {
        let mut job = new_entry(Default::default(), WorkloadKey(0), Time(1));
        job.home = home.map(|host| Home {
            host: host.map(String::from),
            since: Time(5),
            ..Home::default()
        });
        job.telemetry.checkpoint = checkpoint;
        job
    }

    fn source(places: &Places, job: &JobEntry, host: &str) -> Option<(String, Source, bool)> {
        let wanted = places.wanted(job, host)?;
        let fetch = places.fetch(JobId(7), job, &wanted)?;
        Some((fetch.from, fetch.source, fetch.is_known))
    }

    #[test]
    fn what_is_fetched_from_where() {
        let folder = |path: &str| Source::Folder { path: path.into() };
        let node = places("place = \"node\"");
        assert_eq!(source(&node, &job(None, None), "b-0"), None, "it never ran");
        assert_eq!(source(&node, &job(Some(Some("b-0")), Some(3.0)), "b-0"), None);
        assert_eq!(
            source(&node, &job(Some(Some("a-0")), Some(3.0)), "b-0"),
            Some(("a-0".into(), folder("/state/nodes/a-0/checkpoints/7"), true))
        );
        // The setting was changed: from the shared folder to a host, and back.
        let shared = folder("/state/jobs/7/checkpoint");
        assert_eq!(
            source(&node, &job(Some(None), None), "b-0"),
            Some(("the shared folder".into(), shared, false))
        );
        let plain = places("");
        assert_eq!(source(&plain, &job(Some(None), Some(3.0)), "b-0"), None);
        assert_eq!(
            source(&plain, &job(Some(Some("a-0")), Some(0.0)), "b-0"),
            Some(("a-0".into(), folder("/state/nodes/a-0/checkpoints/7"), false))
        );
        // A folder of the owner's is the owner's.
        let mut own = job(Some(Some("a-0")), Some(3.0));
        own.spec.checkpoint_dir = Some("/home/ada/run".into());
        assert_eq!(source(&node, &own, "b-0"), None);
    }

    #[test]
    fn a_job_of_an_older_version_has_its_checkpoint_in_the_shared_folder() {
        let node = places("place = \"node\"");
        let mut old = job(None, Some(3.0));
        old.telemetry.steps = 4.0;
        let (from, _, is_known) = source(&node, &old, "b-0").expect("a fetch");
        assert_eq!((from.as_str(), is_known), ("the shared folder", true));
    }

    #[test]
    fn how_hosts_are_reached() {
        let moved = job(Some(Some("a-0")), Some(3.0));
        let ssh = places(
            "place = \"node\"\nnode_dir = \"/var/oef/{host}\"\ntransport = \"ssh\"\naddress = \"oef@{host}.lab:2222\"\nssh_options = [\"-4\"]",
        );
        let expected = Source::Ssh {
            destination: "oef@a-0.lab".into(),
            port: Some(2222),
            options: vec!["-4".into()],
            path: "/var/oef/a-0/7".into(),
        };
        assert_eq!(source(&ssh, &moved, "b-0").map(|found| found.1), Some(expected));
        for (address, url) in [
            ("", "rsync://a-0/oef/7"),
            ("address = \"rsync://127.0.0.1:8730/{host}/\"", "rsync://127.0.0.1:8730/a-0/7"),
        ] {
            let rsync = places(&format!("place = \"node\"\ntransport = \"rsync\"\n{address}"));
            let expected = Source::Daemon { url: url.into(), password_file: None };
            assert_eq!(source(&rsync, &moved, "b-0").map(|found| found.1), Some(expected));
        }
    }

    #[test]
    fn addresses_with_and_without_a_port() {
        let cases = [
            ("a-0", "a-0", None),
            ("oef@a-0:2222", "oef@a-0", Some(2222)),
            ("oef@[fe80::1]:2222", "oef@[fe80::1]", Some(2222)),
            ("[fe80::1]", "[fe80::1]", None),
            ("a-0:ssh", "a-0:ssh", None),
        ];
        for (address, host, port) in cases {
            assert_eq!(with_port(address), (host.to_string(), port), "{address}");
        }
    }

    #[test]
    fn a_job_says_by_its_exit_code_too_that_it_saved() {
        let mut saved = job(Some(Some("a-0")), None);
        assert!(!is_known(&saved));
        saved.runs.push(crate::world::RunEntry {
            generation: oef_sched::Generation(1),
            gpus: Vec::new(),
            rate: 1.0,
            until: Time(9),
            steps_before: 0.0,
            began: Time(2),
            started: Some(Time(3)),
            stop: None,
            ended: Some(Time(9)),
            ending: Some(RunEnding::Checkpointed),
            detail: None,
        });
        assert!(is_known(&saved));
    }
}
