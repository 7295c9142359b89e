//! Lines that match.

use crate::read_result::cancellable_search::{CancelFlag, find};
use crate::read_result::grep::{grep, pattern};

fn found(text: &str, wanted: &str, context: usize) -> (String, usize) {
    let matches = grep(text, &pattern(wanted).unwrap(), context, None, &CancelFlag::default());
    (matches.text, matches.count)
}

#[test]
fn lines_are_listed_with_their_numbers_and_what_stands_around() {
    let text = "a\nb1\nc\nd\ne\nf\nb2\n";
    assert_eq!(found(text, "^b", 0), ("2: b1\n7: b2\n".into(), 2));
    assert_eq!(found(text, "b2$", 1), ("6- f\n7: b2\n".into(), 1));
    assert_eq!(found(text, "^b", 1), ("1- a\n2: b1\n3- c\n--\n6- f\n7: b2\n".into(), 2));
}

#[test]
fn what_stands_far_in_a_long_line_is_found_and_shown_with_what_is_around() {
    let text = format!("{}needle{}", "ä".repeat(20_000), "ö".repeat(20_000));
    for wanted in ["needle", ".*needle", "eedle.*", r"(?i)NEEDLE"] {
        let (shown, count) = found(&text, wanted, 0);
        assert_eq!(count, 1, "{wanted}");
        assert!(shown.len() < 1_000, "{wanted}: {} bytes", shown.len());
    }
    assert!(found(&text, "needle", 0).0.contains("needle"));
    assert_eq!(found(&text, "^needle", 0).1, 0);
    assert_eq!(found(&text, "needles", 0).1, 0);
}

#[test]
fn a_pattern_that_is_too_large_or_none_is_an_error_that_says_what_to_write() {
    for wanted in ["(", "(?=a)", r"(a)\1", &"a".repeat(2_000), "a{1000}{1000}"] {
        assert!(pattern(wanted).is_err(), "{wanted}");
    }
    assert!(pattern("(?=a)").unwrap_err().hint.unwrap().contains("no look-around"));
}

#[test]
fn a_search_that_nobody_waits_for_any_more_ends_after_the_piece_that_it_is_at() {
    let cancel = CancelFlag::default();
    drop(cancel.cancel_on_drop());
    let text = "b".repeat(100_000) + "needle";
    assert_eq!(find(&pattern("needle").unwrap(), &text, &cancel), None);
    assert_eq!(find(&pattern("needle").unwrap(), &text, &CancelFlag::default()), Some(100_000));
    assert_eq!(grep("needle\n", &pattern("needle").unwrap(), 0, None, &cancel).count, 0);
}
