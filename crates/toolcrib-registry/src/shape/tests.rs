//! Views of tools, and shapes that do not fit.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_model::tool::view::CallerAttribute;
use toolcrib_model::{JsonObject, QualifiedName, Risk, Tool};
use toolcrib_port::LoadOutcome;
use toolcrib_schema::CompiledSchema;

use super::{ShapeSettings, Shapes, fits_glob};
use crate::build::{LoadedSource, build};
use crate::{Entry, Snapshot};

fn tool(name: &str, parameters: Value) -> Tool {
    let (namespace, name) = name.split_once('.').unwrap();
    Tool::new(QualifiedName::new(namespace, name).unwrap()).with_parameters(parameters).with_risk(Risk::Low)
}

fn search() -> Tool {
    tool(
        "github.search",
        json!({
            "type": "object",
            "properties": {
                "q": {"type": "string"},
                "owner": {"type": "string"},
                "perPage": {"type": "integer", "maximum": 100},
                "order": {"enum": ["asc", "desc"]},
            },
            "required": ["q", "owner"],
        }),
    )
}

fn shapes(settings: Value) -> Result<Shapes, String> {
    let settings: Vec<ShapeSettings> = serde_json::from_value(settings).unwrap();
    Shapes::new("shapes", &settings).map_err(|errors| {
        let lines: Vec<_> = errors.iter().map(|error| format!("{}: {error}", error.pointer)).collect();
        lines.join("\n")
    })
}

fn snapshot(tools: Vec<Tool>, settings: Value) -> Snapshot {
    let outcome = LoadOutcome { tools, rejected: Vec::new() };
    build(&Snapshot::default(), &mut [LoadedSource::new("test", None, outcome)], &shapes(settings).unwrap())
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.tool_names().map(QualifiedName::dotted).collect()
}

fn only(snapshot: &Snapshot) -> Arc<Entry> {
    assert_eq!(snapshot.rejected(), []);
    let [entry] = snapshot.all() else { panic!("expected one tool, found {:?}", names(snapshot)) };
    Arc::clone(entry)
}

fn mapped(entry: &Entry, arguments: &Value) -> Value {
    let original = &entry.tool.view().unwrap().originals[0];
    let user = |wanted: &CallerAttribute| (*wanted == CallerAttribute::User).then(|| "ada".to_owned());
    original.arguments(arguments.as_object().unwrap(), user).unwrap().into()
}

/// The reason why a shape of the tool above is left out.
fn refused(settings: &Value) -> String {
    let snapshot = snapshot(vec![search()], json!([settings.clone()]));
    assert_eq!(names(&snapshot), [""; 0], "the original is not exposed");
    snapshot.rejected()[0].reason.clone()
}

#[test]
fn a_view_has_its_own_name_parameters_and_description_and_maps_to_the_original() {
    let snapshot = snapshot(
        vec![search()],
        json!([{
            "tool": "github.search", "name": "code.find", "description": "Finds code.", "risk": "medium",
            "parameters": {
                "q": {"name": "query", "maxLength": 80},
                "owner": {"from": "user"},
                "perPage": {"default": 20, "maximum": 50},
                "order": {"enum": ["asc"]},
            },
        }]),
    );
    let entry = only(&snapshot);
    assert_eq!(entry.tool.name.dotted(), "code.find");
    assert_eq!(entry.tool.description, "Finds code.");
    assert_eq!(entry.tool.traits().risk, Risk::Medium);
    let expected = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "maxLength": 80},
            "perPage": {"type": "integer", "maximum": 50, "default": 20},
            "order": {"enum": ["asc"]},
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    assert_eq!(*entry.tool.parameters.to_value(), expected);
    let sent = json!({"q": "x", "owner": "ada", "perPage": 20});
    assert_eq!(mapped(&entry, &json!({"query": "x"})), sent);
    assert_eq!(mapped(&entry, &json!({"query": "x", "owner": "eve", "q": "y"})), sent);
    assert_eq!(names(snapshot.unshaped()), ["github.search"]);
}

#[test]
fn a_split_makes_one_tool_for_each_value() {
    let write = json!({
        "type": "object",
        "properties": {"method": {"enum": ["create", "update"]}, "title": {"type": "string"}},
        "required": ["method"],
    });
    let snapshot = snapshot(
        vec![tool("github.issue_write", write)],
        json!([{
            "tool": "github.issue_write",
            "split": {"by": "method", "into": [
                {"value": "create", "name": "create_issue", "description": "Creates an issue."},
                {"value": "update", "name": "update_issue"},
            ]},
        }]),
    );
    assert_eq!(snapshot.rejected(), []);
    assert_eq!(names(&snapshot), ["github.create_issue", "github.update_issue"]);
    let create = snapshot
        .resolve(&toolcrib_model::ToolCall::new("create_issue", JsonObject::new()), |_| true)
        .unwrap();
    assert_eq!(mapped(create, &json!({"title": "x"})), json!({"title": "x", "method": "create"}));
}

#[test]
fn fallbacks_are_behind_the_name_and_gone_under_their_own() {
    let other = tool("google.search", json!({"type": "object", "properties": {"text": {"type": "string"}}}));
    let other = other.with_metadata("side_effects", json!(["bill"]));
    let snapshot = snapshot(
        vec![search(), other],
        json!([{
            "tool": "github.search", "name": "web.search",
            "parameters": {"owner": {"hidden": true, "value": "acme"}},
            "fallbacks": [{"tool": "google.search", "parameters": {"text": {"name": "q"}}}],
        }]),
    );
    let entry = only(&snapshot);
    let originals: Vec<_> = entry.originals.iter().map(|original| original.tool.name.dotted()).collect();
    assert_eq!(originals, ["github.search", "google.search"]);
    assert_eq!(entry.tool.traits().side_effects, ["bill"], "the view has the effects of each original");
}

#[test]
fn entries_with_globs_apply_in_order_below_those_with_names() {
    let snapshot = snapshot(
        vec![search()],
        json!([
            {"tool": "github.*", "risk": "medium", "parameters": {"perPage": {"maximum": 50}}},
            {"tool": "git*.search", "parameters": {"perPage": {"maximum": 30}}},
            {"tool": "github.search", "name": "find", "parameters": {"perPage": {"default": 10}}},
        ]),
    );
    let entry = only(&snapshot);
    assert_eq!(entry.tool.name.dotted(), "github.find");
    assert_eq!(entry.tool.traits().risk, Risk::Medium);
    assert_eq!(
        entry.tool.parameters["properties"]["perPage"],
        json!({"type": "integer", "maximum": 30, "default": 10})
    );
}

#[test]
fn a_shape_that_does_not_fit_hides_the_tool_and_says_why() {
    let cases = [
        json!({"tool": "github.search", "parameters": {"ownr": {"value": "acme"}}}),
        json!({"tool": "github.search", "parameters": {"owner": {"hidden": true}}}),
        json!({"tool": "github.search", "parameters": {"owner": {"value": 5}}}),
        json!({"tool": "github.search", "parameters": {"perPage": {"maximum": 200}}}),
        json!({"tool": "github.search", "parameters": {"perPage": {"minimum": 101}}}),
        json!({"tool": "github.search", "parameters": {"perPage": {"default": 60, "maximum": 50}}}),
        json!({"tool": "github.search", "parameters": {"order": {"enum": ["up"]}}}),
        json!({"tool": "github.search", "parameters": {"q": {"maximum": 5}}}),
        json!({"tool": "github.search", "parameters": {"q": {"name": "owner"}}}),
    ];
    let reasons: Vec<_> = cases.iter().map(refused).collect();
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    shapes[0], so the tool is left out: `github.search` has no parameter `ownr`, did you mean `owner`?
    shapes[0], so the tool is left out: `owner` is required, and hidden without a value; add `value` or `from`
    shapes[0], so the tool is left out: the tool does not accept 5 as `owner`
    shapes[0], so the tool is left out: `maximum: 200` of `perPage` is wider than that of the tool, 100
    shapes[0], so the tool is left out: no value of `perPage` has a `maximum` of 100 and a `minimum` of 101
    shapes[0], so the tool is left out: the default 60 of `perPage` lies outside of its bounds
    shapes[0], so the tool is left out: `enum` of `order` has "up", which the tool does not accept
    shapes[0], so the tool is left out: `maximum` bounds a number, and `q` is a string
    shapes[0], so the tool is left out: two parameters have the name `owner`
    "#);
}

#[test]
fn a_shape_lowers_no_risk() {
    let snapshot =
        snapshot(vec![search().with_risk(Risk::High)], json!([{"tool": "github.search", "risk": "low"}]));
    assert_eq!(names(&snapshot), [""; 0]);
    assert!(snapshot.rejected()[0].reason.contains("a shape can only raise it"), "{:?}", snapshot.rejected());
}

#[test]
fn parameters_that_others_depend_on_keep_their_names() {
    let either = json!({
        "type": "object",
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
        "oneOf": [{"required": ["id"]}, {"required": ["name"]}],
    });
    let snapshot = snapshot(
        vec![tool("shop.find", either)],
        json!([{"tool": "shop.find", "parameters": {"id": {"default": "1"}}}]),
    );
    assert_eq!(names(&snapshot), [""; 0]);
    assert!(
        snapshot.rejected()[0].reason.contains("`oneOf` relates the arguments"),
        "{:?}",
        snapshot.rejected()
    );
}

#[test]
fn two_tools_never_share_a_name() {
    let other = tool("github.find", json!({"type": "object", "properties": {}}));
    let snapshot = snapshot(vec![search(), other], json!([{"tool": "github.search", "name": "find"}]));
    assert_eq!(names(&snapshot), ["github.find"]);
    assert!(snapshot.all()[0].tool.view().is_none(), "the tool that has the name keeps it");
    assert!(snapshot.rejected()[0].reason.contains("is that of another tool"), "{:?}", snapshot.rejected());
}

#[test]
fn a_shape_of_no_tool_is_reported_with_the_nearest_name() {
    let snapshot = snapshot(vec![search()], json!([{"tool": "github.serach", "name": "find"}]));
    assert_eq!(names(&snapshot), ["github.search"]);
    assert_eq!(
        snapshot.rejected()[0].to_string(),
        "shapes[0]: github.serach: there is no such tool to shape, did you mean `github.search`?"
    );
}

#[test]
fn mistakes_that_need_no_tool_are_found_without_one() {
    let wrong = shapes(json!([
        {"tool": "github.search", "name": "find"},
        {"tool": "github.list", "name": "find"},
    ]));
    assert_eq!(wrong.unwrap_err(), "/1: `shapes[0]` gives the name `github.find` already");
    let wrong = shapes(json!([
        {},
        {"tool": "search"},
        {"tool": "github.*", "name": "find"},
        {"tool": "context_builder.execute_tool", "name": "find"},
        {"tool": "github.search", "name": "scheduler.find"},
        {"tool": "github.search", "parameters": {"q": {"value": 1, "default": 2}}},
        {"tool": "github.search", "parameters": {"q": {"from": "tenant"}}},
        {"tool": "github.search", "parameters": {"q": {"hidden": true, "maximum": 2}}},
        {"tool": "github.search", "split": {"by": "q", "into": []}},
        {"tool": "github.search", "name": "x", "split": {"by": "q", "into": [{"value": 1, "name": "y"}]}},
    ]));
    insta::assert_snapshot!(wrong.unwrap_err(), @"
    /0: the shape needs a `tool`: a name such as `github.search`, or a glob
    /1/tool: expected the name of a tool as `namespace.name`, found `search`
    /2/tool: `github.*` is a glob; `name`, `split`, and `fallbacks` need the name of one tool
    /3/tool: `context_builder` is a namespace of the runtime, whose tools have one shape
    /4/name: `scheduler` is a namespace of the runtime alone
    /5/parameters/q: `value` and `default` exclude each other
    /6/parameters/q: expected `user`, `session`, `agent`, or `scope.KEY`, found `tenant`
    /7/parameters/q: callers do not see `q`, so it takes no name, description, or bound
    /8/split/into: there is no tool in it
    /9/split: `split` names the tools itself, and takes neither `name` nor `fallbacks`
    ");
}

#[test]
fn an_unchanged_view_keeps_its_entry_in_the_next_snapshot() {
    let settings = json!([{"tool": "github.search", "name": "find"}]);
    let shapes = shapes(settings).unwrap();
    let load =
        || LoadedSource::new("test", None, LoadOutcome { tools: vec![search()], rejected: Vec::new() });
    let mut sources = [load()];
    let first = build(&Snapshot::default(), &mut sources, &shapes);
    let second = build(&first, &mut sources, &shapes);
    assert!(Arc::ptr_eq(&first.all()[0], &second.all()[0]));
    assert_eq!(second.generation(), 2);
}

#[test]
fn a_star_matches_any_text() {
    for (pattern, name, expected) in [
        ("github.search", "github.search", true),
        ("github.*", "github.search", true),
        ("*.search", "github.search", true),
        ("g*b.s*h", "github.search", true),
        ("*", "github.search", true),
        ("github.s*s", "github.search", false),
        ("a*a", "a", false),
        ("github.", "github.search", false),
    ] {
        assert_eq!(fits_glob(pattern, name), expected, "{pattern} {name}");
    }
}

/// A parameter: its schema, values that it accepts, and a narrower schema as a shape.
fn parameter() -> impl Strategy<Value = (Value, Vec<Value>, Value)> {
    prop_oneof![
        Just((json!({"type": "string"}), vec![json!("a"), json!("long text")], json!({"maxLength": 4}))),
        Just((
            json!({"type": "string", "pattern": "^a"}),
            vec![json!("a"), json!("ab")],
            json!({"pattern": "b$"})
        )),
        Just((json!({"enum": [1, 2, 3]}), vec![json!(1), json!(3)], json!({"enum": [1, 2]}))),
        Just((
            json!({"type": "integer", "minimum": 0, "maximum": 9}),
            vec![json!(0), json!(9)],
            json!({"maximum": 5})
        )),
        Just((
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            vec![json!(4), json!(null)],
            json!({"maximum": 3})
        )),
        Just((
            json!({"type": "array", "items": {"type": "string"}}),
            vec![json!([]), json!(["x", "y"])],
            json!({"maxItems": 1})
        )),
    ]
}

fn change() -> impl Strategy<Value = u8> {
    0..7_u8
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever the view accepts, the original accepts once it is mapped.
    #[test]
    fn a_valid_call_of_a_view_is_a_valid_call_of_the_original(
        parameters in prop::collection::vec((parameter(), change(), any::<bool>()), 1..5),
        additional in prop::option::of(any::<bool>()),
        picks in prop::collection::vec((0..3_usize, any::<bool>()), 8),
    ) {
        let (mut properties, mut required, mut shape) = (JsonObject::new(), Vec::new(), JsonObject::new());
        let mut values: Vec<(String, Vec<Value>)> = Vec::new();
        for (number, ((schema, accepted, narrower), change, is_required)) in parameters.iter().enumerate() {
            let name = format!("p{number}");
            properties.insert(name.clone(), schema.clone());
            if *is_required {
                required.push(json!(name));
            }
            let (shown, change) = match change {
                0 => (name.clone(), Value::Null),
                1 => (format!("n{number}"), json!({"name": format!("n{number}")})),
                2 => (name.clone(), json!({"value": accepted[0]})),
                3 if accepted[0] != Value::Null => (name.clone(), json!({"default": accepted[0]})),
                4 => (name.clone(), narrower.clone()),
                5 if !is_required => (name.clone(), json!({"hidden": true})),
                _ => (format!("n{number}"), {
                    let mut both = narrower.clone();
                    both["name"] = json!(format!("n{number}"));
                    both
                }),
            };
            if !change.is_null() {
                shape.insert(name.clone(), change);
            }
            values.push((shown, accepted.clone()));
            values.push((name, accepted.clone()));
        }
        let mut original = json!({"type": "object", "properties": properties, "required": required});
        if let Some(additional) = additional {
            original["additionalProperties"] = json!(additional);
        }
        let check = CompiledSchema::compile(&original).unwrap();
        let snapshot = snapshot(
            vec![tool("test.tool", original)],
            json!([{"tool": "test.tool", "name": "view", "parameters": shape}]),
        );
        let entry = only(&snapshot);
        let mut arguments = JsonObject::new();
        for ((name, accepted), (pick, is_given)) in values.iter().zip(&picks) {
            if *is_given {
                let junk = json!("not accepted by most");
                arguments.insert(name.clone(), accepted.get(*pick).unwrap_or(&junk).clone());
            }
        }
        let arguments = Value::Object(arguments);
        if entry.schema.validate(&arguments).is_ok() {
            let mapped = mapped(&entry, &arguments);
            prop_assert!(check.validate(&mapped).is_ok(), "{arguments} became {mapped}");
        }
    }
}
