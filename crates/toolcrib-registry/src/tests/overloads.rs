//! Which of several tools of one name a call means.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_schema::repair::Change;

use super::{all, snapshot, tool, with_properties};

#[test]
fn an_overload_is_chosen_by_schema_then_by_names_then_by_order() {
    let snapshot = snapshot(vec![
        with_properties("a", "get", &json!({"id": {"type": "integer"}})),
        with_properties("a", "get", &json!({"id": {"type": "string"}, "version": {"type": "integer"}})),
        with_properties("a", "get", &json!({"name": {"type": "string"}})),
    ]);
    let overloads = snapshot.find("a.get", all).unwrap();
    let chosen = |arguments: Value| {
        let entry = overloads.choose(arguments.as_object().unwrap()).unwrap();
        overloads.iter().position(|other| Arc::ptr_eq(other, entry)).unwrap()
    };
    assert_eq!(chosen(json!({"id": 1})), 0);
    assert_eq!(chosen(json!({"id": "x", "version": 1})), 1);
    assert_eq!(chosen(json!({"name": "x"})), 2);
    assert_eq!(chosen(json!({"version": "wrong", "id": 1.5})), 1, "no schema fits: the most names in common");
    assert_eq!(chosen(json!({})), 0, "nothing tells them apart: the first");
}

#[test]
fn arguments_that_fit_one_overload_are_never_bent_towards_another() {
    let of = |properties| tool("a", "get").with_parameters(json!({"properties": properties}));
    let snapshot = snapshot(vec![
        of(json!({"id": {"type": "integer"}, "depth": {"type": "integer", "default": 3}})),
        of(json!({"id": {"type": "string"}, "note": {"type": "string"}})),
        of(json!({"day": {"enum": ["Mon"]}, "count": {"type": "integer"}})),
    ]);
    let overloads = snapshot.find("a.get", all).unwrap();
    let table = [
        ("as it is", json!({"id": "7"}), 1, json!({"id": "7"}), vec![]),
        (
            "defaults are filled in",
            json!({"id": 7}),
            0,
            json!({"id": 7, "depth": 3}),
            vec![Change::DefaultFilled],
        ),
        (
            "one accepts but for a name that it does not know",
            json!({"id": "7", "depth": "1"}),
            0,
            json!({"id": 7, "depth": 1}),
            vec![Change::StringToInteger; 2],
        ),
        (
            "the most names in common",
            json!({"day": "mon", "count": 1}),
            2,
            json!({"day": "Mon", "count": 1}),
            vec![Change::EnumCase],
        ),
        (
            "the likeliest cannot be repaired, the next can",
            json!({"id": [true], "note": 1}),
            1,
            json!({"id": "[true]", "note": "1"}),
            vec![Change::WrittenAsJson, Change::NumberToString],
        ),
    ];
    for (what, given, position, arguments, changes) in table {
        let (entry, repaired) = overloads.repair(given.as_object().unwrap().clone()).unwrap();
        assert_eq!(overloads.iter().position(|other| Arc::ptr_eq(other, entry)), Some(position), "{what}");
        assert_eq!(Value::from(repaired.arguments), arguments, "{what}");
        let made: Vec<_> = repaired.repairs.iter().map(|repair| repair.change).collect();
        assert_eq!(made, changes, "{what}");
    }
}

#[test]
fn arguments_that_fit_no_overload_are_measured_against_the_likeliest() {
    let snapshot = snapshot(vec![
        with_properties("a", "get", &json!({"id": {"type": "integer"}})),
        with_properties("a", "get", &json!({"name": {"type": "string"}, "at": {"type": "integer"}})),
    ]);
    let overloads = snapshot.find("a.get", all).unwrap();
    let given = json!({"name": "x", "at": "noon"});
    let error = overloads.repair(given.as_object().unwrap().clone()).unwrap_err().unwrap();
    assert_eq!(error.nearest.tool.parameter_names().collect::<Vec<_>>(), ["name", "at"]);
    assert_eq!((error.overloads, error.violations.iter().count()), (2, 1));
}
