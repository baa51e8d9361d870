//! From byte offsets to lines and columns.

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// Finds the lines of a text.
    pub fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i + 1);
        Lines { starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// The line of an offset, counted from 1.
    pub fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset)
    }

    /// Line and column (in bytes) of an offset, both counted from 1.
    pub fn locate(&self, offset: usize) -> (usize, usize) {
        let line = self.line(offset);
        (line, offset - self.starts[line - 1] + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_from_one() {
        let lines = Lines::of("ab\ncd\n");
        assert_eq!(lines.locate(0), (1, 1));
        assert_eq!(lines.locate(4), (2, 2));
        assert_eq!(lines.locate(6), (3, 1));
        assert_eq!(lines.locate(100), (3, 95));
    }
}
