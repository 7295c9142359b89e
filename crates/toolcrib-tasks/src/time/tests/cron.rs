//! Patterns across the days on which clocks are set.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::time::cron::{Cron, MAX_CRON_CHARS};

fn next(pattern: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let zone = TimeZone::get(zone).unwrap();
    let cron = Cron::parse(pattern, &zone).unwrap();
    let mut moment: Timestamp = after.parse().unwrap();
    let next = |_| {
        moment = cron.next_after(moment).unwrap();
        moment.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    };
    (0..count).map(next).collect()
}

#[test]
fn a_fixed_hour_that_is_skipped_comes_as_soon_as_clocks_go_on() {
    assert_eq!(
        next("30 2 * * *", "Europe/Paris", "2026-03-28T00:00:00Z", 3),
        ["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]
    );
}

#[test]
fn a_fixed_hour_that_comes_twice_is_meant_once() {
    assert_eq!(
        next("30 2 * * *", "Europe/Paris", "2026-10-24T22:00:00Z", 2),
        ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]
    );
}

#[test]
fn every_half_hour_comes_as_often_as_there_is_one() {
    assert_eq!(
        next("*/30 * * * *", "Europe/Paris", "2026-10-24T23:59:00Z", 6),
        [
            "2026-10-25T02:00:00+02:00",
            "2026-10-25T02:30:00+02:00",
            "2026-10-25T02:00:00+01:00",
            "2026-10-25T02:30:00+01:00",
            "2026-10-25T03:00:00+01:00",
            "2026-10-25T03:30:00+01:00"
        ]
    );
    assert_eq!(
        next("*/30 * * * *", "America/New_York", "2026-03-08T06:15:00Z", 3),
        ["2026-03-08T01:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"]
    );
}

#[test]
fn a_leap_day_comes_in_leap_years() {
    assert_eq!(
        next("0 9 29 2 *", "UTC", "2026-11-01T00:00:00Z", 2),
        ["2028-02-29T09:00:00+00:00", "2032-02-29T09:00:00+00:00"]
    );
}

#[test]
fn a_sixth_field_is_the_second() {
    assert_eq!(
        next("*/20 0 9 * * MON", "UTC", "2026-11-01T00:00:00Z", 3),
        ["2026-11-02T09:00:00+00:00", "2026-11-02T09:00:20+00:00", "2026-11-02T09:00:40+00:00"]
    );
}

#[test]
fn what_is_no_pattern_is_refused_with_its_reason() {
    let long = "*".repeat(MAX_CRON_CHARS + 1);
    let wrong = ["", "* * *", "61 * * * *", "0 9 30 2 *", "* * * * * * 2027", "every day", &long];
    let errors = wrong.map(|text| Cron::parse(text, &TimeZone::UTC).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"));
}
