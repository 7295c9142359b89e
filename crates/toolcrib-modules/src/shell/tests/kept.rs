//! How much of what a program writes is kept, and which part.

use super::super::output_buffer::{HeadTailBuffer, LogSlice, OutputLog, last_line};

fn ends(pieces: &[&str], limit: usize, lines: usize) -> String {
    let mut ends = HeadTailBuffer::new(limit);
    for piece in pieces {
        ends.add(piece.as_bytes());
    }
    ends.text(lines)
}

#[test]
fn what_fits_is_told_as_it_is_however_it_came() {
    for pieces in [&["abcdef"][..], &["a", "b", "c", "d", "e", "f"], &["abc", "def"], &["abcde", "f"]] {
        assert_eq!(ends(pieces, 6, 10), "abcdef", "{pieces:?}");
    }
    assert_eq!(ends(&["é", "è"], 4, 10), "éè");
}

#[test]
fn of_more_the_beginning_and_the_end_are_told_and_how_much_is_missing() {
    for pieces in [&["abcdefgh"][..], &["a", "b", "c", "d", "e", "f", "g", "h"], &["abcd", "efgh"]] {
        assert_eq!(ends(pieces, 4, 10), "ab\n[4 bytes were left out here]\ngh", "{pieces:?}");
    }
    // No half of a character is shown.
    assert_eq!(ends(&["aéxxxxéa"], 4, 10), "a\n[6 bytes were left out here]\na");
    assert_eq!(ends(&["1\n2\n3\n4\n5\n"], 100, 3), "1\n2\n[2 lines were left out here]\n5\n");
    assert_eq!(ends(&["1\n2\n3\n"], 100, 3), "1\n2\n3\n");
}

#[test]
fn a_log_is_read_on_from_where_the_last_part_ended() {
    let mut log = OutputLog::new(8);
    let slice = |text: &str, offset, next, end| LogSlice { text: text.into(), offset, next, end };
    assert_eq!(log.slice(None, 4, true), slice("", 0, 0, 0));
    log.add(b"abcdef");
    assert_eq!(log.slice(None, 4, true), slice("cdef", 2, 6, 6));
    assert_eq!(log.slice(Some(0), 4, true), slice("abcd", 0, 4, 6));
    assert_eq!(log.slice(Some(4), 4, true), slice("ef", 4, 6, 6));
    assert_eq!(log.slice(Some(6), 4, true), slice("", 6, 6, 6));
    assert_eq!(log.slice(Some(u64::MAX), 4, true), slice("", 6, 6, 6));
    log.add(b"ghijk");
    assert_eq!(log.slice(Some(0), 4, true), slice("defg", 3, 7, 11), "the first three are gone");
    log.add(&[b'x'; 100]);
    assert_eq!((log.slice(Some(0), 4, true).offset, log.end()), (103, 111));
}

#[test]
fn a_character_is_not_cut_in_two() {
    let mut log = OutputLog::new(100);
    log.add("aé€".as_bytes());
    let texts = |follows| {
        let (mut at, mut texts) = (0, Vec::new());
        while at < log.end() {
            let slice = log.slice(Some(at), 3, follows);
            assert!(slice.next > at, "it does not get on");
            at = slice.next;
            texts.push(slice.text);
        }
        texts
    };
    assert_eq!(texts(true), ["aé", "€"]);
    assert_eq!(log.slice(None, 2, false).text, "", "both bytes are of a character that began before");
    // Its beginning stays until the rest of it has come, or nothing comes any more.
    log.add(b"\xc3");
    assert_eq!(log.slice(Some(6), 3, true).next, 6);
    assert_eq!(log.slice(Some(6), 3, false).text, "\u{FFFD}");
}

#[test]
fn the_last_line_is_told_without_what_would_move_a_cursor() {
    assert_eq!(last_line(b"a\nb\x1b[2J\n\n").as_deref(), Some("b [2J"));
    assert_eq!(last_line(b" \n").as_deref(), None);
    assert_eq!(last_line("é".repeat(1000).as_bytes()).unwrap().chars().count(), 200);
}
