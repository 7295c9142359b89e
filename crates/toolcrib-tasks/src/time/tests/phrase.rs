//! Moments in English, French and ISO 8601.

use jiff::Zoned;

use crate::time::phrase::{MAX_PHRASE_CHARS, parse_time};

/// A Friday.
const NOW: &str = "2026-02-27T18:00:00+01:00[Europe/Paris]";

fn of(text: &str, now: &str) -> String {
    let now: Zoned = now.parse().unwrap();
    match parse_time(text, &now) {
        Ok(moment) => moment.strftime("%a %Y-%m-%d %H:%M:%S %:z").to_string(),
        Err(error) => format!("{error}"),
    }
}

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(of(text, NOW), *expected, "{text:?}");
    }
}

#[test]
fn iso_8601_says_a_moment() {
    check(&[
        ("2026-03-01T09:00:00Z", "Sun 2026-03-01 10:00:00 +01:00"),
        ("2026-03-01T09:00:00-05:00", "Sun 2026-03-01 15:00:00 +01:00"),
        ("2026-03-01T09:00", "Sun 2026-03-01 09:00:00 +01:00"),
        ("2026-03-01 09:00:30", "Sun 2026-03-01 09:00:30 +01:00"),
        ("2026-03-01", "Sun 2026-03-01 09:00:00 +01:00"),
        ("PT5M", "Fri 2026-02-27 18:05:00 +01:00"),
        ("P1DT2H", "Sat 2026-02-28 20:00:00 +01:00"),
        // It was a moment, and is for others to refuse.
        ("2020-01-01T00:00:00Z", "Wed 2020-01-01 01:00:00 +01:00"),
    ]);
}

#[test]
fn a_distance_is_counted_from_now() {
    check(&[
        ("in 5m", "Fri 2026-02-27 18:05:00 +01:00"),
        ("In 90 seconds", "Fri 2026-02-27 18:01:30 +01:00"),
        ("in 1h30", "Fri 2026-02-27 19:30:00 +01:00"),
        ("in 1h30m", "Fri 2026-02-27 19:30:00 +01:00"),
        ("in 2 hours and 15 minutes", "Fri 2026-02-27 20:15:00 +01:00"),
        ("in 1 day, 2 hours", "Sat 2026-02-28 20:00:00 +01:00"),
        ("in an hour", "Fri 2026-02-27 19:00:00 +01:00"),
        ("in half an hour", "Fri 2026-02-27 18:30:00 +01:00"),
        ("ten minutes from now", "Fri 2026-02-27 18:10:00 +01:00"),
        ("two weeks later", "Fri 2026-03-13 18:00:00 +01:00"),
        ("in 3 months", "Wed 2026-05-27 18:00:00 +02:00"),
        ("dans 30 minutes", "Fri 2026-02-27 18:30:00 +01:00"),
        ("dans une demi-heure", "Fri 2026-02-27 18:30:00 +01:00"),
        ("dans deux heures et quinze minutes", "Fri 2026-02-27 20:15:00 +01:00"),
        ("dans 3 jours", "Mon 2026-03-02 18:00:00 +01:00"),
        ("une semaine plus tard", "Fri 2026-03-06 18:00:00 +01:00"),
        (
            "d'ici 5 minutes",
            "`d'ici 5 minutes` is not a valid time: `ici` is not understood; write `2026-03-01T09:00`, \
            `in 5m`, `tomorrow at 9am` or `dans 30 minutes`",
        ),
    ]);
}

#[test]
fn a_day_and_a_time_are_those_of_the_clock_here() {
    check(&[
        ("tomorrow at 9am", "Sat 2026-02-28 09:00:00 +01:00"),
        ("9 a.m. tomorrow", "Sat 2026-02-28 09:00:00 +01:00"),
        ("tomorrow", "Sat 2026-02-28 09:00:00 +01:00"),
        ("tomorrow morning", "Sat 2026-02-28 09:00:00 +01:00"),
        ("tomorrow morning at 7:45", "Sat 2026-02-28 07:45:00 +01:00"),
        ("tomorrow at 8 in the evening", "Sat 2026-02-28 20:00:00 +01:00"),
        ("the day after tomorrow at noon", "Sun 2026-03-01 12:00:00 +01:00"),
        ("tonight", "Fri 2026-02-27 19:00:00 +01:00"),
        ("tonight at 10", "Fri 2026-02-27 22:00:00 +01:00"),
        ("tonight at midnight", "Sat 2026-02-28 00:00:00 +01:00"),
        ("at 17:30", "Sat 2026-02-28 17:30:00 +01:00"),
        ("at 18:30", "Fri 2026-02-27 18:30:00 +01:00"),
        ("12am", "Sat 2026-02-28 00:00:00 +01:00"),
        ("12 pm", "Sat 2026-02-28 12:00:00 +01:00"),
        ("noon", "Sat 2026-02-28 12:00:00 +01:00"),
        ("monday at 10:00", "Mon 2026-03-02 10:00:00 +01:00"),
        ("friday at 8pm", "Fri 2026-02-27 20:00:00 +01:00"),
        ("friday at 8am", "Fri 2026-03-06 08:00:00 +01:00"),
        ("next friday at 8pm", "Fri 2026-03-06 20:00:00 +01:00"),
        ("next week", "Fri 2026-03-06 09:00:00 +01:00"),
        ("March 1 at 9:15", "Sun 2026-03-01 09:15:00 +01:00"),
        ("the 1st of March, 2027", "Mon 2027-03-01 09:00:00 +01:00"),
        ("29 February", "Tue 2028-02-29 09:00:00 +01:00"),
        ("26 February", "Fri 2027-02-26 09:00:00 +01:00"),
        ("demain à 9h", "Sat 2026-02-28 09:00:00 +01:00"),
        ("demain matin à 8h30", "Sat 2026-02-28 08:30:00 +01:00"),
        ("après-demain à midi", "Sun 2026-03-01 12:00:00 +01:00"),
        ("aujourd'hui à 19 heures", "Fri 2026-02-27 19:00:00 +01:00"),
        ("ce soir à 8h", "Fri 2026-02-27 20:00:00 +01:00"),
        ("lundi prochain à 14h", "Mon 2026-03-02 14:00:00 +01:00"),
        ("vendredi prochain", "Fri 2026-03-06 09:00:00 +01:00"),
        ("la semaine prochaine", "Fri 2026-03-06 09:00:00 +01:00"),
        ("le 1er mars à 9h30", "Sun 2026-03-01 09:30:00 +01:00"),
        ("demain après-midi", "Sat 2026-02-28 15:00:00 +01:00"),
    ]);
}

#[test]
fn a_time_that_clocks_skip_is_the_one_after_it_and_one_that_comes_twice_the_first() {
    let before = "2026-03-28T12:00:00+01:00[Europe/Paris]";
    assert_eq!(of("tomorrow at 2:30", before), "Sun 2026-03-29 03:30:00 +02:00");
    let before = "2026-10-24T12:00:00+02:00[Europe/Paris]";
    assert_eq!(of("tomorrow at 2:30", before), "Sun 2026-10-25 02:30:00 +02:00");
    assert_eq!(of("in 24 hours", before), "Sun 2026-10-25 11:00:00 +01:00", "hours pass as they do");
    assert_eq!(of("in 1 day", before), "Sun 2026-10-25 12:00:00 +01:00", "a day is one of the calendar");
}

#[test]
fn what_says_no_moment_is_refused_with_its_reason() {
    let long = "x".repeat(MAX_PHRASE_CHARS + 1);
    let wrong = [
        "",
        "soon",
        "at 25:00",
        "13pm",
        "tomorrow tomorrow",
        "at 9 at 10",
        "30 February",
        "in 99999999999 days",
        "in 4000000000 years",
        "in 5 parsecs",
        "tomorrow; rm -rf",
        "::",
        "next",
        &long,
    ];
    insta::assert_snapshot!(wrong.map(|text| of(text, NOW)).join("\n"));
}

#[test]
fn no_text_of_words_and_numbers_is_too_much() {
    use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
    let parts = [
        "in",
        "dans",
        "5",
        "12",
        "2027",
        "h",
        "m",
        ":",
        "am",
        "pm",
        "tomorrow",
        "next",
        "friday",
        "march",
        "half",
        "an",
        "demi",
        "tonight",
        "midnight",
        "day",
        "after",
        "29",
        "february",
        "999999999",
        "years",
        "et",
        "a",
        "-",
        ",",
    ];
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    for seed in 0_u64..20_000 {
        let mut number = hasher.hash_one(seed);
        let mut text = String::new();
        for _ in 0..=seed % 9 {
            let part = parts[usize::try_from(number % parts.len() as u64).unwrap()];
            number = hasher.hash_one(number);
            text = format!("{text} {part}");
        }
        // It is a moment or an error.
        let said = of(&text, NOW);
        assert!(!said.is_empty(), "{text}");
    }
}
