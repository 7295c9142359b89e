//! A stream in whole lines.
//!
//! What takes the events apart looks at all that it has whenever more comes, and copies what is left behind each line. With
//! a few whole lines at a time it looks at each byte once, however the server cuts its answer.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// The longest event, in bytes. A reply has a separate bound, which is half of this, since escapes take space.
pub(super) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// The number of bytes of lines that are passed on at once; a longer line is passed on alone.
const BATCH_BYTES: usize = 512;

/// The mark with which some servers begin texts. It has no meaning.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Bytes on their way to lines. What means nothing, such as comments, is left out.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: BytesMut,
    /// The number of bytes of the buffer that were searched and contain no line end.
    searched: usize,
    /// The number of bytes of the current event.
    event_bytes: usize,
    /// True once the first line has arrived.
    has_begun: bool,
    /// True if the last line ended with a carriage return, so that a line feed that follows belongs to it.
    is_after_return: bool,
}

impl Lines {
    /// Takes more bytes, or says how many an event may have at most.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), usize> {
        self.buffer.extend_from_slice(bytes);
        let bytes = self.event_bytes.saturating_add(self.searched);
        if bytes > MAX_EVENT_BYTES { Err(MAX_EVENT_BYTES) } else { Ok(()) }
    }

    /// Returns the next whole lines, each with a line feed at its end.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        let mut lines = BytesMut::new();
        while lines.len() < BATCH_BYTES
            && let Some(line) = self.line()
        {
            let is_nothing = line.starts_with(b":") || line.is_empty() && self.event_bytes == 0;
            if is_nothing {
                continue;
            }
            self.event_bytes = if line.is_empty() { 0 } else { self.event_bytes.saturating_add(line.len()) };
            lines.extend_from_slice(&line);
            lines.put_u8(b'\n');
        }
        (!lines.is_empty()).then(|| lines.freeze())
    }

    /// Returns the rest, which has no line end.
    pub(super) fn rest(&mut self) -> Bytes {
        self.buffer.split().freeze()
    }

    /// Returns the next line, without its end.
    fn line(&mut self) -> Option<BytesMut> {
        if let Some(first) = self.buffer.first()
            && std::mem::take(&mut self.is_after_return)
            && *first == b'\n'
        {
            self.buffer.advance(1);
        }
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let Some(end) = self.buffer.get(self.searched..).and_then(|bytes| bytes.iter().position(is_end))
        else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + end;
        self.searched = 0;
        let mut line = self.buffer.split_to(end + 1);
        self.is_after_return = line.ends_with(b"\r");
        line.truncate(end);
        if !std::mem::replace(&mut self.has_begun, true) && line.starts_with(BYTE_ORDER_MARK) {
            line.advance(BYTE_ORDER_MARK.len());
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in pieces {
            lines.push(piece).unwrap();
            found.extend(std::iter::from_fn(|| lines.next()).map(Vec::from));
        }
        found.push(lines.rest().to_vec());
        found
    }

    #[test]
    fn lines_are_the_same_however_they_come_and_end() {
        let text = b"data: a\r\n\r\ndata: b\r\rdata: c\n\nrest";
        let whole: &[u8] = b"data: a\n\ndata: b\n\ndata: c\n\n";
        assert_eq!(lines(&[text]), [whole, b"rest"]);
        for size in 1..text.len() {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(lines(&pieces).concat(), [whole, b"rest"].concat(), "{size} bytes at once");
        }
    }

    #[test]
    fn comments_more_blank_lines_and_a_byte_order_mark_are_left_out() {
        let text = b"\xEF\xBB\xBFdata: a\n: comment\n:\n\n\n\n\ndata: b\n\n";
        assert_eq!(lines(&[&text[..2], &text[2..]]), [&b"data: a\n\ndata: b\n\n"[..], b""]);
    }

    #[test]
    fn many_lines_come_a_few_at_once_and_long_ones_alone() {
        let text = [b"x".repeat(1000), b"\n".to_vec(), b"y\n".repeat(1000)].concat();
        let found = lines(&[&text]);
        assert_eq!(found.concat(), text);
        assert_eq!((found[0].len(), found[1].len()), (1001, BATCH_BYTES));
    }

    #[test]
    fn an_event_without_end_is_given_up_in_one_line_or_many() {
        for end in [&b""[..], b"\n"] {
            let piece = [b"x".repeat(MAX_EVENT_BYTES / 4), end.to_vec()].concat();
            let mut lines = Lines::default();
            let mut pushed = 0;
            while lines.push(&piece).is_ok() {
                while lines.next().is_some() {}
                pushed += 1;
                assert!(pushed < 10);
            }
            assert!(pushed >= 4, "{pushed}");
        }
    }
}
