//! The reference of the app file, which is generated from its schema.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;
use toolcrib_document::{Format, Limits};
use toolcrib_schema::CompiledSchema;

use crate::Extensions;

const BEGIN: &str = "<!-- The rest is generated from `toolcrib schema app`. -->\n";

/// An example for each top-level section and for the sections that are used most.
const EXAMPLES: [(&str, &str); 25] = [
    ("app", "app: {id: desk, description: Answers customers., workspace: ./work}"),
    (
        "agents[]",
        "agents:\n  - id: clerk\n    system_prompt: Be brief.\n    brain: {provider: openai, model: gpt-5-mini}",
    ),
    (
        "agents[].brain",
        "agents:\n  - id: clerk\n    brain:\n      provider: openai\n      model: gpt-5-mini\n      \
         base_url: http://localhost:8080/v1\n      fallback: [{provider: ollama, model: qwen3}]",
    ),
    (
        "agents[].brain.response_format",
        "agents:\n  - id: clerk\n    brain:\n      provider: openai\n      model: gpt-5-mini\n      \
         response_format: {type: json_schema, schema: {type: object}}",
    ),
    (
        "modules.ID",
        "modules:\n  filesystem:\n    constraints: {allowed_actions: [read, ls]}\n    limits: {timeout_seconds: 5}",
    ),
    (
        "tools",
        "tools:\n  registry:\n    - {type: mcp, namespace: time, command: [uvx, mcp-server-time]}\n  strict: true",
    ),
    (
        "tools.capabilities",
        "tools:\n  capabilities:\n    default_policy: approve\n    grant: [{module: \"*\", risk: low}]\n    \
         deny: [{module: shell, session: \"guest-*\"}]",
    ),
    (
        "tools.limits",
        "tools:\n  limits:\n    approval_timeout_seconds: 60\n    tools: {search.query: {rate: {calls: 5, per_seconds: 1}}}",
    ),
    (
        "tools.shape[]",
        "tools:\n  shape:\n    - tool: github.search_code\n      name: code.search\n      parameters:\n        \
         q: {name: query}\n        owner: {value: acme}\n        perPage: {default: 20, maximum: 50}",
    ),
    ("tools.search", "tools:\n  search: {tier: keyword, synonyms: [[parcel, consignment]]}"),
    (
        "secrets[]",
        "secrets:\n  - {type: files, path: /run/secrets}\n  - {type: vault, url: \"https://vault.example:8200\", \
         path: apps/desk, token: \"${VAULT_TOKEN}\"}",
    ),
    (
        "hooks[]",
        "hooks:\n  - {name: office-hours, when: before, min_risk_level: high, run: [python3, hooks/office_hours.py]}\n  \
         - {name: privacy, when: after, url: \"https://privacy.example.com/check\", secret: \"${PRIVACY_SECRET}\"}",
    ),
    ("guard", "guard:\n  rules: [{detect: [pii, keys], action: redact}]"),
    (
        "guard.rules[]",
        "guard:\n  patterns: {order: \"ORD-[0-9]{8}\"}\n  rules:\n    \
         - {detect: [instructions], action: block, tools: [web.*]}\n    - {detect: [order], action: redact}",
    ),
    ("skills", "skills: {folders: [./skills]}"),
    ("execution", "execution: {watchers: true, scheduler: true, background_after: 30}"),
    ("runtime", "runtime: {max_turns: 20, max_cost: 1, tool_injection: discovery}"),
    (
        "serve",
        "serve:\n  surface: discovery\n  tokens: [{name: ci, token: \"${CI_TOKEN}\", max_risk_level: low}]",
    ),
    ("serve.limits", "serve:\n  limits: {requests_per_second: 50}"),
    (
        "profiles.NAME",
        "profiles:\n  review:\n    namespaces: [docs]\n    tools: [\"files.read_*\"]\n    \
         policy: {approve: [{module: docs, actions: [publish]}]}",
    ),
    (
        "approvals",
        "approvals:\n  people: {alice: {key: \"${ALICE_KEY}\"}}\n  \
         rules: [{module: payments, approvers: 2, four_eyes: true}]",
    ),
    ("audit", "audit: {path: audit.jsonl, required: true}"),
    ("generate", "generate: {num_outputs: 100, kinds: {single: 3, nested: 1}, output: data.jsonl}"),
    (
        "generate.samplers[]",
        "generate:\n  samplers: [{type: random, weight: 2}, {type: chain, count: 3, min_score: 0.6}]",
    ),
    (
        "generate.hygiene",
        "generate:\n  hygiene: {near_duplicates: 0.9, decontamination: [test-questions.jsonl]}",
    ),
];

/// An app file with a value for every key.
const EVERY_KEY: &str = include_str!("reference.yaml");

/// Set to write the page instead of comparing it.
const BLESS: &str = "TOOLCRIB_BLESS";

#[test]
fn the_reference_of_the_app_file_is_what_its_schema_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/app-yaml.md");
    let text = fs::read_to_string(&page).unwrap();
    let (written, _) = text.split_once(BEGIN).expect("the page has a generated part");
    let made = format!("{written}{BEGIN}{}", reference(&Extensions::default().app_schema()));
    if std::env::var_os(BLESS).is_some() {
        fs::write(&page, &made).unwrap();
    }
    assert!(
        fs::read_to_string(&page).unwrap() == made,
        "docs/reference/app-yaml.md is stale; {BLESS}=1 updates it"
    );
}

#[test]
fn every_example_of_the_reference_belongs_to_a_section_and_every_part_of_the_file_has_one() {
    let schema = Extensions::default().app_schema();
    let page = reference(&schema);
    for (path, example) in EXAMPLES {
        assert!(page.contains(&format!("## `{path}`\n")), "{path} is not a section");
        assert!(page.contains(example), "{path}");
    }
    for key in schema["properties"].as_object().unwrap().keys() {
        let is_shown = EXAMPLES.iter().any(|(path, _)| path.split(['.', '[']).next() == Some(key.as_str()));
        // A key without keys of its own is shown in the table.
        let is_section = page.contains(&format!("## `{key}`\n"));
        assert!(is_shown || !is_section, "{key} has no example");
    }
}

#[test]
fn every_key_has_an_example_that_the_schema_accepts() {
    let schema = Extensions::default().app_schema();
    let example = every_key();
    CompiledSchema::compile(&schema).unwrap().validate(&example).unwrap();
    let page = reference(&schema);
    let without: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `") && line.ends_with(" |  |") && !line.contains("[mapping]"))
        .collect();
    assert_eq!(without, [""; 0]);
}

fn every_key() -> Value {
    let document = toolcrib_document::parse(EVERY_KEY.as_bytes(), Format::Yaml, &Limits::default());
    document.unwrap().deserialize().unwrap()
}

/// Returns the value at the path of a key, as in `agents[].brain.model`: of a list, that of the first entry with the key.
/// `ID` and `NAME` stand for any name.
fn at<'a>(root: &'a Value, path: &str) -> Option<&'a Value> {
    path.replace("[]", "").split('.').try_fold(root, |value, name| match name {
        "ID" | "NAME" => value.as_object()?.values().next(),
        _ => value.get(name).or_else(|| value.as_array()?.iter().find_map(|entry| entry.get(name))),
    })
}

/// Returns a value as YAML on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '.')
                && !text.contains(": ")
                && !text.contains(['*', '#', '{', '}', '[', ']', ',']);
            if is_plain { text.clone() } else { Value::from(text.as_str()).to_string() }
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| format!("{key}: {}", inline(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A section that is not written yet: its path and its schema.
type Section<'a> = (String, &'a Value);

/// The definitions of a schema, and the sections that describe them.
struct Reference<'a> {
    root: &'a Value,
    sections: BTreeMap<&'a str, String>,
    next: VecDeque<Section<'a>>,
}

fn reference(schema: &Value) -> String {
    let mut reference = Reference {
        root: schema,
        sections: BTreeMap::new(),
        next: VecDeque::from([(String::new(), schema)]),
    };
    let mut page = String::new();
    let example = every_key();
    while let Some((path, section)) = reference.next.pop_front() {
        let title = if path.is_empty() { "Top-level keys".to_owned() } else { format!("`{path}`") };
        let _ = write!(page, "\n## {title}\n\n");
        let text =
            section.get("description").filter(|_| !path.is_empty()).and_then(Value::as_str).map(one_line);
        // Some descriptions only repeat the title.
        if let Some(text) = text.filter(|text| text.trim_end_matches('.') != title) {
            let _ = write!(page, "{text}\n\n");
        }
        page.push_str("| key | type | default | description | example |\n|---|---|---|---|---|\n");
        let keys = section.get("properties").and_then(Value::as_object).into_iter().flatten();
        let required = section["required"].as_array().into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        for (key, value) in keys {
            let place = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let kind = reference.kind(value, &place);
            let text = value.get("description").and_then(Value::as_str).map(one_line).unwrap_or_default();
            let default = match value.get("default") {
                _ if required.contains(&key.as_str()) => "required".to_owned(),
                None | Some(Value::Null | Value::Object(_)) => String::new(),
                Some(Value::String(text)) if text.is_empty() => String::new(),
                Some(Value::Array(items)) if items.is_empty() => String::new(),
                Some(default) => format!("`{default}`"),
            };
            // The section of a mapping has examples of its keys.
            let shown = at(&example, &place).filter(|_| !kind.contains("[mapping]")).map(inline);
            let shown = shown.map(|text| format!("`{}`", text.replace('|', "\\|"))).unwrap_or_default();
            let _ = writeln!(page, "| `{key}` | {kind} | {default} | {text} | {shown} |");
        }
        if let Some((_, example)) = EXAMPLES.iter().find(|(section, _)| *section == path) {
            let _ = write!(page, "\n```yaml\n{example}\n```\n");
        }
    }
    page
}

/// Returns a link to a section.
fn link(path: &str) -> String {
    let anchor: String = path.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
    format!("[mapping](#{})", anchor.to_lowercase())
}

fn one_line(text: &str) -> String {
    // An example in a description is on a page of its own.
    let text = text.split("```").next().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

impl<'a> Reference<'a> {
    /// Returns the type of a value in words. A mapping with fixed keys becomes a section.
    fn kind(&mut self, schema: &'a Value, place: &str) -> String {
        if let Some(name) =
            schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
        {
            let Some(definition) = self.root.pointer(&format!("/$defs/{name}")) else { return "any".into() };
            let is_section = definition.get("properties").is_some();
            if !is_section {
                return self.kind(definition, place);
            }
            if let Some(section) = self.sections.get(name) {
                return link(section);
            }
            self.sections.insert(name, place.to_owned());
            self.next.push_back((place.to_owned(), definition));
            return link(place);
        }
        if place == "modules" {
            let entry = schema.pointer("/properties/hello").expect("a module without settings");
            self.next.push_back(("modules.ID".into(), entry));
            let ids = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            let ids: Vec<String> = ids.map(|(id, _)| format!("`{id}`")).collect();
            return format!("{} by id: {}", link("modules.ID"), ids.join(", "));
        }
        if place == "modules.ID.config" {
            return "mapping, see [the module](modules.md)".into();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values
                .iter()
                .map(|value| format!("`{}`", value.as_str().unwrap_or_default()))
                .collect::<Vec<_>>()
                .join(", ");
        }
        if let Some(value) = schema.get("const").and_then(Value::as_str) {
            return format!("`{value}`");
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            if let Some(forms) = schema.get(key).and_then(Value::as_array) {
                let forms =
                    forms.iter().filter(|form| form.get("type").and_then(Value::as_str) != Some("null"));
                return forms.map(|form| self.kind(form, place)).collect::<Vec<_>>().join(", ");
            }
        }
        let types: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(all)) => {
                all.iter().filter_map(Value::as_str).filter(|one| *one != "null").collect()
            }
            _ => return "any value".into(),
        };
        types.into_iter().map(|kind| self.simple(kind, schema, place)).collect::<Vec<_>>().join(" or ")
    }

    fn simple(&mut self, kind: &str, schema: &'a Value, place: &str) -> String {
        match kind {
            "integer" => match schema.get("minimum").filter(|least| least.as_u64() != Some(0)) {
                Some(least) => format!("integer from {least}"),
                None => "integer".into(),
            },
            "array" => match schema.get("items") {
                Some(items) => format!("list of {}", self.kind(items, &format!("{place}[]"))),
                None => "list".into(),
            },
            "object" if schema.get("properties").is_some() => {
                let types = schema.pointer("/properties/type/enum").and_then(Value::as_array);
                if let Some(types) = types {
                    let types: Vec<String> =
                        types.iter().filter_map(Value::as_str).map(|kind| format!("`{kind}`")).collect();
                    return format!("mapping with a `type`: {}", types.join(", "));
                }
                self.next.push_back((place.to_owned(), schema));
                link(place)
            }
            "object" => match schema.get("additionalProperties").filter(|more| more.is_object()) {
                Some(more) => format!("mapping from names to {}", self.kind(more, &format!("{place}.NAME"))),
                None => "mapping".into(),
            },
            other => other.to_owned(),
        }
    }
}
