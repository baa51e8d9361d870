//! Checkpoint folders to bring, and what became of them.

use crate::hosts::need;
use oef_executor::checkpoints::{
    BringError, Brought, Fetch, FetchLimits, Look, NotBrought, Progress, Report, Source, bring,
};
use oef_sched::Span;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Large enough to be cut in the middle, small enough to be quick.
pub const MODEL_BYTES: usize = 6 << 20;

/// Two hosts' folders: `a` has the checkpoint of job 7, `b` is to get it.
pub struct Pair {
    pub home: TempDir,
}

impl Pair {
    /// With a model of random bytes, a small file in a folder, a link, and the settings of the job.
    pub fn new() -> Pair {
        need("rsync", "rsync");
        let pair = Pair { home: tempfile::tempdir().expect("a folder") };
        fs::create_dir_all(pair.source().join("logs")).expect("made");
        pair.write("model.bin", &noise(1, MODEL_BYTES));
        pair.write("settings.json", b"{\"lr\": 0.1}");
        pair.write("logs/train.log", b"step 1\n");
        std::os::unix::fs::symlink("model.bin", pair.source().join("latest")).expect("a link");
        pair
    }

    pub fn source(&self) -> PathBuf {
        self.home.path().join("a/7")
    }

    pub fn live(&self) -> PathBuf {
        self.home.path().join("b/7")
    }

    pub fn incoming(&self) -> PathBuf {
        self.home.path().join("b/.7.oef-incoming")
    }

    /// Writes a file of the source.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.source().join(name), bytes).expect("written");
    }

    /// An older checkpoint on `b`: what must stay until the new one is whole.
    pub fn with_last_good(self) -> Pair {
        fs::create_dir_all(self.live()).expect("made");
        fs::write(self.live().join("model.bin"), b"the last good one").expect("written");
        self
    }

    #[track_caller]
    pub fn has_last_good(&self) {
        let expected = BTreeMap::from([("model.bin".into(), b"the last good one".to_vec())]);
        assert_eq!(tree(&self.live()), expected, "the last good checkpoint is gone");
    }

    /// The folder on `b` is that on `a`, and nothing is left beside it.
    #[track_caller]
    pub fn is_whole(&self) {
        assert!(tree(&self.live()) == tree(&self.source()), "not the same");
        let beside = fs::read_dir(self.home.path().join("b")).expect("there").count();
        assert_eq!(beside, 1, "something is left");
    }

    /// Bytes of the model that are on `b`, on their way.
    pub fn half(&self) -> u64 {
        let longest = |folder: PathBuf| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let files = entries.filter_map(|entry| entry.metadata().ok()).filter(|m| m.is_file());
            files.map(|metadata| metadata.len()).max().unwrap_or(0)
        };
        longest(self.incoming()).max(longest(self.incoming().join(".oef-partial")))
    }

    pub fn fetch(&self, source: Source) -> Fetch {
        let limits = FetchLimits {
            time: Span(60_000),
            silence: Span(20_000),
            tries: 1,
            ..FetchLimits::default()
        };
        Fetch { from: "a-0".into(), source, is_known: true, limits }
    }

    pub fn bring(&self, fetch: &Fetch) -> Result<Brought, NotBrought> {
        self.bring_with(fetch, &mut |_| Look::GoOn)
    }

    pub fn bring_with(
        &self,
        fetch: &Fetch,
        look: &mut dyn FnMut(&Progress) -> Look,
    ) -> Result<Brought, NotBrought> {
        fs::create_dir_all(self.live()).expect("made");
        bring(fetch, &self.live(), None, look)
    }

    #[track_caller]
    pub fn brings(&self, fetch: &Fetch) -> Report {
        match self.bring(fetch) {
            Ok(Brought::All(report)) => report,
            other => panic!("{other:?}"),
        }
    }

    /// It does not come, and the last good one is as it was.
    #[track_caller]
    pub fn fails(&self, fetch: &Fetch) -> BringError {
        match self.bring(fetch) {
            Err(NotBrought::Failed { error, .. }) => {
                self.has_last_good();
                error
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Bytes that cannot be compressed and are the same every time.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| next()).collect();
    bytes.truncate(length);
    bytes
}

/// Every file below a folder with its bytes; links with their targets.
pub fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).expect("below").display().to_string();
            let kind = entry.file_type().expect("a kind");
            if kind.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                found.insert(name, target.display().to_string().into_bytes());
            } else if kind.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, fs::read(&path).expect("read"));
            }
        }
    }
    found
}
