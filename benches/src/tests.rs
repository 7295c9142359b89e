//! Tests of the shared code.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::report::{Figure, Row};
use crate::timings::Timings;
use crate::{catalogue, memory, processor};

#[test]
fn percentiles_are_exact_to_a_hundredth() {
    for unit in [1, 137, 1_000, 1_000_000, 7_000_000_000] {
        let timings: Timings = (1..=10_000).map(|n| Duration::from_nanos(n * unit)).collect();
        for (percent, exact) in [(0.01, 1), (50.0, 5_000), (99.0, 9_900), (100.0, 10_000)] {
            let (found, exact) = (timings.percentile(percent), Duration::from_nanos(exact * unit));
            assert!(
                found.abs_diff(exact) < exact / 100 + Duration::from_nanos(1),
                "{percent}: {found:?} {exact:?}"
            );
        }
        assert_eq!(timings.longest(), Duration::from_nanos(10_000 * unit));
    }
}

#[test]
fn merged_timings_are_those_of_both() {
    let mut one: Timings = [Duration::from_micros(1); 3].into_iter().collect();
    one.merge(&[Duration::from_micros(9)].into_iter().collect());
    assert_eq!((one.len(), one.longest()), (4, Duration::from_micros(9)));
    assert!(one.median() < Duration::from_micros(2) && one.percentile(99.0) > Duration::from_micros(8));
}

#[test]
fn a_row_says_whether_the_figure_is_over_its_bound() {
    let time = |micros| Figure::Time(Duration::from_micros(micros));
    let rows = [
        Row::new("resolve", time(3)).at_most(time(4)),
        Row::new("resolve", time(3)).at_most(time(2)),
        Row::new("check", time(3)).at_most_times(2.0, time(2)),
        Row::new("load", time(3)).beside(time(2)),
        Row::new("both", time(1)).at_most(time(2)).and(Row::new("", time(3)).at_most(time(2))),
        Row::new("told only", Figure::Bytes(3 << 20)),
        Row::new("ranking", Figure::Percent(75.0)).at_least(Figure::Percent(75.0)),
        Row::new("ranking", Figure::Percent(70.0)).at_least(Figure::Percent(80.0)),
    ];
    let told: Vec<_> = rows.map(|row| row.to_string()).into_iter().collect();
    let squeezed: Vec<_> =
        told.iter().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        squeezed,
        [
            "resolve 3.00 µs bound 4.00 µs ratio 0.75 ok",
            "resolve 3.00 µs bound 2.00 µs ratio 1.50 over",
            "check 3.00 µs bound 2 × 2.00 µs ratio 1.50 ok",
            "load 3.00 µs beside 2.00 µs ratio 1.50",
            "both 1.00 µs bound 2.00 µs ratio 0.50 ok 3.00 µs bound 2.00 µs ratio 1.50 over",
            "told only 3.0 MiB",
            "ranking 75.0 % bound 75.0 % ratio 1.00 ok",
            "ranking 70.0 % bound 80.0 % ratio 0.88 short",
        ]
    );
}

#[test]
fn the_tools_are_the_same_each_time_and_have_a_name_each() {
    let tools = catalogue::tools(2_000);
    assert_eq!(tools, catalogue::tools(2_000));
    let names: BTreeSet<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), tools.len());
    let counts: BTreeSet<_> =
        tools.iter().map(|tool| tool["parameters"]["properties"].as_object().unwrap().len()).collect();
    assert!((3..=10).all(|count| counts.contains(&count)), "{counts:?}");
}

#[test]
fn a_large_allocation_is_seen_in_the_peak() {
    // Without the kernel's files there is no answer, and no bench requires one.
    let (_, Some(peak)) = memory::peak_of(|| vec![1_u8; 64 << 20].len()) else { return };
    assert!((60 << 20..80 << 20).contains(&peak), "{peak} bytes");
}

#[test]
fn processor_time_is_what_work_takes() {
    let spin = || while processor::time().is_some_and(|time| time < std::time::Duration::from_millis(80)) {};
    let (before, ((), taken)) = (processor::time(), processor::time_of(spin));
    assert_eq!(before.is_some(), taken.is_some());
    assert!(processor::time() >= before);
}
