//! The checksums that chain the records: each covers its record and the checksum before.

use super::record::StoredRecord;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Half of a SHA-256: chance will not meet it, and a record stays small.
const SUM_BYTES: usize = 16;

/// A checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(pub(super) [u8; SUM_BYTES]);

/// A place in the chain: a record's number, and the checksum of everything up to it. The default is where
/// every chain begins: before the first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The record's number.
    pub seq: u64,
    /// The checksum.
    pub sum: Sum,
}

impl Link {
    /// The place after the next record.
    pub fn next(self, at_ms: u64, kind: &str, body: &str) -> Link {
        let seq = self.seq.saturating_add(1);
        Link { seq, sum: self.sum.over(seq, at_ms, kind, body) }
    }

    /// The place after a record that was read with this checksum; an error: at which record something is wrong, and what.
    pub fn check(self, record: &StoredRecord, sum: Option<Sum>) -> Result<Link, (u64, String)> {
        let expected = self.next(record.at_ms, &record.kind, &record.body);
        if record.seq != expected.seq {
            return Err(gap(expected.seq, record.seq));
        }
        match sum == Some(expected.sum) {
            true => Ok(expected),
            false => Err((expected.seq, WRONG_SUM.into())),
        }
    }
}

/// What is said of a record whose checksum is not that of its contents.
pub(super) const WRONG_SUM: &str = "its checksum does not fit";

/// Where records are missing, and how that is said.
pub(super) fn gap(expected: u64, found: u64) -> (u64, String) {
    (expected, format!("it is missing, the next one is {found}"))
}

/// Compares the end of a chain with the end that was last acknowledged: at which record something is wrong, and what.
/// `sum_of` has the checksum of an earlier record; none: it was compacted.
pub fn compare_ends(
    known: Link,
    head: Link,
    sum_of: impl FnOnce(u64) -> Option<Sum>,
) -> Option<(u64, String)> {
    if known.seq > head.seq {
        let (from, to) = (head.seq + 1, known.seq);
        return Some((from, format!("records {from} to {to} were acknowledged and are missing")));
    }
    let is_same = match known.seq == head.seq {
        true => known == head,
        false => sum_of(known.seq).is_none_or(|sum| sum == known.sum),
    };
    let what = "it is not the record that was acknowledged under this number".to_string();
    (!is_same).then_some((known.seq, what))
}

impl Sum {
    /// The checksum of something that stands on this one.
    pub fn over(self, seq: u64, at_ms: u64, kind: &str, body: &str) -> Sum {
        let mut summing = Summing::begin(self, (seq, at_ms, kind), body.len() as u64);
        summing.add(body.as_bytes());
        summing.finish()
    }

    /// The checksum in these bytes, if there are as many as there should be.
    pub fn read(bytes: &[u8]) -> Option<Sum> {
        bytes.try_into().ok().map(Sum)
    }
}

/// A checksum of something that comes in pieces.
pub(super) struct Summing(Sha256);

impl Summing {
    /// Begins one that stands on another, for a body of so many bytes. Lengths are in it, so that no byte can move from
    /// one field to the next unseen.
    pub fn begin(on: Sum, (seq, at_ms, kind): (u64, u64, &str), body_bytes: u64) -> Summing {
        let mut hash = Sha256::new();
        hash.update(on.0);
        for number in [seq, at_ms, kind.len() as u64, body_bytes] {
            hash.update(number.to_le_bytes());
        }
        hash.update(kind);
        Summing(hash)
    }

    /// The next piece of the body.
    pub fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The checksum of all of it.
    pub fn finish(self) -> Sum {
        let whole = self.0.finalize();
        let mut sum = Sum::default();
        sum.0.copy_from_slice(&whole[..SUM_BYTES]);
        sum
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.seq)?;
        self.sum.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Link {
    type Err = ();

    fn from_str(text: &str) -> Result<Link, ()> {
        let (seq, digits) = text.split_once(' ').ok_or(())?;
        let is_hex = digits.len() == 2 * SUM_BYTES && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let mut sum = Sum::default();
        for (at, byte) in sum.0.iter_mut().enumerate() {
            let pair = digits.get(2 * at..2 * at + 2).filter(|_| is_hex).ok_or(())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| ())?;
        }
        Ok(Link { seq: seq.parse().map_err(|_| ())?, sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Link = Link { seq: 0, sum: Sum([0; SUM_BYTES]) };

    #[test]
    fn every_field_counts_and_none_can_give_a_byte_to_the_next() {
        let one = START.next(5, "tick", "{}");
        for other in [
            START.next(6, "tick", "{}"),
            START.next(5, "tic", "k{}"),
            START.next(5, "tick", "{ }"),
            one.next(5, "tick", "{}"),
            Link { seq: 1, ..START }.next(5, "tick", "{}"),
        ] {
            assert_ne!(one.sum, other.sum);
        }
        assert_eq!(one, START.next(5, "tick", "{}"));
    }

    #[test]
    fn a_place_is_read_as_it_is_written_and_nothing_else_is() {
        let link = START.next(1, "a", "b").next(2, "c", "d");
        assert_eq!(link.to_string().parse(), Ok(link));
        for wrong in ["", "1", "1 ", "1 00", "x 00000000000000000000000000000000", "1 é"] {
            assert_eq!(wrong.parse::<Link>(), Err(()), "{wrong}");
        }
    }
}
