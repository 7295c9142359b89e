//! The events of a stream, within bounds.

use bytes::{Buf as _, Bytes, BytesMut};

/// The longest event, in bytes. A reply has a separate bound, which is half of this, since escapes take space.
pub(super) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// The mark with which some servers begin texts. It has no meaning.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Bytes on their way to events. Of an event, only its data counts: what kind it is stands in the data too.
#[derive(Debug, Default)]
pub(super) struct Events {
    buffer: BytesMut,
    /// The number of bytes of the buffer that were searched and contain no line end.
    searched: usize,
    /// The data of the current event, if any of its lines has some.
    data: Option<BytesMut>,
    /// The number of bytes of the current event.
    event_bytes: usize,
    /// True once the first line has arrived.
    has_begun: bool,
    /// True if the last line ended with a carriage return, so that a line feed that follows belongs to it.
    is_after_return: bool,
}

impl Events {
    /// Takes more bytes, or says how many an event may have at most.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), usize> {
        self.buffer.extend_from_slice(bytes);
        let bytes = self.event_bytes.saturating_add(self.searched);
        if bytes > MAX_EVENT_BYTES { Err(MAX_EVENT_BYTES) } else { Ok(()) }
    }

    /// Returns the data of the next event that is complete.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        while let Some(line) = self.line() {
            if !line.is_empty() {
                self.take(line);
                continue;
            }
            self.event_bytes = 0;
            if let Some(data) = self.data.take() {
                return Some(data.freeze());
            }
        }
        None
    }

    /// Returns the data of the event that the end of the stream leaves without a line end.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        let line = self.buffer.split();
        self.take(line);
        self.data.take().map(BytesMut::freeze)
    }

    /// Takes a line of the current event.
    fn take(&mut self, mut line: BytesMut) {
        // A comment.
        if line.starts_with(b":") {
            return;
        }
        self.event_bytes = self.event_bytes.saturating_add(line.len());
        if !line.starts_with(b"data:") {
            return;
        }
        line.advance(b"data:".len());
        if line.starts_with(b" ") {
            line.advance(1);
        }
        match &mut self.data {
            Some(data) => {
                data.extend_from_slice(b"\n");
                data.extend_from_slice(&line);
            }
            None if line.is_empty() => {}
            None => self.data = Some(line),
        }
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

    fn events(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut events = Events::default();
        let mut found = Vec::new();
        for piece in pieces {
            events.push(piece).unwrap();
            found.extend(std::iter::from_fn(|| events.next()).map(Vec::from));
        }
        found.extend(events.rest().map(Vec::from));
        found
    }

    #[test]
    fn events_are_the_same_however_they_come_and_end() {
        let text = b"data: a\r\n\r\nevent: x\rdata:b\rdata: c\r\rdata: d\nid: 1\n\ndata: rest";
        let whole: [&[u8]; 4] = [b"a", b"b\nc", b"d", b"rest"];
        assert_eq!(events(&[text]), whole);
        for size in 1..text.len() {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(events(&pieces), whole, "{size} bytes at once");
        }
    }

    #[test]
    fn comments_blank_lines_events_without_data_and_a_byte_order_mark_are_left_out() {
        let text = b"\xEF\xBB\xBFdata: a\n: comment\n:\n\n\n\nevent: ping\n\ndata:\n\n\ndata: b\n\n";
        assert_eq!(events(&[&text[..2], &text[2..]]), [b"a", b"b"]);
    }

    #[test]
    fn an_event_without_end_is_given_up_in_one_line_or_many() {
        for end in [&b""[..], b"\n"] {
            let piece = [b"x".repeat(MAX_EVENT_BYTES / 4), end.to_vec()].concat();
            let mut events = Events::default();
            let mut pushed = 0;
            while events.push(&piece).is_ok() {
                assert!(events.next().is_none());
                pushed += 1;
                assert!(pushed < 10);
            }
            assert!(pushed >= 4, "{pushed}");
        }
    }
}
