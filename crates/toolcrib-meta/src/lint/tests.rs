//! What the lint promises.

use serde_json::json;
use toolcrib_model::{QualifiedName, Tool};

use super::{Kind, MAX_FINDINGS, MAX_NAMED, lint};

fn tool(namespace: &str, name: &str, description: &str) -> Tool {
    Tool::new(QualifiedName::new(namespace, name).unwrap()).with_description(description)
}

fn sound() -> Vec<Tool> {
    vec![
        tool("files", "read", "The text of a file, from a line on."),
        tool("files", "remove", "Takes a file away for good."),
        tool("weather", "forecast", "How warm and how wet the coming days will be."),
    ]
}

#[test]
fn tools_that_are_told_apart_have_no_finding() {
    let tools = sound();
    let linted = lint(tools.iter().map(|tool| (tool, "s")), None);
    assert_eq!((linted.tools, linted.findings, linted.left_out), (3, vec![], 0));
}

#[test]
fn each_kind_is_found_with_its_place_and_what_to_do() {
    let mut tools = sound();
    let values: Vec<String> = (0..2_000).map(|number| format!("value {number}")).collect();
    tools.extend([
        tool("docs", "read_file", "The text of a file, beginning from a line."),
        tool("archive", "read_file", "The text of a file, beginning from a line!"),
        tool("files", "rename", ""),
        tool("files", "listFiles", "Listing of the files"),
        tool("crm", "add_note", "Works on the record of a customer."),
        tool("crm", "drop_contact", "Works on the record of a customer."),
        tool("my-crm", "send.mail", "Sends a letter to those who subscribed."),
        tool("my-crm", "send_mail", "Greets whoever bought something this week."),
        tool("shop", "pick", "Takes goods from the shelf.").with_parameters(
            json!({"type": "object", "properties": {"good": {"type": "string", "enum": values}}}),
        ),
    ]);
    let linted = lint(tools.iter().map(|tool| (tool, "file tools.yaml")), None);
    insta::assert_json_snapshot!(linted);
}

#[test]
fn overloads_are_one_tool() {
    let other = json!({"type": "object", "properties": {"line": {"type": "integer"}}});
    let mut tools = sound();
    tools.push(tools[0].clone().with_parameters(other));
    assert_eq!(lint(tools.iter().map(|tool| (tool, "s")), None).findings, []);
}

#[test]
fn what_is_told_is_bounded_and_the_rest_is_counted() {
    let count = MAX_FINDINGS + 50;
    let mut tools: Vec<Tool> = (0..count).map(|number| tool("a", &format!("t{number}"), "")).collect();
    tools.extend((0..30).map(|number| tool("b", &format!("x{number}"), "The same text for each of them.")));
    let linted = lint(tools.iter().map(|tool| (tool, "s")), None);
    assert_eq!(linted.left_out, 50);
    let of = |kind| linted.findings.iter().filter(move |finding| finding.kind == kind);
    assert_eq!(of(Kind::EmptyDescription).count(), MAX_FINDINGS);
    let same: Vec<_> = of(Kind::CopiedDescription).chain(of(Kind::NearDuplicate)).collect();
    assert_eq!(same.len(), 1, "they are told once");
    assert_eq!((same[0].tools.len(), same[0].more), (MAX_NAMED, 30 - MAX_NAMED));
}

#[test]
fn patterns_that_are_not_checked_are_a_finding() {
    let schema = |pattern: &str| json!({"type": "object", "properties": {"p": {"type": "string", "pattern": pattern}}});
    let mut tools = sound();
    tools[0].parameters = schema("^[a-z]+$").into();
    tools[1].parameters = schema(r"^(?!.*\.\.)[a-z/]+$").into();
    let linted = lint(tools.iter().map(|tool| (tool, "s")), None);
    let [finding] = linted.findings.as_slice() else { panic!("{linted:?}") };
    assert_eq!((finding.kind, finding.tools[0].name.as_str()), (Kind::UncheckedPattern, "files.remove"));
    insta::assert_snapshot!(
        finding.message,
        @r"the pattern `^(?!.*\.\.)[a-z/]+$` at `/properties/p` is not checked: look-around and back-references cannot be matched in linear time; arguments that break it reach the tool"
    );
}

#[test]
fn the_tools_that_the_runtime_adds_for_each_server_are_no_finding() {
    let helper = |namespace: &str| {
        tool(namespace, "list_resources", "Lists the resources of this server.")
            .with_metadata("mcp_method", "resources/list")
    };
    let tools = [helper("one"), helper("two")];
    assert_eq!(lint(tools.iter().map(|tool| (tool, "s")), None).findings, []);
}
