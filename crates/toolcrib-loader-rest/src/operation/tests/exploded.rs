//! Arguments whose members are sent as fields of their own.

use super::*;

#[test]
fn a_tool_says_which_arguments_are_sent_as_fields_under_the_names_of_their_members() {
    let query = |name: &str, more: Value| {
        let mut parameter = json!({"name": name, "in": "query", "schema": {"type": "object"}});
        parameter.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        parameter
    };
    let parameters = json!([
        query("filter", json!({})),
        query("anything", json!({"schema": {}})),
        query("word", json!({"schema": {"type": "string"}})),
        query("deep", json!({"style": "deepObject", "explode": true})),
        query("joined", json!({"explode": false})),
        query("heading", json!({"in": "header", "explode": true})),
    ]);
    let form = json!({"schema": {"type": "object", "properties": {
        "options": {"type": "object"}, "title": {"type": "string"},
    }}, "encoding": {"options": {"style": "form"}}});
    let body = json!({"content": {"application/x-www-form-urlencoded": form}});
    let loaded = read(json!({"/pets": {"post": {"parameters": parameters, "requestBody": body}}}));
    let exploded: Vec<&str> = loaded.tools[0].exploded_arguments().collect();
    assert_eq!(exploded, ["filter", "anything", "options"]);
    let plain = read(
        json!({"/pets": {"get": {"parameters": [query("word", json!({"schema": {"type": "string"}}))]}}}),
    );
    assert_eq!(plain.tools[0].metadata().get(Tool::EXPLODED_ARGUMENTS), None);
}
