//! The two ends of a job's terminal: each reads what the other writes, through the daemon.

use super::connection::Client;
use super::error::ClientError;
use crate::types::{Shell, ShellCreate, TerminalWritten};
use std::time::Duration;
use ureq::Body;
use ureq::http::{Method, Response};

/// More than one answer ever has.
const BYTES_MAX: u64 = 1 << 20;

/// The header with the secret of whoever submitted the job.
pub const TERMINAL_KEY: &str = "oef-terminal-key";
/// The header that names the run that the bytes are of.
pub const TERMINAL_RUN: &str = "oef-terminal-run";
/// The header that says for how many milliseconds the other end was not seen.
pub const TERMINAL_ALONE: &str = "oef-terminal-alone-ms";
/// The header of a run that is over.
pub const TERMINAL_OVER: &str = "oef-terminal-over";

/// Who sits at a terminal.
#[derive(Clone, Debug)]
pub enum Seat {
    /// Whoever submitted the job, with their secret; without a run the current one, once it is there.
    Client {
        /// The secret.
        key: String,
        /// The run.
        run: Option<u64>,
        /// A shell beside it.
        shell: Option<u64>,
    },
    /// The job, in one run. The secret is the client's token.
    Job {
        /// The run.
        run: u64,
        /// A shell beside it.
        shell: Option<u64>,
    },
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalChunk {
    /// The bytes; none: there were none in time.
    pub bytes: Vec<u8>,
    /// The run that they are of; none: none is there yet.
    pub run: Option<u64>,
    /// For how long the other end was not seen.
    pub alone: Duration,
    /// The run is over, and everything of it was read.
    pub is_over: bool,
}

impl Client {
    /// Reads what the other end wrote from this offset on; waits so long where there is nothing. Whoever reads from an
    /// offset has everything before.
    pub fn terminal_read(
        &self,
        job: u64,
        seat: &Seat,
        from: u64,
        wait: Duration,
    ) -> Result<TerminalChunk, ClientError> {
        let query = format!("from={from}&wait_ms={}", wait.as_millis());
        let answer = self.at(Method::GET, job, seat, &query, None)?;
        let number = |name: &str| answer.headers().get(name)?.to_str().ok()?.parse::<u64>().ok();
        let chunk = TerminalChunk {
            bytes: Vec::new(),
            run: number(TERMINAL_RUN),
            alone: Duration::from_millis(number(TERMINAL_ALONE).unwrap_or(0)),
            is_over: answer.headers().contains_key(TERMINAL_OVER),
        };
        let body = answer.into_body().into_with_config().limit(BYTES_MAX).read_to_vec();
        Ok(TerminalChunk { bytes: body.map_err(|error| self.failed(error))?, ..chunk })
    }

    /// Sends bytes to the other end, the first of which has this offset; waits a while where there is no room.
    pub fn terminal_write(
        &self,
        job: u64,
        seat: &Seat,
        at: u64,
        bytes: Vec<u8>,
    ) -> Result<TerminalWritten, ClientError> {
        let answer = self.at(Method::POST, job, seat, &format!("at={at}"), Some(bytes))?;
        self.answer(answer)
    }

    /// Asks for a shell beside a running job.
    pub fn open_shell(&self, job: u64, shell: &ShellCreate) -> Result<Shell, ClientError> {
        self.send_json(Method::POST, &format!("/jobs/{job}/shells"), shell, &[])
    }

    fn at(
        &self,
        method: Method,
        job: u64,
        seat: &Seat,
        query: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Response<Body>, ClientError> {
        let (end, run, shell, key) = match seat {
            Seat::Client { key, run, shell } => {
                ("", *run, *shell, Some((TERMINAL_KEY, key.as_str())))
            }
            Seat::Job { run, shell } => ("/job", Some(*run), *shell, None),
        };
        let run = run.map(|run| format!("&run={run}")).unwrap_or_default();
        let shell = shell.map(|shell| format!("&shell={shell}")).unwrap_or_default();
        let path = format!("/jobs/{job}/terminal{end}?{query}{run}{shell}");
        let kind = body.is_some().then_some(("content-type", "application/octet-stream"));
        let headers: Vec<(&str, &str)> = key.into_iter().chain(kind).collect();
        self.send(method, &path, body, &headers, None)
    }
}
