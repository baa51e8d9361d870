//! Answering questions for output.

use super::open::Inner;
use crate::error::ExecutorError;
use crate::log_file;
use crate::logs::{LogChunk, LogQuery, Stream};
use crate::records::{RunFolder, RunSpec, Status, read_json};
use oef_sched::JobId;

impl Inner {
    pub(super) fn read_logs(&self, job: JobId, query: LogQuery) -> Result<LogChunk, ExecutorError> {
        let (run, launch) = self.run_with_logs(job, query)?;
        let workers = u32::try_from(launch.devices.len()).unwrap_or(u32::MAX);
        if query.rank >= workers {
            return Err(ExecutorError::NoSuchWorker { job, workers, rank: query.rank });
        }
        // Before the log: an end that is seen first may be followed by more, the other way round not.
        let is_ended = matches!(Status::read(&run), Ok(Some(status)) if status.is_ended());
        let path = match run.log_file(query.rank, query.stream) {
            // A runner of an earlier version has kept them apart only.
            all if query.stream == Stream::All && !all.exists() => {
                run.log_file(query.rank, Stream::Out)
            }
            path => path,
        };
        let limit = u64::from(query.limit_bytes.clamp(1, LogQuery::MAX_BYTES));
        let read = log_file::read(&path, launch.log_limit_bytes, query.from, limit);
        let mut chunk = read.map_err(ExecutorError::of_start(&path))?;
        let after = chunk.offset + chunk.bytes.len() as u64;
        if after < chunk.end || !is_ended {
            let whole = whole_characters(&chunk.bytes);
            chunk.bytes.truncate(whole);
        }
        let next = chunk.offset + chunk.bytes.len() as u64;
        Ok(LogChunk {
            generation: run.generation(),
            workers,
            text: String::from_utf8_lossy(&chunk.bytes).into_owned(),
            left_out_bytes: chunk.left_out,
            next,
            is_end: is_ended && next >= chunk.end,
        })
    }

    fn run_with_logs(
        &self,
        job: JobId,
        query: LogQuery,
    ) -> Result<(RunFolder, RunSpec), ExecutorError> {
        let folder = self.runs.job(job);
        let runs = match query.generation {
            Some(generation) => vec![folder.run(generation)],
            None => folder.runs().map_err(ExecutorError::file(folder.path(), "read"))?,
        };
        for run in runs.into_iter().rev() {
            let path = run.launch_file();
            let launch = read_json(&path).map_err(ExecutorError::of_start(&path))?;
            if let Some(launch) = launch {
                return Ok((run, launch));
            }
        }
        Err(ExecutorError::NoOutput(job))
    }
}

/// The length without the beginning of a character whose end is not there yet. A lone beginning is
/// given anyway, so that reading always goes on.
fn whole_characters(bytes: &[u8]) -> usize {
    let cut = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(_) => {
            // At most three bytes can be missing their fourth.
            let from = bytes.len().saturating_sub(3);
            let start =
                (from..bytes.len()).rev().find(|at| bytes[*at] & 0b1100_0000 != 0b1000_0000);
            match start {
                Some(at) => match std::str::from_utf8(&bytes[at..]) {
                    Err(error) if error.error_len().is_none() => at,
                    _ => bytes.len(),
                },
                None => bytes.len(),
            }
        }
    };
    if cut == 0 { bytes.len() } else { cut }
}

#[cfg(test)]
mod tests {
    use super::whole_characters;

    #[test]
    fn characters_are_not_cut() {
        let text = "a\u{e9}\u{20ac}\u{1f600}".as_bytes();
        let cases = [(1, 1), (2, 1), (3, 3), (4, 3), (5, 3), (6, 6), (7, 6), (8, 6), (9, 6)];
        for (length, whole) in cases {
            assert_eq!(whole_characters(&text[..length]), whole, "{length}");
        }
        assert_eq!(whole_characters(b"a\xff"), 2);
        assert_eq!(whole_characters(b"\xe2\x82"), 2);
        assert_eq!(whole_characters(text), text.len());
    }
}
