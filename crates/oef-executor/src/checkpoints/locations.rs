//! Where a job's checkpoints are, and how they come to where it runs next. Pure.

use super::config::{CheckpointConfig, HOST, Keeping, Transport};
use super::fetch::{Fetch, Source};
use crate::launch::{CheckpointLocation, Launch};
use crate::records::RunSpec;
use oef_sched::JobId;
use std::path::{Path, PathBuf};

/// Where the folders of all jobs are.
#[derive(Clone, Debug)]
pub(crate) struct Locations {
    /// The state folder, absolute.
    dir: PathBuf,
    config: CheckpointConfig,
}

impl Locations {
    pub(crate) fn new(dir: &Path, config: &CheckpointConfig) -> Locations {
        Locations { dir: dir.into(), config: config.clone() }
    }

    /// How many copies are kept on hosts that jobs have left.
    pub(crate) fn stale_max(&self) -> usize {
        self.config.stale
    }

    /// Whether copies may lie on disks that only their host sees.
    pub(crate) fn are_remote(&self) -> bool {
        self.config.place == Keeping::Node && self.config.transport != Transport::Folder
    }

    /// A job's own folder.
    pub(crate) fn job_dir(&self, job: JobId) -> PathBuf {
        self.dir.join("jobs").join(job.to_string())
    }

    /// The checkpoint folder of a start whose first worker is on this host, which all its workers get, and
    /// what has to be brought there first.
    pub(crate) fn folder_for(&self, launch: &Launch, host: &str) -> (PathBuf, Option<Fetch>) {
        let checkpoints = &launch.checkpoints;
        if launch.probe.is_some() {
            // Never the job's own, which others may need.
            return (self.job_dir(launch.job).join("probe"), None);
        }
        if let Some(own) = &checkpoints.own_dir {
            return (own.clone(), None);
        }
        let wanted = match self.config.place {
            Keeping::Shared => CheckpointLocation::Shared,
            Keeping::Node => CheckpointLocation::Host(host.into()),
        };
        let last = checkpoints.last.as_ref().filter(|last| **last != wanted);
        let fetch = last.map(|last| Fetch {
            from: match last {
                CheckpointLocation::Shared => "the shared folder".to_string(),
                CheckpointLocation::Host(host) => host.clone(),
            },
            source: self.source(launch.job, last),
            is_known: checkpoints.is_known,
            limits: self.config.limits(),
        });
        (self.folder(launch.job, &wanted), fetch)
    }

    /// Where the checkpoints of a start are; none: in a folder of its owner's, or it keeps none.
    pub(crate) fn location(&self, spec: &RunSpec) -> Option<CheckpointLocation> {
        let host = spec.devices.first().map(|first| CheckpointLocation::Host(first.host.clone()));
        let known = host.into_iter().chain([CheckpointLocation::Shared]);
        known.into_iter().find(|place| self.folder(spec.job, place) == spec.checkpoint_dir)
    }

    /// The folders of a start that the executor keeps for the job: in its own folder, and in those of hosts. What a job names
    /// itself is never made by the executor nor given to anybody: it may have the right to give away any folder of the machine.
    pub(crate) fn kept<'a>(&self, spec: &'a RunSpec) -> Vec<&'a Path> {
        let own = self.job_dir(spec.job);
        let work = Some(&spec.workdir).filter(|folder| **folder == own.join("work"));
        let is_kept = spec.checkpoint_dir == own.join("probe") || self.location(spec).is_some();
        let saved = Some(&spec.checkpoint_dir).filter(|_| is_kept);
        work.into_iter().chain(saved).map(PathBuf::as_path).collect()
    }

    /// The folder of a job's checkpoints.
    pub(crate) fn folder(&self, job: JobId, location: &CheckpointLocation) -> PathBuf {
        match location {
            CheckpointLocation::Shared => self.job_dir(job).join("checkpoint"),
            CheckpointLocation::Host(host) => self.host_dir(host).join(job.to_string()),
        }
    }

    /// The folder of a host, with one folder for each job.
    pub(crate) fn host_dir(&self, host: &str) -> PathBuf {
        match &self.config.node_dir {
            Some(template) => template.to_string_lossy().replace(HOST, host).into(),
            None => self.dir.join("nodes").join(host).join("checkpoints"),
        }
    }

    fn source(&self, job: JobId, location: &CheckpointLocation) -> Source {
        let path = self.folder(job, location);
        // The shared folder is seen from everywhere.
        let CheckpointLocation::Host(host) = location else { return Source::Folder { path } };
        let config = &self.config;
        let address = config.address.as_deref().unwrap_or(config.transport.usual_address());
        let address = address.replace(HOST, host);
        match config.transport {
            Transport::Folder => Source::Folder { path },
            Transport::Ssh => {
                let (destination, port) = with_port(&address);
                Source::Ssh { destination, port, options: config.ssh_options.clone(), path }
            }
            Transport::Rsync => Source::Daemon {
                url: format!("{}/{job}", address.trim_end_matches('/')),
                password_file: config.password_file.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Checkpoints;
    use crate::testing::launch;
    use CheckpointLocation::{Host, Shared};

    fn source(
        config: CheckpointConfig,
        last: Option<CheckpointLocation>,
        host: &str,
    ) -> (String, Option<(String, Source)>) {
        let mut launch = launch(7, &["true"]);
        launch.checkpoints = Checkpoints { last, ..Checkpoints::default() };
        let (folder, fetch) =
            Locations::new(Path::new("/state"), &config).folder_for(&launch, host);
        let folder = folder.display().to_string();
        (folder, fetch.map(|fetch| (fetch.from, fetch.source)))
    }

    fn node() -> CheckpointConfig {
        CheckpointConfig { place: Keeping::Node, ..CheckpointConfig::default() }
    }

    #[test]
    fn what_is_fetched_from_where() {
        let folder = |path: &str| Source::Folder { path: path.into() };
        let (on_a, on_b) = ("/state/nodes/a-0/checkpoints/7", "/state/nodes/b-0/checkpoints/7");
        let shared = "/state/jobs/7/checkpoint";
        let a = || Some(Host("a-0".into()));
        assert_eq!(source(node(), None, "b-0"), (on_b.into(), None), "it never ran");
        assert_eq!(source(node(), a(), "a-0"), (on_a.into(), None));
        let fetched = Some(("a-0".to_string(), folder(on_a)));
        assert_eq!(source(node(), a(), "b-0"), (on_b.into(), fetched.clone()));
        // The setting was changed: from the shared folder to a host, and back.
        let from_shared = Some(("the shared folder".to_string(), folder(shared)));
        assert_eq!(source(node(), Some(Shared), "b-0"), (on_b.into(), from_shared));
        let plain = CheckpointConfig::default;
        assert_eq!(source(plain(), Some(Shared), "b-0"), (shared.into(), None));
        assert_eq!(source(plain(), a(), "b-0"), (shared.into(), fetched));
    }

    #[test]
    fn a_folder_of_the_owner_and_a_profile_run_have_nothing_fetched() {
        let locations = Locations::new(Path::new("/state"), &node());
        let mut own = launch(7, &["true"]);
        own.checkpoints.own_dir = Some("/home/ada/run".into());
        own.checkpoints.last = Some(Host("a-0".into()));
        assert_eq!(locations.folder_for(&own, "b-0"), ("/home/ada/run".into(), None));
        own.probe = Some(crate::Probe {
            batches: 1,
            warmup: 0,
            least: oef_sched::Span(0),
            limit: oef_sched::Span(1),
        });
        assert_eq!(locations.folder_for(&own, "b-0"), ("/state/jobs/7/probe".into(), None));
    }

    #[test]
    fn how_hosts_are_reached() {
        let a = || Some(Host("a-0".into()));
        let ssh = CheckpointConfig {
            node_dir: Some("/var/oef/{host}".into()),
            transport: Transport::Ssh,
            address: Some("oef@{host}.lab:2222".into()),
            ssh_options: vec!["-4".into()],
            ..node()
        };
        let expected = Source::Ssh {
            destination: "oef@a-0.lab".into(),
            port: Some(2222),
            options: vec!["-4".into()],
            path: "/var/oef/a-0/7".into(),
        };
        assert_eq!(source(ssh, a(), "b-0").1.map(|found| found.1), Some(expected));
        for (address, url) in [
            (None, "rsync://a-0/oef/7"),
            (Some("rsync://127.0.0.1:8730/{host}/"), "rsync://127.0.0.1:8730/a-0/7"),
        ] {
            let address = address.map(String::from);
            let rsync = CheckpointConfig { transport: Transport::Rsync, address, ..node() };
            let expected = Source::Daemon { url: url.into(), password_file: None };
            assert_eq!(source(rsync, a(), "b-0").1.map(|found| found.1), Some(expected));
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
}
