//! Signatures in lists of tools.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_policy::{Policy, Principal};
use toolcrib_registry::ToolRegistry;

use crate::Discovery;
use crate::search::for_model::ModelSearch;

/// A discovery over these tools, where nothing is asked about unless `rules` say so.
pub(super) fn discovery(rules: Value, tools: Vec<Tool>) -> (Arc<ToolRegistry>, Discovery) {
    let policy = Arc::new(Policy::new(&serde_json::from_value(rules).unwrap(), []).unwrap());
    let registry = Arc::new(ToolRegistry::from_tools("test", tools).unwrap());
    let discovery = Discovery::new(&registry, policy);
    (registry, discovery)
}

pub(super) fn tool(name: &str, description: &str, parameters: Value) -> Tool {
    let (namespace, name) = name.split_once('.').unwrap();
    let tool = Tool::new(QualifiedName::new(namespace, name).unwrap());
    tool.with_description(description).with_parameters(parameters)
}

fn found(tools: Vec<Tool>, query: &str, limit: usize) -> Vec<String> {
    let (_registry, discovery) = discovery(json!({"default_policy": "grant"}), tools);
    let search = ModelSearch { queries: vec![query.to_owned()], limit, ..ModelSearch::default() };
    let told = discovery.search_for_model(&search, Principal::new("s")).unwrap().told;
    let lines = told["results"].as_array().unwrap_or_else(|| panic!("{told}"));
    lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_signature_has_the_required_arguments_first_with_what_their_values_must_be() {
    let schema = json!({
        "type": "object",
        "required": ["status", "when", "code", "count", "to", "at"],
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
        "properties": {
            "note": {"type": ["string", "null"], "default": null},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
            "status": {"type": "string", "enum": ["open", "closed"]},
            "when": {"type": "string", "format": "date-time"},
            "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
            "count": {"type": "integer", "format": "int32"},
            "to": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
            "at": {"$ref": "#/$defs/point"},
            "unit": {"type": "string", "default": "metric"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "x-trace": {"type": "boolean"},
        },
    });
    let lines = found(vec![tool("shop.list", "Lists orders. And more.", schema)], "list orders", 5);
    insta::assert_snapshot!(lines.join("\n"), @"shop.list(status: 'open'|'closed', when: str(date-time), code: str(/^[A-Z]{3}$/), count: int, to: (str|int)[], at: {x?: num}, note?: str, limit?: int(1..50) = 10, unit?: str = 'metric', labels?: map<str>, x-trace?: bool) — Lists orders. And more. (matches list, orders)");
}

#[test]
fn a_body_is_opened_one_level_also_behind_references_and_all_of() {
    let schema = json!({
        "type": "object",
        "required": ["ServiceSid"],
        "$defs": {
            "Member": {"allOf": [{"$ref": "#/$defs/Base"}, {"type": "object", "properties": {"RoleSid": {"type": "string"}}}]},
            "Base": {
                "type": "object",
                "properties": {"Deep": {"type": "object", "properties": {"a": {"type": "string"}}}, "Identity": {"type": "string"}},
                "required": ["Identity"],
            },
        },
        "properties": {"body": {"$ref": "#/$defs/Member"}, "ServiceSid": {"type": "string"}},
    });
    let lines = found(vec![tool("chat.add_member", "Adds a member.", schema)], "add a member", 5);
    insta::assert_snapshot!(lines.join("\n"), @"chat.add_member(ServiceSid: str, body?: {Identity: str, Deep?: object, RoleSid?: str}) — Adds a member. (matches add, member)");
}

fn wide(name: &str, required: usize, optional: usize) -> Tool {
    let all = (0..required + optional).map(|at| {
        let about = format!("What argument {at} of the report is for, at some length.");
        (format!("argument_number_{at}"), json!({"type": "string", "description": about}))
    });
    let names: Vec<String> = (0..required).map(|at| format!("argument_number_{at}")).collect();
    let properties: serde_json::Map<String, Value> = all.collect();
    let schema = json!({"type": "object", "properties": properties, "required": names});
    tool(name, "Makes a report of sales.", schema)
}

#[test]
fn the_first_result_tells_at_least_as_much_as_those_behind_it_and_required_arguments_are_always_named() {
    let tools: Vec<Tool> = (0..5).map(|at| wide(&format!("report.sales_{at}"), 4, 30 - 7 * at)).collect();
    let lines = found(tools, "make a report of sales", 5);
    assert!(lines[0].starts_with("report.sales_0("), "{lines:#?}");
    assert_eq!(lines.len(), 5, "{lines:#?}");
    for line in &lines {
        assert!((0..4).all(|at| line.contains(&format!("argument_number_{at}"))), "{line}");
    }
    let has_types: Vec<bool> = lines.iter().map(|line| line.contains("argument_number_0: str")).collect();
    assert!(has_types.is_sorted_by(|before, after| before >= after), "{lines:#?}");
    let bytes: usize = lines.iter().map(|line| Value::from(line.as_str()).to_string().len()).sum();
    assert!(bytes <= crate::signature::FOUND_BYTES + 5 * crate::signature::FOUND_BYTES_PER_TOOL, "{bytes}");
}

#[test]
fn fewer_results_tell_more_of_each() {
    let many = || (0..5).map(|at| wide(&format!("report.sales_{at}"), 2, 1)).collect();
    let one = found(many(), "make a report of sales", 1);
    let all = found(many(), "make a report of sales", 5);
    assert_eq!((one.len(), all.len()), (1, 5));
    assert!(one[0].len() > all[0].len(), "{one:?} {all:?}");
    assert!(one[0].contains("\nargument_number_0: What argument 0"), "{one:?}");
}

#[test]
fn an_example_is_told_only_where_its_author_wrote_one() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let plain = tool("weather.now", "Tells the weather.", schema);
    let with = plain.clone().with_metadata("examples", json!([{"town": 1}, {"city": "Oslo"}]));
    assert!(!found(vec![plain], "weather", 1)[0].contains("example"));
    assert!(found(vec![with], "weather", 1)[0].ends_with("\nexample: {\"city\":\"Oslo\"}"));
}

#[test]
fn a_search_tells_the_form_that_fits_with_its_own_description_and_how_many_others_there_are() {
    let form = |description: &str, argument: &str| {
        let schema =
            json!({"type": "object", "properties": {argument: {"type": "number"}}, "required": [argument]});
        tool("units.convert", description, schema)
    };
    let forms = vec![
        form("Converts a temperature from Celsius to Fahrenheit.", "celsius"),
        form("Converts money from one currency to another.", "amount"),
        form("Converts a length from metres to feet.", "metres"),
    ];
    let lines = found(forms.clone(), "convert money between currencies", 5);
    assert_eq!(
        lines,
        [
            "units.convert(amount: num) — Converts money from one currency to another. (+2 forms) (matches convert, money, currencies)"
        ]
    );
    let lines = found(forms, "units.convert", 5);
    assert!(lines[0].starts_with("units.convert(celsius: num) — Converts a temperature"), "{lines:?}");
}

#[test]
fn the_risk_is_told_only_where_it_matters_to_the_caller() {
    let none = json!({"type": "object", "properties": {}});
    let tools = vec![
        tool("shop.remove_order", "Removes an order.", none.clone()).with_risk(toolcrib_model::Risk::High),
        tool("shop.drop_order", "Drops an order.", none.clone()).with_risk(toolcrib_model::Risk::High),
        tool("shop.look_order", "Looks at an order.", none),
    ];
    let rules = json!({"default_policy": "grant", "grant": [{"module": "shop", "actions": ["drop_order"]}]});
    let (_registry, discovery) = discovery(rules, tools);
    let (_, page) = discovery.browse("shop", 1, 10, Principal::new("s")).unwrap();
    insta::assert_snapshot!(page.items.join("\n"), @"
    shop.drop_order() — Drops an order. [high risk]
    shop.look_order() — Looks at an order.
    shop.remove_order() — Removes an order. [asks the user]
    ");
}

#[test]
fn weak_results_are_listed_in_full_with_a_note_that_they_may_not_fit() {
    let property =
        json!({"type": "object", "properties": {"a": {"type": "string", "description": "The fax."}}});
    let tools =
        (0..8).map(|at| tool(&format!("office.copy_{at}"), "Copies a page. And more.", property.clone()));
    let mut tools: Vec<Tool> = tools.collect();
    for word in ["number", "customer", "overseas", "midnight", "machine"] {
        tools.push(tool(&format!("other.{word}"), &format!("The {word}."), json!({})));
    }
    let (_registry, discovery) = discovery(json!({"default_policy": "grant"}), tools);
    let query = "customer zorblatt quux frobnicate wibble wobble flumox grault garply";
    let search = ModelSearch { queries: vec![query.to_owned()], limit: 5, ..ModelSearch::default() };
    let told = discovery.search_for_model(&search, Principal::new("s")).unwrap().told;
    assert_eq!(told["outcome"], "weak", "{told}");
    let listed = discovery.search(query, 5, Principal::new("s")).unwrap().results;
    assert_eq!(told["results"].as_array().unwrap().len(), listed.len(), "{told}");
    insta::assert_snapshot!(told["hint"].as_str().unwrap(), @"these come nearest, but may not fit: if none does, search with other words or answer without a tool");
}
