//! Splits bytes in any chunks into lines. [`super::StreamParser`] calls it. It does not parse JSON.
//!
//! A line that is whole in a chunk is passed on without a copy. Only a line that crosses chunks is copied. A line
//! over the limit is skipped: only its first bytes and its length are kept.

use memchr::memchr;

/// Number of bytes that are kept of a skipped line, so that a person can recognise it.
const PREFIX_BYTES: usize = 256;
/// Maximum memory that is kept between lines. The memory of a longer line is freed.
const IDLE_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    Oversize { prefix: &'a [u8], length: u64 },
}

#[derive(Debug)]
pub(super) struct Lines {
    bytes_max: usize,
    /// Start of a line that crosses chunks. For a skipped line, its prefix.
    pending: Vec<u8>,
    /// Length of the skipped line so far. 0 if none is being skipped.
    drained: u64,
}

impl Lines {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, pending: Vec::new(), drained: 0 }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            let is_alone = self.pending.is_empty() && self.drained == 0;
            if is_alone && line.len() <= self.bytes_max {
                each(Line::Whole(line));
            } else {
                self.keep(line);
                self.give(&mut each);
            }
        }
        self.keep(bytes);
    }

    /// Forgets the start of a line that has not ended.
    pub(super) fn forget(&mut self) {
        self.pending.clear();
        self.drained = 0;
    }

    /// Passes on the last line, if the stream ended without a line feed.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if !self.pending.is_empty() || self.drained > 0 {
            self.give(&mut each);
        }
    }

    fn give(&mut self, each: &mut impl FnMut(Line<'_>)) {
        match self.drained {
            0 => each(Line::Whole(&self.pending)),
            length => each(Line::Oversize { prefix: &self.pending, length }),
        }
        self.drained = 0;
        self.pending.clear();
        self.pending.shrink_to(IDLE_BYTES_MAX);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let length = self.pending.len() + bytes.len();
        if self.drained == 0 && length <= self.bytes_max {
            self.pending.extend_from_slice(bytes);
            return;
        }
        if self.drained == 0 {
            self.drained = length as u64;
            self.pending.truncate(PREFIX_BYTES);
            self.pending.shrink_to(PREFIX_BYTES);
        } else {
            self.drained += bytes.len() as u64;
        }
        let room = PREFIX_BYTES.saturating_sub(self.pending.len()).min(bytes.len());
        self.pending.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(chunks: &[&[u8]], bytes_max: usize) -> Vec<String> {
        let mut lines = Lines::new(bytes_max);
        let mut seen = Vec::new();
        let mut each = |line: Line<'_>| {
            seen.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::Oversize { prefix, length } => {
                    format!("{length}:{}", String::from_utf8_lossy(prefix))
                }
            });
        };
        for chunk in chunks {
            lines.push(chunk, &mut each);
        }
        lines.finish(&mut each);
        seen
    }

    #[test]
    fn lines_end_at_line_feeds_and_nowhere_else() {
        assert_eq!(
            lines_of(&["a\r\n\nb\u{2028}c\nd".as_bytes()], 99),
            ["a\r", "", "b\u{2028}c", "d"]
        );
    }

    #[test]
    fn a_line_may_cross_chunks() {
        assert_eq!(lines_of(&[b"ab", b"", b"c", b"\nd\n", b"\n"], 99), ["abc", "d", ""]);
    }

    #[test]
    fn a_line_beyond_the_cap_is_drained_and_counted_in_one_chunk_or_many() {
        assert_eq!(lines_of(&[b"abcd\nabcde\nx\n"], 4), ["abcd", "5:abcde", "x"]);
        assert_eq!(lines_of(&[b"ab", b"cde", b"fg", b"\nabcd\n"], 4), ["7:abcdefg", "abcd"]);
        let long = [b'x'; 1000];
        let prefix = "x".repeat(PREFIX_BYTES);
        assert_eq!(lines_of(&[&long], 400), [format!("1000:{prefix}")]);
        assert_eq!(lines_of(&[&long[..300], &long[..700]], 400), [format!("1000:{prefix}")]);
    }

    #[test]
    fn a_drained_line_takes_no_memory() {
        let mut lines = Lines::new(1024);
        for _ in 0..1000 {
            lines.push(&[b'x'; 1024], |_| {});
        }
        assert!(lines.pending.capacity() <= 2 * PREFIX_BYTES);
        assert_eq!(lines.drained, 1_024_000);
    }
}
