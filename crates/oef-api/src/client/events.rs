//! Events as they happen: server-sent events that are resumed where they broke off.

use super::connection::Client;
use super::error::{ClientError, Reach};
use crate::types::Event;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::thread;
use std::time::Duration;
use ureq::BodyReader;
use ureq::http::Method;

/// The daemon says something at least every 15 seconds, if only that it is there; after so much silence the
/// connection is taken to be dead.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// A daemon that is started anew is back within seconds: it is tried again so often...
const TRIES_MAX: u32 = 8;
/// ...after so long, twice as long every time.
const PAUSE: Duration = Duration::from_millis(200);
/// An event is a sentence with a few names; a longer line is none.
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// What comes.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// Something happened.
    Event(Box<Event>),
    /// Events were missed: whatever was learnt from them is to be asked for again.
    Reset,
}

/// Events without end. Connections that break are made again, and nothing is missed; it ends with an error
/// where the daemon stays away or refuses.
pub struct EventStream {
    client: Client,
    last: Option<u64>,
    open: Option<BufReader<BodyReader<'static>>>,
    is_over: bool,
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").field("last", &self.last).finish_non_exhaustive()
    }
}

impl Client {
    /// Listens from now on, or from behind the event of this number. The connection stands when this returns.
    pub fn events(&self, after: Option<u64>) -> Result<EventStream, ClientError> {
        let mut stream =
            EventStream { client: self.clone(), last: after, open: None, is_over: false };
        stream.open = Some(stream.connect()?);
        Ok(stream)
    }
}

impl Iterator for EventStream {
    type Item = Result<Incoming, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.advance();
        self.is_over = next.is_err();
        Some(next)
    }
}

impl EventStream {
    fn advance(&mut self) -> Result<Incoming, ClientError> {
        loop {
            let Some(mut reader) = self.open.take() else {
                self.open = Some(self.reconnect()?);
                // Without a number the daemon cannot know what was missed.
                if self.last.is_none() {
                    return Ok(Incoming::Reset);
                }
                continue;
            };
            // A connection that breaks or falls silent is made again below.
            if let Some(block) = read_block(&mut reader) {
                self.open = Some(reader);
                if let Some(incoming) = self.understand(block)? {
                    return Ok(incoming);
                }
            }
        }
    }

    fn connect(&self) -> Result<BufReader<BodyReader<'static>>, ClientError> {
        let last = self.last.map(|id| id.to_string());
        let headers: Vec<(&str, &str)> =
            last.as_deref().map(|id| ("last-event-id", id)).into_iter().collect();
        let answer = self.client.send(Method::GET, "/events", None, &headers, Some(SILENCE_MAX))?;
        Ok(BufReader::new(answer.into_body().into_reader()))
    }

    fn reconnect(&self) -> Result<BufReader<BodyReader<'static>>, ClientError> {
        let mut pause = PAUSE;
        for _ in 1..TRIES_MAX {
            match self.connect() {
                Err(ClientError::Unreachable { .. }) => {
                    thread::sleep(pause);
                    pause *= 2;
                }
                done => return done,
            }
        }
        self.connect().map_err(|error| match error {
            // Nothing was asked to be done, so nothing can have been done.
            ClientError::Unreachable { server, cause, .. } => {
                ClientError::Unreachable { server, cause, reach: Reach::Nobody }
            }
            other => other,
        })
    }

    fn understand(&mut self, block: Block) -> Result<Option<Incoming>, ClientError> {
        if block.name == "reset" {
            self.last = block.id.or(self.last);
            return Ok(Some(Incoming::Reset));
        }
        if block.data.is_empty() {
            return Ok(None);
        }
        let event: Event = serde_json::from_str(&block.data)
            .map_err(|error| self.client.protocol(format!("an event cannot be read: {error}")))?;
        self.last = Some(event.id);
        Ok(Some(Incoming::Event(Box::new(event))))
    }
}

/// The lines of one event.
#[derive(Debug, Default, PartialEq)]
struct Block {
    name: String,
    id: Option<u64>,
    data: String,
}

/// The next event that is whole; none where the connection is over.
fn read_block(reader: &mut impl BufRead) -> Option<Block> {
    let mut block = Block::default();
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            return Some(block);
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => block.name = value.into(),
            "id" => block.id = value.parse().ok(),
            "data" => {
                if !block.data.is_empty() {
                    block.data.push('\n');
                }
                block.data.push_str(value);
            }
            // A comment is a sign of life; other fields are for browsers.
            _ => {}
        }
    }
}

fn read_line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    loop {
        let buffer = reader.fill_buf().ok()?;
        if buffer.is_empty() || line.len() > LINE_BYTES_MAX {
            return None;
        }
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        line.extend_from_slice(&buffer[..end.unwrap_or(taken)]);
        reader.consume(taken);
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Some(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> Vec<Block> {
        let mut reader = BufReader::with_capacity(3, text.as_bytes());
        std::iter::from_fn(|| read_block(&mut reader)).collect()
    }

    fn block(name: &str, id: Option<u64>, data: &str) -> Block {
        Block { name: name.into(), id, data: data.into() }
    }

    #[test]
    fn events_are_read_as_the_standard_has_it() {
        let cases = [
            ("data: a\n\n", vec![block("", None, "a")]),
            ("id: 7\nevent: job\ndata:{}\n\n", vec![block("job", Some(7), "{}")]),
            ("data: a\r\ndata: b\r\n\r\n", vec![block("", None, "a\nb")]),
            (": still here\n\n", vec![block("", None, "")]),
            ("retry: 5\nid\ndata: x\n\n", vec![block("", None, "x")]),
            // What was cut off is no event.
            ("data: a\n\ndata: b\n", vec![block("", None, "a")]),
            ("data: a", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(blocks(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let endless = vec![b'x'; LINE_BYTES_MAX * 2];
        assert_eq!(read_line(&mut BufReader::new(endless.as_slice())), None);
    }
}
