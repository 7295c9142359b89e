//! Tests of the table of wire names.

use std::collections::HashSet;

use proptest::prelude::*;
use toolcrib_model::{QualifiedName, Tool};

use super::{RUNTIME, runtime_tools, taking, tool};
use crate::WireNames;
use crate::wire_names::MAX_WIRE_NAME_CHARS;

fn wire_name(tools: &[Tool], namespace: &str, name: &str) -> String {
    let names = WireNames::new(tools, RUNTIME, &[]);
    names.wire_name(&QualifiedName::new(namespace, name).unwrap()).unwrap().to_owned()
}

fn is_accepted(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[test]
fn a_dot_becomes_two_underscores_and_is_looked_up_on_the_way_back() {
    let tools = [tool("filesystem", "read")];
    let names = WireNames::new(&tools, RUNTIME, &[]);
    assert_eq!(names.wire_name(&tools[0].name), Some("filesystem__read"));
    assert_eq!(names.resolve("filesystem__read").unwrap().name, tools[0].name);
    assert_eq!(names.resolve("filesystem__read").unwrap().fingerprint, None);
    assert_eq!(names.resolve("filesystem__write"), None);
}

#[test]
fn tools_of_the_runtime_have_their_bare_names() {
    assert_eq!(wire_name(&runtime_tools(), RUNTIME, "search_tools"), "search_tools");
}

#[test]
fn a_reserved_name_goes_to_no_other_tool() {
    let tools = [tool("a", "b")];
    let names = WireNames::new(&tools, RUNTIME, &["a__b"]);
    let hashed = names.wire_name(&tools[0].name).unwrap();
    assert!(hashed.starts_with("a__b__"), "{hashed}");
    assert_eq!(names.resolve("a__b"), None);
}

#[test]
fn short_names_are_bare_where_they_are_nobody_elses() {
    let tools = [
        tool("files", "read"),
        tool("git", "status"),
        tool("hub", "status"),
        tool("hub", "search_tools"),
        tool("hub", "café"),
        tool(RUNTIME, "search_tools"),
    ];
    let names = WireNames::short(&tools, RUNTIME, &["search_tools"]);
    let short: Vec<_> = tools.iter().map(|tool| names.wire_name(&tool.name).unwrap()).collect();
    assert_eq!(short[..4], ["read", "git__status", "hub__status", "hub__search_tools"]);
    assert!(short[4].starts_with("hub__caf"), "{short:?}");
    assert_eq!(short[5], "search_tools");
    for tool in &tools {
        assert_eq!(names.resolve(names.wire_name(&tool.name).unwrap()).unwrap().name, tool.name);
    }
}

#[test]
fn with_short_names_no_tool_passes_for_one_of_another_namespace() {
    let tools = [tool("shady", "files__read"), tool("files", "read"), tool("other", "read")];
    let names = WireNames::short(&tools, RUNTIME, &[]);
    assert_eq!(names.wire_name(&tools[0].name), Some("shady__files__read"));
    assert_eq!(names.resolve("files__read").unwrap().name, tools[1].name);
}

#[test]
fn the_bare_name_of_a_runtime_tool_goes_to_no_other_tool() {
    let tools = [tool("run", "it"), tool(RUNTIME, "run__it")];
    assert_eq!(wire_name(&tools, RUNTIME, "run__it"), "run__it");
    assert_ne!(wire_name(&tools, "run", "it"), "run__it");
}

#[test]
fn of_two_tools_that_want_one_name_neither_gets_it() {
    let tools = [tool("a", "b__c"), tool("a__b", "c")];
    let names = [wire_name(&tools, "a", "b__c"), wire_name(&tools, "a__b", "c")];
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.starts_with("a__b__c__") && name.len() == 17), "{names:?}");
}

#[test]
fn a_tool_named_like_the_hashed_name_of_another_changes_no_meaning() {
    let hashed = wire_name(&[tool("x", "café")], "x", "café");
    let squatter = hashed.strip_prefix("x__").unwrap().to_owned();
    let tools = [tool("x", "café"), tool("x", &squatter)];
    assert_eq!(wire_name(&tools, "x", &squatter), hashed);
    let moved = wire_name(&tools, "x", "café");
    assert_ne!(moved, hashed);
    assert!(moved.starts_with("x__caf___"), "{moved}");
}

#[test]
fn other_characters_become_underscores_with_a_hash() {
    insta::assert_snapshot!(
        [("github", "repos/get"), ("天气", "预报"), ("files", "read.text"), ("météo", "vent du nord")]
            .map(|(namespace, name)| wire_name(&[tool(namespace, name)], namespace, name))
            .join("\n")
    );
}

#[test]
fn a_long_name_keeps_what_a_reader_knows_it_by() {
    let (namespace, name) =
        ("a_server_with_a_very_long_name_that_says_nothing", "create_or_update_repository_file");
    let shortened = wire_name(&[tool(namespace, name)], namespace, name);
    assert_eq!(shortened.len(), MAX_WIRE_NAME_CHARS);
    assert!(shortened.starts_with("a_server_with_a_very"), "{shortened}");
    assert!(shortened.contains("__create_or_update_repository_file__"), "{shortened}");
}

#[test]
fn a_name_of_exactly_the_limit_is_left_alone_and_one_more_is_shortened() {
    let fits = "n".repeat(MAX_WIRE_NAME_CHARS - 3);
    assert_eq!(wire_name(&[tool("a", &fits)], "a", &fits), format!("a__{fits}"));
    let over = "n".repeat(MAX_WIRE_NAME_CHARS - 2);
    let shortened = wire_name(&[tool("a", &over)], "a", &over);
    assert!(shortened.len() == MAX_WIRE_NAME_CHARS && shortened.contains("n__"), "{shortened}");
}

#[test]
fn overloads_are_told_apart_and_the_first_keeps_the_plain_name() {
    let tools = [taking("a", "get", "id"), taking("a", "get", "name"), taking("a", "get", "url")];
    let names = WireNames::new(&tools, RUNTIME, &[]);
    assert_eq!(names.wire_name_of(&tools[0]), Some("a__get"));
    assert_eq!(
        names.resolve("a__get").unwrap().fingerprint,
        None,
        "its arguments may choose another overload"
    );
    for overload in &tools[1..] {
        let expected = format!("a__get__{}", &overload.fingerprint().to_string()[..6]);
        assert_eq!(names.wire_name_of(overload), Some(expected.as_str()));
        let target = names.resolve(&expected).unwrap();
        assert_eq!((&target.name, target.fingerprint), (&overload.name, Some(overload.fingerprint())));
    }
    assert_eq!(names.wire_name_of(&taking("a", "get", "unknown")), None);
}

#[test]
fn the_same_tool_twice_has_one_name() {
    let tools = [taking("a", "get", "id"), taking("a", "get", "id")];
    assert_eq!(WireNames::new(&tools, RUNTIME, &[]).iter().count(), 1);
}

/// Tools whose names are alike, long, foreign and overloaded as often as can be.
fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let part = || {
        prop_oneof![
            "[ab_]{1,4}",
            "[a-c]{1,2}__[a-c]{1,2}",
            "[a-zé天. /-]{1,6}x",
            "[ab]{60,64}",
            Just(RUNTIME.to_owned()),
            Just("search_tools".to_owned()),
        ]
    };
    let tool = (part(), part(), prop_oneof!["x", "y", "z"])
        .prop_map(|(namespace, name, argument)| taking(&namespace, &name, &argument));
    prop::collection::vec(tool, 0..40)
}

proptest! {
    #[test]
    fn the_table_is_a_bijection_of_acceptable_names_whatever_the_order(
        (tools, shuffled) in tools().prop_flat_map(|tools| (Just(tools.clone()), Just(tools).prop_shuffle())),
    ) {
        let reserved = ["search_tools", "a__b"];
        let names = WireNames::new(&tools, RUNTIME, &reserved);
        let distinct: HashSet<_> = tools.iter().map(|tool| (tool.name.clone(), tool.fingerprint())).collect();
        prop_assert_eq!(names.iter().count(), distinct.len());
        for tool in &tools {
            let wire_name = names.wire_name_of(tool).unwrap();
            prop_assert!(is_accepted(wire_name), "{}", wire_name);
            let target = names.resolve(wire_name).unwrap();
            prop_assert_eq!(&target.name, &tool.name);
            prop_assert!(target.fingerprint.is_none_or(|fingerprint| fingerprint == tool.fingerprint()));
            prop_assert_eq!(names.wire_name(&tool.name).is_some(), true);
            prop_assert!(tool.name.namespace() == RUNTIME || !reserved.contains(&wire_name));
        }
        // Which overload is first is a matter of order; nothing else is.
        let mut reordered: Vec<Tool> = shuffled;
        reordered.sort_by_key(|tool| tools.iter().position(|other| other == tool).filter(|_| {
            tools.iter().any(|other| other.name == tool.name && other.fingerprint() != tool.fingerprint())
        }));
        let again = WireNames::new(&reordered, RUNTIME, &reserved);
        for tool in &tools {
            prop_assert_eq!(names.wire_name_of(tool), again.wire_name_of(tool));
        }
    }
}
