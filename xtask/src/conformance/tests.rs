//! Tests of the verdict on a run of the suite.

use std::collections::BTreeSet;

use super::expected::Expected;
use super::suite::{failed_checks, listed_scenarios};
use super::{Side, judge, replicas};

fn set(checks: &[&str]) -> BTreeSet<String> {
    checks.iter().map(|check| (*check).to_owned()).collect()
}

#[test]
fn an_unexpected_failure_and_an_unexpected_pass_are_both_wrong() {
    for (failed, expected, complaint) in [
        (&[][..], &[][..], None),
        (&["a"], &["a"], None),
        (&["a"], &[], Some("fails a")),
        (&["a", "b"], &["a"], Some("fails b")),
        (&[], &["a"], Some("was expected to fail a, and does not")),
        (&["b"], &["a"], Some("fails b")),
        (&["a"], &["a", "b"], Some("was expected to fail b, and does not")),
    ] {
        let (failed, expected) = (set(failed), set(expected));
        let known = (!expected.is_empty()).then_some((&expected, "the reason"));
        let (said, wrong) = judge(&failed, known);
        assert_eq!(wrong.as_deref(), complaint);
        assert_eq!(said.contains("the reason"), complaint.is_none() && !expected.is_empty(), "{said}");
    }
}

#[test]
fn every_expected_failure_has_its_checks_and_its_reason() {
    let read = |text: &str| Expected::parse(text);
    let good = read("['2026-07-28'.'auth/x']\nchecks = ['a', 'b']\nreason = 'no such thing'\n").unwrap();
    let failure = good.of(Side::Client, "2026-07-28", "auth/x").unwrap();
    assert_eq!((&failure.checks, failure.reason.as_str()), (&set(&["a", "b"]), "no such thing"));
    assert_eq!(good.of(Side::Client, "2025-11-25", "auth/x"), None);
    assert_eq!(good.of(Side::Server, "2026-07-28", "auth/x"), None);
    assert_eq!(good.scenarios(Side::Client, "2026-07-28").collect::<Vec<_>>(), ["auth/x"]);
    let served = read("[server.'2025-11-25'.ping]\nchecks = ['a']\nreason = 'no such thing'\n").unwrap();
    assert_eq!(served.scenarios(Side::Server, "2025-11-25").collect::<Vec<_>>(), ["ping"]);
    assert_eq!(served.of(Side::Client, "2025-11-25", "ping"), None);
    for bad in [
        "[2025-11-25.s]\nchecks = ['a']\n",
        "[2025-11-25.s]\nchecks = ['a']\nreason = ' '\n",
        "[2025-11-25.s]\nchecks = []\nreason = 'x'\n",
        "[2025-11-25.s]\nreason = 'x'\n",
        "[2025-11-25.s]\nchecks = ['a']\nreason = 'x'\nwhy = 'y'\n",
        "2025-11-25 = 1\n",
        "[server.2024-11-05.s]\nchecks = ['a']\nreason = 'x'\n",
        "[2024-11-05.s]\nchecks = ['a']\nreason = 'x'\n",
        "[2025-11-25\n",
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_scenarios_for_clients_are_told_from_those_for_servers() {
    let list = "\
Required for 2026-07-28 (3 scenarios, frozen; run at the 2026-07-28 wire):

Server scenarios (test against a server):
  - caching

Client scenarios (test against a client):
  - tools_call
  - auth/metadata-default

Run and reported, but never scored:
  extension (2):
    - auth/dpop [client]
    - tasks-lifecycle [server]
";
    let clients = listed_scenarios(list, Side::Client);
    assert_eq!(clients, ["tools_call", "auth/metadata-default", "auth/dpop"]);
    assert_eq!(listed_scenarios(list, Side::Server), ["caching", "tasks-lifecycle"]);
}

#[test]
fn failures_and_warnings_count_and_each_check_once() {
    let checks = r#"[
        {"id": "a", "status": "SUCCESS"}, {"id": "b", "status": "FAILURE"}, {"id": "b", "status": "FAILURE"},
        {"id": "c", "status": "WARNING"}, {"id": "d", "status": "SKIPPED"}, {"id": "e", "status": "INFO"}
    ]"#;
    assert_eq!(failed_checks(checks).unwrap(), set(&["b", "c"]));
    let told = format!("Running client scenario 'x' against server: http://[::1]:80/mcp\n{checks}\nDone\n");
    assert_eq!(failed_checks(&told).unwrap(), set(&["b", "c"]));
    assert!(failed_checks("Client test error").is_err());
}

#[test]
fn the_number_of_replicas_is_told_from_revisions_and_names() {
    let read = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        replicas(&words).ok().map(|(count, others)| (count, others.join(" ")))
    };
    for (line, expected) in [
        ("", Some((None, ""))),
        ("2026-07-28 tools", Some((None, "2026-07-28 tools"))),
        ("--replicas 3", Some((Some(3), ""))),
        ("2026-07-28 --replicas 3 tools", Some((Some(3), "2026-07-28 tools"))),
        ("--replicas", None),
        ("--replicas 0", None),
        ("--replicas tools", None),
    ] {
        assert_eq!(read(line), expected.map(|(count, others)| (count, others.to_owned())), "{line}");
    }
}
