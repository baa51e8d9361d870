//! One end of a job's terminal: frames go in and come out, over requests to the daemon. Connections that break and a
//! daemon that is started again are waited for, and nothing is lost or repeated.

use super::frames::Frame;
use oef_api::client::{Client, ClientError, Seat};
use oef_api::limits::{TERMINAL_CHUNK, TERMINAL_WINDOW};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The daemon answers within this, with or without bytes.
const WAIT: Duration = Duration::from_secs(15);
/// After a request that failed.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// Small pieces are gathered for so long: what a person does not notice, and a hundred requests in a second at most.
const GATHER: Duration = Duration::from_millis(10);
/// How often it is asked what the other end has read.
const ASK_AGAIN: Duration = Duration::from_millis(50);
/// The other end gets so long to read the last bytes.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// One end.
pub struct Line {
    client: Client,
    job: u64,
    seat: Seat,
    /// How long the daemon may be away.
    patience: Option<Duration>,
    /// Without the other end for longer than this, it is over.
    alone_max: Option<Duration>,
    from: u64,
    buffer: Vec<u8>,
    out: Out,
}

/// What is to be sent; for several threads.
#[derive(Clone)]
pub struct Out(Arc<(Mutex<Outbox>, Condvar)>);

#[derive(Default)]
struct Outbox {
    /// The offset of the first byte that the other end may not have.
    start: u64,
    bytes: VecDeque<u8>,
    /// The offset of the first byte that was not sent.
    sent: u64,
    /// Somebody waits for what was read.
    asks: bool,
    over: Option<String>,
}

/// How a line ended.
#[derive(Debug)]
pub enum Over {
    /// The run is over, or the other end has gone.
    Run,
    /// The daemon refuses, or stays away.
    Failed(String),
}

impl Line {
    /// Sits down at a terminal.
    pub fn new(client: Client, job: u64, seat: Seat, patience: Option<Duration>) -> Line {
        let out = Out(Arc::default());
        let (sends, to, at, sender) = (out.clone(), client.clone(), seat.clone(), patience);
        thread::spawn(move || sends.pump(&to, job, &at, sender));
        Line { client, job, seat, patience, alone_max: None, from: 0, buffer: Vec::new(), out }
    }

    /// Ends when nobody was at the other end for so long.
    pub fn not_alone_for(mut self, limit: Duration) -> Line {
        self.alone_max = Some(limit);
        self
    }

    /// For what is to be sent.
    pub fn out(&self) -> Out {
        self.out.clone()
    }

    /// The next frame of the other end.
    pub fn next(&mut self) -> Result<Frame, Over> {
        let mut away = Away::new(self.patience);
        loop {
            let frame = Frame::parse(&mut self.buffer);
            if let Some(frame) = frame.map_err(|error| Over::Failed(error.to_string()))? {
                return Ok(frame);
            }
            match self.client.terminal_read(self.job, &self.seat, self.from, WAIT) {
                Ok(chunk) => {
                    away.is_back();
                    let is_alone = self.alone_max.is_some_and(|max| chunk.alone > max);
                    if chunk.bytes.is_empty() && (chunk.is_over || is_alone) {
                        return Err(Over::Run);
                    }
                    self.from += chunk.bytes.len() as u64;
                    self.buffer.extend(chunk.bytes);
                }
                Err(error) if is_over(&error) => return Err(Over::Run),
                Err(error) => away.wait(&error).map_err(Over::Failed)?,
            }
        }
    }

    /// Tells the other end that everything was read.
    pub fn acknowledge(&self) {
        let _ = self.client.terminal_read(self.job, &self.seat, self.from, Duration::ZERO);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.out.end("it is over".into());
    }
}

impl Out {
    /// Sends a frame; waits while the other end is slow.
    pub fn send(&self, frame: &Frame) -> io::Result<()> {
        let bytes = frame.bytes();
        let mut outbox = self.lock();
        while outbox.over.is_none() && outbox.bytes.len() + bytes.len() > TERMINAL_WINDOW {
            outbox = self.0.1.wait(outbox).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(why) = &outbox.over {
            return Err(io::Error::other(why.clone()));
        }
        outbox.bytes.extend(bytes);
        self.0.1.notify_all();
        Ok(())
    }

    /// Waits until the other end has read everything, or for a while.
    pub fn flush(&self) {
        let until = Instant::now() + LAST_WORDS;
        let mut outbox = self.lock();
        while outbox.over.is_none() && !outbox.bytes.is_empty() && Instant::now() < until {
            // The other end reads without our sending anything.
            outbox.asks = true;
            self.0.1.notify_all();
            let waited = self.0.1.wait_timeout(outbox, ASK_AGAIN);
            (outbox, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether nothing can be sent any more.
    pub fn is_over(&self) -> bool {
        self.lock().over.is_some()
    }

    fn end(&self, why: String) {
        self.lock().over.get_or_insert(why);
        self.0.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Outbox> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends until it is over.
    fn pump(&self, client: &Client, job: u64, seat: &Seat, patience: Option<Duration>) {
        let mut away = Away::new(patience);
        while let Some((at, bytes)) = self.due() {
            let pause = match bytes.len() {
                0 => ASK_AGAIN,
                TERMINAL_CHUNK.. => Duration::ZERO,
                _ => GATHER,
            };
            match client.terminal_write(job, seat, at, bytes) {
                Ok(written) => {
                    away.is_back();
                    if let Err(why) = self.lock().note(written.next, written.read) {
                        self.end(why);
                    }
                    self.0.1.notify_all();
                }
                Err(error) if is_over(&error) => self.end("the run is over".into()),
                Err(error) => {
                    if let Err(why) = away.wait(&error) {
                        self.end(why);
                    }
                }
            }
            thread::sleep(pause);
        }
    }

    /// What is to be sent next; nothing where only room is asked for; none: it is over.
    fn due(&self) -> Option<(u64, Vec<u8>)> {
        let mut outbox = self.lock();
        loop {
            if outbox.over.is_some() {
                return None;
            }
            let skip = usize::try_from(outbox.sent - outbox.start).unwrap_or(usize::MAX);
            let is_full = outbox.bytes.len() + FRAME_MAX > TERMINAL_WINDOW;
            if skip < outbox.bytes.len() || is_full || std::mem::take(&mut outbox.asks) {
                let bytes = outbox.bytes.iter().skip(skip).take(TERMINAL_CHUNK).copied();
                return Some((outbox.sent, bytes.collect()));
            }
            outbox = self.0.1.wait(outbox).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The largest frame that is sent.
const FRAME_MAX: usize = 17 << 10;

impl Outbox {
    /// The other end has everything before `read`; the daemon wants what is from `next` on.
    fn note(&mut self, next: u64, read: Option<u64>) -> Result<(), String> {
        let end = self.start + self.bytes.len() as u64;
        let read = read.unwrap_or(self.start).max(self.start);
        if next < self.start || next > end || read > end {
            return Err("the daemon has lost a part of what was sent".into());
        }
        let done = usize::try_from(read - self.start).unwrap_or(usize::MAX);
        self.bytes.drain(..done.min(self.bytes.len()));
        (self.start, self.sent) = (read, next.max(read));
        Ok(())
    }
}

/// Whether the daemon says that the run is over.
fn is_over(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused(problem) if problem.status == 409)
}

/// A daemon that does not answer, and since when.
struct Away {
    patience: Option<Duration>,
    since: Option<Instant>,
}

impl Away {
    fn new(patience: Option<Duration>) -> Away {
        Away { patience, since: None }
    }

    fn is_back(&mut self) {
        self.since = None;
    }

    /// Waits a moment, if another try makes sense.
    fn wait(&mut self, error: &ClientError) -> Result<(), String> {
        if let ClientError::Refused(problem) = error
            && !matches!(problem.status, 429 | 500 | 503)
        {
            return Err(error.to_string());
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.patience.is_some_and(|patience| since.elapsed() > patience) {
            return Err(error.to_string());
        }
        thread::sleep(TRY_AGAIN);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox(text: &[u8]) -> Outbox {
        Outbox { bytes: text.iter().copied().collect(), ..Outbox::default() }
    }

    #[test]
    fn bytes_are_kept_until_they_were_read() {
        let mut outbox = outbox(b"hello world");
        outbox.note(11, Some(0)).expect("taken");
        assert_eq!((outbox.start, outbox.sent, outbox.bytes.len()), (0, 11, 11));
        outbox.note(11, Some(6)).expect("taken");
        assert_eq!((outbox.start, outbox.sent, outbox.bytes.len()), (6, 11, 5));
        // The daemon was started again: it wants what the other end has not read.
        outbox.note(6, Some(6)).expect("sent again");
        assert_eq!((outbox.start, outbox.sent, outbox.bytes.len()), (6, 6, 5));
        outbox.note(6, None).expect("the other end has not come");
        assert!(outbox.note(5, Some(5)).is_err(), "what was read is not there any more");
        assert!(outbox.note(12, Some(6)).is_err());
    }
}
