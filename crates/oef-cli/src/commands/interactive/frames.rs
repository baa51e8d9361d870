//! What goes between `oef run` and its job: a letter, a length, and bytes.

use std::io;

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
    /// It as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let (kind, bytes) = match self {
            Frame::Data(bytes) => (b'd', bytes.clone()),
            Frame::Errors(bytes) => (b'e', bytes.clone()),
            Frame::InputEnd => (b'i', Vec::new()),
            Frame::Size(columns, rows) => {
                (b's', [columns.to_be_bytes(), rows.to_be_bytes()].concat())
            }
            Frame::Ended(code) => (b'x', vec![*code]),
        };
        // Nobody sends more than a buffer at once.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        [&[kind][..], &length.to_be_bytes(), &bytes].concat()
    }

    /// Takes the first one from bytes; none where it is not whole yet.
    pub fn parse(from: &mut Vec<u8>) -> io::Result<Option<Frame>> {
        let Some((&[kind, a, b, c, d], rest)) = from.split_first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes([a, b, c, d]);
        let odd = || io::Error::new(io::ErrorKind::InvalidData, "this is not a job of `oef run`");
        if length > BYTES_MAX {
            return Err(odd());
        }
        let Some(bytes) = rest.get(..length as usize) else { return Ok(None) };
        let frame = match (kind, bytes) {
            (b'd', _) => Frame::Data(bytes.to_vec()),
            (b'e', _) => Frame::Errors(bytes.to_vec()),
            (b'i', []) => Frame::InputEnd,
            (b's', &[a, b, c, d]) => {
                Frame::Size(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
            }
            (b'x', &[code]) => Frame::Ended(code),
            _ => return Err(odd()),
        };
        from.drain(..5 + length as usize);
        Ok(Some(frame))
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
        let (mut from, mut arrived) = (Vec::new(), Vec::new());
        // Byte by byte, as a network may have it.
        for byte in all.iter().flat_map(Frame::bytes) {
            from.push(byte);
            arrived.extend(Frame::parse(&mut from).unwrap());
        }
        assert_eq!(arrived, all);
        assert!(from.is_empty());
        for odd in [&b"GET / HTTP/1.1\r\n"[..], b"d\xff\xff\xff\xff", b"s\0\0\0\x01a"] {
            assert!(Frame::parse(&mut odd.to_vec()).is_err());
        }
    }
}
