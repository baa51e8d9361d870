//! What goes between `oef run` and its job: a letter, a length, and bytes.

use std::io::{self, Read, Write};

/// Larger ones come from somebody else.
const BYTES_MAX: u32 = 1 << 20;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes of the terminal, of stdin or of stdout.
    Data(Vec<u8>),
    /// Bytes of stderr, where there is no terminal.
    Errors(Vec<u8>),
    /// Nothing more comes from stdin.
    InputEnd,
    /// The size of the terminal: columns and rows.
    Size(u16, u16),
    /// The command ended with this code.
    Ended(u8),
}

impl Frame {
    /// Writes it.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (kind, bytes) = match self {
            Frame::Data(bytes) => (b'd', bytes.clone()),
            Frame::Errors(bytes) => (b'e', bytes.clone()),
            Frame::InputEnd => (b'i', Vec::new()),
            Frame::Size(columns, rows) => {
                (b's', [columns.to_be_bytes(), rows.to_be_bytes()].concat())
            }
            Frame::Ended(code) => (b'x', vec![*code]),
        };
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let mut whole = vec![kind];
        whole.extend(length.to_be_bytes());
        whole.extend(bytes);
        to.write_all(&whole)?;
        to.flush()
    }

    /// Reads one; none at the end.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Frame>> {
        let mut head = [0; 5];
        match from.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let [kind, length @ ..] = head;
        let length = u32::from_be_bytes(length);
        let odd = || io::Error::new(io::ErrorKind::InvalidData, "this is not a job of `oef run`");
        if length > BYTES_MAX {
            return Err(odd());
        }
        let mut bytes = vec![0; length as usize];
        from.read_exact(&mut bytes)?;
        Ok(Some(match (kind, bytes.as_slice()) {
            (b'd', _) => Frame::Data(bytes),
            (b'e', _) => Frame::Errors(bytes),
            (b'i', []) => Frame::InputEnd,
            (b's', &[a, b, c, d]) => {
                Frame::Size(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
            }
            (b'x', &[code]) => Frame::Ended(code),
            _ => return Err(odd()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_as_they_were_sent_and_others_are_refused() {
        let all = [
            Frame::Data(b"hello".to_vec()),
            Frame::Errors(Vec::new()),
            Frame::InputEnd,
            Frame::Size(80, 24),
            Frame::Ended(3),
        ];
        let mut bytes = Vec::new();
        all.iter().for_each(|frame| frame.write(&mut bytes).unwrap());
        let mut from = bytes.as_slice();
        for frame in all {
            assert_eq!(Frame::read(&mut from).unwrap(), Some(frame));
        }
        assert_eq!(Frame::read(&mut from).unwrap(), None);
        for odd in [&b"GET / HTTP/1.1\r\n"[..], b"d\xff\xff\xff\xff", b"s\0\0\0\x01a"] {
            assert!(Frame::read(&mut &odd[..]).is_err());
        }
    }
}
