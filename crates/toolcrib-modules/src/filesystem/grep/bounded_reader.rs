//! A bounded and cancellable reader of a file that is searched.

use std::io::{self, Read};

use crate::blocking::Cancellation;

/// The maximum length of a line that is searched, in bytes. It bounds the time between two checks for cancellation.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;

/// A reader that cuts a file at its maximum size, and each line at its maximum length.
pub(super) struct BoundedReader<'a, R> {
    inner: R,
    stop: &'a Cancellation,
    /// The size of the file when it was opened; 0 if it may be generated while it is read. Later additions are not
    /// searched. This saves the read that detects the end, which takes as long as reading a small file.
    size: u64,
    /// The number of bytes of the file that may still be passed on.
    left: u64,
    /// The number of bytes of the current line so far.
    line: usize,
    /// The number of bytes read.
    pub(super) read: u64,
    /// True if the file continues after its maximum size.
    pub(super) is_cut: bool,
    /// The number of lines that were cut.
    pub(super) shortened: usize,
}

impl<'a, R: Read> BoundedReader<'a, R> {
    pub(super) fn new(inner: R, size: u64, limit: u64, stop: &'a Cancellation) -> Self {
        Self { inner, stop, size, left: limit, line: 0, read: 0, is_cut: false, shortened: 0 }
    }

    /// Removes the bytes after the maximum length of a line. Returns the number of remaining bytes.
    fn squeeze(&mut self, bytes: &mut [u8]) -> usize {
        if self.line + bytes.len() <= MAX_LINE_BYTES {
            self.line = match bytes.iter().rposition(|byte| *byte == b'\n') {
                Some(end) => bytes.len() - end - 1,
                None => self.line + bytes.len(),
            };
            return bytes.len();
        }
        let mut retained = 0;
        for at in 0..bytes.len() {
            let Some(byte) = bytes.get(at).copied() else { break };
            let is_end = byte == b'\n';
            if is_end || self.line < MAX_LINE_BYTES {
                if let Some(place) = bytes.get_mut(retained) {
                    *place = byte;
                }
                retained += 1;
            } else if self.line == MAX_LINE_BYTES {
                self.shortened += 1;
            }
            self.line = if is_end { 0 } else { self.line + 1 };
        }
        retained
    }
}

impl<R: Read> Read for BoundedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.check().is_err() {
                return Err(io::Error::other("the call was cancelled"));
            }
            if self.size > 0 && self.read >= self.size {
                return Ok(0);
            }
            if self.left == 0 {
                // One more byte shows if the file continues.
                self.is_cut = self.is_cut || self.inner.read(&mut [0])? > 0;
                return Ok(0);
            }
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
            let Some(part) = buffer.get_mut(..most) else { return Ok(0) };
            let read = match self.inner.read(part) {
                Ok(0) => return Ok(0),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.left = self.left.saturating_sub(read as u64);
            self.read += read as u64;
            let retained = part.get_mut(..read).map_or(0, |bytes| self.squeeze(bytes));
            if retained > 0 {
                return Ok(retained);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// Gives a few bytes at a time.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(1000);
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn long_lines_are_cut_wherever_they_begin_and_short_ones_are_not() {
        let stop = Cancellation::on(CancellationToken::new());
        let (long, most) = ("x".repeat(MAX_LINE_BYTES + 1), "y".repeat(MAX_LINE_BYTES));
        let text = format!("a\n{long}\n{most}\nb\n{long}{long}\n\nend");
        let cut = &long[1..];
        let expected = format!("a\n{cut}\n{most}\nb\n{cut}\n\nend");
        let mut passed = String::new();
        let mut lines = BoundedReader::new(Drip(text.as_bytes()), 0, u64::MAX, &stop);
        lines.read_to_string(&mut passed).unwrap();
        assert!(passed == expected, "{} {}", passed.len(), expected.len());
        assert_eq!((lines.shortened, lines.is_cut), (2, false));
    }

    /// Must not be asked for its end.
    struct Endless(u64);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            assert!(self.0 > 0, "the end was asked for");
            let most = buffer.len().min(3).min(usize::try_from(self.0).unwrap());
            buffer[..most].fill(b'x');
            self.0 -= most as u64;
            Ok(most)
        }
    }

    #[test]
    fn the_end_of_a_file_whose_size_is_known_is_not_asked_for() {
        let stop = Cancellation::on(CancellationToken::new());
        let mut lines = BoundedReader::new(Endless(10), 10, 100, &stop);
        assert_eq!(lines.read_to_string(&mut String::new()).unwrap(), 10);
    }

    #[test]
    fn a_file_is_passed_on_to_its_bound_and_not_after_the_call_was_given_up() {
        let token = CancellationToken::new();
        let stop = Cancellation::on(token.clone());
        let limits = [(3, "abc", true), (4, "abcd", false), (5, "abcd", false)];
        for (size, (limit, expected, is_cut)) in
            [0, 4].into_iter().flat_map(|size| limits.map(|case| (size, case)))
        {
            let mut passed = String::new();
            let mut lines = BoundedReader::new(Drip(b"abcd"), size, limit, &stop);
            lines.read_to_string(&mut passed).unwrap();
            assert_eq!((passed.as_str(), lines.is_cut), (expected, is_cut), "{limit}");
        }
        token.cancel();
        assert!(BoundedReader::new(Drip(b"abcd"), 0, 4, &stop).read_to_string(&mut String::new()).is_err());
    }
}
