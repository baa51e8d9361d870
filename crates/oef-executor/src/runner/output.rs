//! What the workers write, on its way to the logs.

use super::merged::{MarkedLines, Merged};
use crate::log_file::LogWriter;
use crate::logs::Stream;
use crate::records::RunFolder;
use std::io::{self, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// As much as a pipe holds.
const BUFFER_BYTES: usize = 64 << 10;

/// When all processes of a job are gone, its pipes are empty in a moment.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// A thread for each stream of each worker; a job never waits for its log.
#[derive(Debug)]
pub(super) struct Outputs {
    done: Receiver<()>,
    send: Sender<()>,
    open: usize,
    /// Where all streams come together; from the first worker on.
    merged: Option<Merged>,
}

impl Outputs {
    pub(super) fn new() -> Outputs {
        let (send, done) = channel();
        Outputs { done, send, open: 0, merged: None }
    }

    /// Begins to follow a worker.
    pub(super) fn follow(
        &mut self,
        run: &RunFolder,
        rank: u32,
        limit: u64,
        child: &mut Child,
    ) -> io::Result<()> {
        let merged = match &self.merged {
            Some(merged) => merged.clone(),
            None => Merged::create(&run.log_file(rank, Stream::All), limit)?,
        };
        self.merged = Some(merged.clone());
        if let Some(pipe) = child.stdout.take() {
            let log = LogWriter::create(&run.log_file(rank, Stream::Out), limit)?;
            self.pump(log, merged.lines(format!("[{rank}] ")), pipe)?;
        }
        if let Some(pipe) = child.stderr.take() {
            let log = LogWriter::create(&run.log_file(rank, Stream::Err), limit)?;
            self.pump(log, merged.lines(format!("[{rank} err] ")), pipe)?;
        }
        Ok(())
    }

    fn pump(
        &mut self,
        mut log: LogWriter,
        mut lines: MarkedLines,
        mut pipe: impl Read + Send + 'static,
    ) -> io::Result<()> {
        let done = self.send.clone();
        thread::Builder::new().spawn(move || {
            let mut buffer = vec![0; BUFFER_BYTES];
            loop {
                match pipe.read(&mut buffer) {
                    Ok(0) => break,
                    // What a full disk does not take is lost; the job goes on.
                    Ok(count) => {
                        let _ = log.append(&buffer[..count]);
                        lines.push(&buffer[..count]);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            lines.finish();
            // Nobody may be waiting any more.
            let _ = done.send(());
        })?;
        self.open += 1;
        Ok(())
    }

    /// Waits until everything is in the logs.
    pub(super) fn drain(&mut self) {
        let start = Instant::now();
        while self.open > 0 {
            let left = DRAIN_LIMIT.saturating_sub(start.elapsed());
            if self.done.recv_timeout(left).is_err() {
                return;
            }
            self.open -= 1;
        }
    }
}
