//! Declarations of tools: what a model reads, and what the types accept.

mod accepted;
mod generated;

use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, Tool};

use super::{Declarations, Declared, declarations};

/// Enough for everything here.
const ROOM: usize = 20_000;

fn tool(name: &str, description: &str, parameters: Value) -> Tool {
    let (namespace, name) = name.split_once('.').unwrap();
    let name = QualifiedName::new(namespace, name).unwrap();
    Tool::new(name).with_description(description).with_parameters(parameters)
}

fn declared(tools: &[Tool], room: usize) -> Declarations {
    declarations(&tools.iter().map(Declared::from).collect::<Vec<_>>(), room)
}

/// The declaration of one argument of this schema.
fn argument(schema: &Value) -> String {
    let parameters = json!({"type": "object", "properties": {"v": schema}, "required": ["v"]});
    let text = declared(&[tool("a.b", "", parameters)], ROOM).text;
    let (_, rest) = text.split_once("b(args: {v: ").unwrap_or_else(|| panic!("{text}"));
    rest.rsplit_once("}): Promise<unknown>;").unwrap().0.to_owned()
}

#[test]
fn tools_of_several_namespaces_are_declared_in_one_block_with_their_types_in_front() {
    let pet = json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": "The name.\nIt is unique. Or so."},
            "parents": {"type": "array", "items": {"$ref": "#/$defs/Pet"}, "maxItems": 2},
            "status": {"enum": ["sold", "it's free", null]},
        },
    });
    let with_pet = |mut schema: Value| {
        schema["$defs"] = json!({"Pet": pet});
        schema
    };
    let add = tool(
        "pet-shop.add",
        "Adds a pet */ to the shop.",
        with_pet(
            json!({"type": "object", "properties": {"pet": {"$ref": "#/$defs/Pet"}}, "required": ["pet"]}),
        ),
    );
    let list = tool(
        "pet-shop.list-all",
        "",
        json!({"type": "object", "properties": {"limit": {"type": "integer"}, "x-trace": {"type": "boolean"}}}),
    );
    let list =
        list.with_output_parameters(with_pet(json!({"type": "array", "items": {"$ref": "#/$defs/Pet"}})));
    let now = tool("clock.now", "Tells the time.", json!({"type": "object", "properties": {}}));
    let by_id = json!({"type": "object", "properties": {"id": {"type": "number"}}, "required": ["id"]});
    let by_name = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let overloads =
        [tool("pet-shop.delete", "Removes a pet.", by_id), tool("pet-shop.delete", "By name.", by_name)];
    let tools: Vec<Tool> = [add, now, list].into_iter().chain(overloads).collect();
    let declared = declared(&tools, ROOM);
    assert!(!declared.is_cut);
    insta::assert_snapshot!(declared.text);
}

#[test]
fn each_keyword_is_declared_as_typescript_says_it() {
    let cases = [
        json!({}),
        json!(true),
        json!(false),
        json!({"type": "integer", "minimum": 1}),
        json!({"type": ["string", "null"]}),
        json!({"type": ["null", "array", "object", "boolean"]}),
        json!({"const": -1.5}),
        json!({"const": {"a": [1, null]}}),
        json!({"type": "string", "enum": ["a", "it's", 1, "\u{202e}"]}),
        json!({"type": "array", "items": {"type": ["string", "number"]}}),
        json!({"type": "array", "items": {"type": "array", "items": {}}}),
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": ["number", "null"]}], "minItems": 1}),
        json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"const": "a"}], "additionalItems": {"type": "boolean"}}),
        json!({"type": "object"}),
        json!({"type": "object", "additionalProperties": false}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}),
        json!({"type": "object", "patternProperties": {"^x": {"type": "number"}}, "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
        json!({"properties": {"a b": {"type": "string"}, "delete": {"type": "null"}}, "required": ["delete", "z"]}),
        json!({"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {}}, "required": ["a"]}]}),
        json!({"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"oneOf": [{"type": "string"}, {"type": "string", "minLength": 2}, {"const": "a"}, {"type": "null"}]}),
        json!({"not": {"type": "string"}, "if": {}, "then": {"type": "number"}}),
        json!({"type": "string", "anyOf": [{"format": "date"}, {"format": "time"}]}),
        json!({"$ref": "#/$defs/missing"}),
        json!({"type": "string", "allOf": [{"type": "number"}]}),
    ];
    let told = cases.map(|schema| format!("{schema}\n    {}\n", argument(&schema)));
    insta::assert_snapshot!(told.concat());
}

#[test]
fn recursive_and_equal_definitions_are_named_once_and_others_of_the_same_name_differently() {
    let with = |definitions: Value| {
        let properties =
            json!({"tree": {"$ref": "#/$defs/v1.Tree"}, "self": {"$ref": "#"}, "id": {"$ref": "#/$defs/Id"}});
        json!({"type": "object", "properties": properties, "$defs": definitions})
    };
    let tree = |leaf: &str| {
        json!({
            "v1.Tree": {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/v1.Tree"}}, "leaf": {"$ref": "#/$defs/Leaf"}}},
            "Leaf": {"type": "object", "properties": {(leaf): {"$ref": "#/$defs/Promise"}}},
            "Promise": {"enum": ["a"]},
            "Id": {"type": "string"},
        })
    };
    let tools = [
        tool("a.one", "", with(tree("x"))),
        tool("a.two", "", with(tree("x"))),
        tool("b.three", "", with(tree("y"))),
    ];
    insta::assert_snapshot!(declared(&tools, ROOM).text);
}

#[test]
fn definitions_by_themselves_are_unknown() {
    let definitions = json!({
        "A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"},
        "C": {"anyOf": [{"$ref": "#/$defs/C"}, {"type": "string"}]},
        "D": {"type": "array", "items": {"$ref": "#/$defs/D"}},
    });
    let properties =
        ["A", "B", "C", "D"].map(|name| (name.to_owned(), json!({"$ref": format!("#/$defs/{name}")})));
    let schema =
        json!({"type": "object", "properties": serde_json::Map::from_iter(properties), "$defs": definitions});
    insta::assert_snapshot!(declared(&[tool("a.b", "", schema)], ROOM).text, @r"
    type D = D[];
    declare const tools: {
      a: {
        b(args?: {A?: unknown; B?: unknown; C?: unknown; D?: D}): Promise<unknown>;
      };
    };
    ");
}

#[test]
fn names_of_every_kind_can_be_called() {
    let names = [
        "new",
        "constructor",
        "import",
        "a.b",
        "list-repos",
        "it's",
        "1st",
        "größe",
        "$_",
        "get",
        "__proto__",
    ];
    let schema = json!({"type": "object", "properties": {}});
    let tools: Vec<Tool> = names
        .map(|name| Tool::new(QualifiedName::new("my space", name).unwrap()).with_parameters(schema.clone()))
        .into();
    insta::assert_snapshot!(declared(&tools, ROOM).text, @r#"
    declare const tools: {
      'my space': {
        'new'(): Promise<unknown>;
        constructor(): Promise<unknown>;
        import(): Promise<unknown>;
        'a.b'(): Promise<unknown>;
        'list-repos'(): Promise<unknown>;
        "it's"(): Promise<unknown>;
        '1st'(): Promise<unknown>;
        'größe'(): Promise<unknown>;
        $_(): Promise<unknown>;
        get(): Promise<unknown>;
        __proto__(): Promise<unknown>;
      };
    };
    "#);
}

/// A schema of nested objects, each with a number of texts.
fn deep(levels: usize) -> Value {
    let below = if levels == 0 { json!({"type": "string"}) } else { deep(levels - 1) };
    json!({
        "type": "object",
        "description": "A level. It has one below.",
        "properties": {"text": {"type": "string", "description": "A text."}, "below": below, "ids": {"type": "array", "items": {"type": "number"}}},
        "required": ["below"],
    })
}

#[test]
fn what_does_not_fit_is_left_out_from_the_deepest_on_and_said_to_be() {
    let tool = tool("a.deep", &"Takes a deep object. ".repeat(20), deep(12));
    let mut sizes = Vec::new();
    for room in [100_000, 1_200, 600, 400, 240] {
        let declared = declared(std::slice::from_ref(&tool), room);
        assert!(declared.is_cut, "{room}");
        // The frame of the block comes on top.
        assert!(declared.text.len() <= room + 60, "{room}: {}", declared.text);
        sizes.push(declared.text.len());
    }
    assert!(sizes.is_sorted_by(|more, less| more > less), "{sizes:?}");
    let least = declared(&[tool], 240).text;
    insta::assert_snapshot!(least, @r"
    declare const tools: {
      a: {
        /** Takes a deep object. Takes a deep object. Takes a deep object. Takes a deep object. Takes a deep… */
        deep(args: {text?: string; below: Record<string, unknown>; ids?: unknown[]}): Promise<unknown>;
      };
    };
    ");
}

#[test]
fn of_too_many_arguments_the_required_ones_are_declared() {
    let properties: serde_json::Map<String, Value> =
        (0..900).map(|at| (format!("property_{at}"), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": ["property_777"]});
    let declared = declared(&[tool("a.wide", "", schema)], 1_000);
    assert!(declared.is_cut);
    insta::assert_snapshot!(declared.text, @r"
    declare const tools: {
      a: {
        wide(args: {property_777: string; [name: string]: unknown}): Promise<unknown>;
      };
    };
    ");
}

#[test]
fn schemas_of_any_size_are_declared_in_time() {
    let begun = std::time::Instant::now();
    let wide: Vec<Value> = (0..2_000).map(|at| json!({"const": at})).collect();
    let all: Vec<Value> = (0..40)
        .map(|at| json!({"anyOf": [{"required": [format!("a{at}")]}, {"required": [format!("b{at}")]}]}))
        .collect();
    let mut nested = json!({"type": "string"});
    for _ in 0..100 {
        nested = json!({"allOf": [{"anyOf": [nested]}]});
    }
    let chain: serde_json::Map<String, Value> = (0..3_000)
        .map(|at| {
            (
                format!("d{at}"),
                json!({"type": "object", "properties": {"next": {"$ref": format!("#/$defs/d{}", at + 1)}}}),
            )
        })
        .collect();
    let schemas = [
        json!({"type": "object", "properties": {"v": {"anyOf": wide}}}),
        json!({"type": "object", "allOf": all}),
        json!({"type": "object", "properties": {"v": nested}}),
        json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": chain}),
    ];
    for schema in schemas {
        for room in [100, 1_000, 1_000_000] {
            let declared = declared(&[tool("a.b", "", schema.clone())], room);
            assert!(declared.text.len() <= room.max(200) + 60, "{}", declared.text.len());
        }
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}
