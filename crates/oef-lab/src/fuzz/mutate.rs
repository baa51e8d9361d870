//! Texts that are nearly right.

use crate::torture::Dice;

/// Words on which readers have stumbled somewhere, some time.
const WORDS: [&[u8]; 24] = [
    b"0",
    b"-0",
    b"-1",
    b"1e308",
    b"1e-320",
    b"1e999",
    b"NaN",
    b"inf",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"4294967296",
    b"null",
    b"true",
    b"\"\"",
    b"[]",
    b"{}",
    b"\xff\xfe",
    b"\0",
    b"\r\n",
    "\u{202e}\u{200b}".as_bytes(),
    b"\\ud800",
    b"\"\"\"",
    b"[[[[[[[[[[[[[[[[",
];

/// Inputs are no longer than this: what is longer is refused by limits that have tests of their own.
const BYTES_MAX: usize = 64 << 10;

/// Changes inputs, the same way for the same seed.
#[derive(Debug)]
pub struct Mutator(Dice);

impl Mutator {
    /// From a seed.
    pub fn new(seed: u64) -> Mutator {
        Mutator(Dice::new(seed))
    }

    /// One of the inputs, with something changed; nothing of nothing.
    pub fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        if corpus.is_empty() {
            return Vec::new();
        }
        let mut input = corpus[self.at(corpus.len())].clone();
        for _ in 0..=self.0.below(4) {
            self.change(&mut input, corpus);
            input.truncate(BYTES_MAX);
        }
        input
    }

    fn at(&mut self, length: usize) -> usize {
        self.0.below(length.max(1) as u64) as usize
    }

    /// A piece: most are short.
    fn piece(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.at(length);
        let longest = if self.0.once_in(4) { length } else { 12 };
        from..(from + 1 + self.at(longest)).min(length)
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        if input.is_empty() {
            input.extend(WORDS[self.at(WORDS.len())]);
            return;
        }
        let piece = self.piece(input.len());
        match self.0.below(9) {
            0 => input[piece.start] ^= 1 << self.0.below(8),
            1 => input[piece.start] = self.0.below(256) as u8,
            2 => drop(input.drain(piece)),
            3 => input.truncate(piece.start),
            4 => {
                let again = input[piece.clone()].to_vec();
                input.splice(piece.start..piece.start, again);
            }
            5 => {
                let word = WORDS[self.at(WORDS.len())];
                input.splice(piece.start..piece.start, word.iter().copied());
            }
            6 => self.change_number(input, piece.start),
            7 => {
                let other = &corpus[self.at(corpus.len())];
                if !other.is_empty() {
                    let theirs = self.piece(other.len());
                    input.splice(piece, other[theirs].iter().copied());
                }
            }
            _ => self.change_line(input),
        }
    }

    /// The next number becomes another word.
    fn change_number(&mut self, input: &mut Vec<u8>, from: usize) {
        let Some(start) = input[from..].iter().position(u8::is_ascii_digit).map(|at| from + at)
        else {
            return;
        };
        let length = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let word = WORDS[self.at(WORDS.len())];
        input.splice(start..start + length, word.iter().copied());
    }

    /// A line is gone, comes twice, or changes its place.
    fn change_line(&mut self, input: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> =
            input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let (from, to) = (self.at(lines.len()), self.at(lines.len()));
        match self.0.below(3) {
            0 => drop(lines.remove(from)),
            1 => lines.insert(to, lines[from].clone()),
            _ => lines.swap(from, to),
        }
        *input = lines.join(&b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs_and_others_give_others() {
        let corpus = vec![b"a = 1\nb = [2, 3]\n".to_vec(), b"{\"c\": 4.5}".to_vec()];
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed);
            (0..200).map(|_| mutator.next(&corpus)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        let changed = inputs(1).iter().filter(|input| !corpus.contains(input)).count();
        assert!(changed > 150, "{changed}");
        assert_eq!(Mutator::new(1).next(&[]), Vec::<u8>::new());
    }
}
