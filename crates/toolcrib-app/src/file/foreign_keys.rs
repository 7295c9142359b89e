//! Keys of the task files of fms-dgt, from which a task of data generation may come.

use serde_json::{Map, Value, json};
use toolcrib_document::Document;

/// Keys without a counterpart, each with what to do about it.
const UNUSED: [(&str, &str); 12] = [
    ("created_by", "it has no effect"),
    ("data_builder", "the stages under `generate.stages` build the data"),
    ("seed_datastore", "conversations start from the tools, not from seed examples"),
    ("seed_examples", "conversations start from the tools, not from seed examples"),
    ("runner_config", "`generate` has `parallel`, `num_outputs` and `budget`"),
    ("datastore", "`generate.output` names the file"),
    ("final_datastore", "`generate.output` names the file"),
    ("formatter", "`generate.format` names the format"),
    ("has_nested", "`generate.kinds` has the kind `nested`"),
    ("separate_context", "it has no effect"),
    ("iteration_stages", "`generate.stages` has the stages"),
    ("termination_stages", "`generate.stages` has the stages"),
];

/// The key of the stages whose samplers are read.
const SAMPLING_STAGES: &str = "initialization_stages";

/// The place of the enrichments.
const ENRICHMENTS: &str = "/tools/enrichments";

/// The id of the agent whose model the stages ask.
const AGENT: &str = "generator";

/// The keys that are the same below `generate`.
const SAME: [&str; 2] = ["min_turns", "max_turns"];

/// The providers of models in engines, by their types.
const PROVIDERS: [(&str, &str); 6] = [
    ("openai", "openai"),
    ("openai-chat", "openai"),
    ("ollama", "ollama"),
    ("vllm", "vllm"),
    ("vllm-remote", "vllm"),
    ("anthropic", "anthropic"),
];

/// The key that marks a task file.
const MARK: &str = "task_name";

/// Reads the keys of a task file as what they mean. Returns a note for each one without a counterpart.
pub(crate) fn adopt(document: &mut Document) -> Vec<String> {
    if document.value.get(MARK).is_none() && document.value.get("data_builder").is_none() {
        return Vec::new();
    }
    let mut notes = Vec::new();
    for (key, advice) in UNUSED {
        let place = place(document, &format!("/{key}"));
        if take(&mut document.value, key).is_some() {
            notes.push(format!("{place}`{key}` of the task file is ignored: {advice}"));
        }
    }
    for key in SAME {
        if let Some(value) = take(&mut document.value, key) {
            set(&mut document.value, "generate", key, || value);
        }
    }
    samplers(document, &mut notes);
    engine_models(document, &mut notes);
    enrichments(document, &mut notes);
    if let Some(name) = take(&mut document.value, MARK) {
        set(&mut document.value, "app", "id", || json!(identifier(name.as_str().unwrap_or_default())));
    }
    if let Some(description) = take(&mut document.value, "task_description") {
        set(&mut document.value, "generate", "description", || description);
    }
    notes
}

/// Returns the line of a value, to stand before a note.
fn place(document: &Document, pointer: &str) -> String {
    document.position_of(pointer).map(|position| format!("line {}: ", position.line)).unwrap_or_default()
}

/// Leaves out enrichments, and keys of enrichments, that have no counterpart.
fn enrichments(document: &mut Document, notes: &mut Vec<String>) {
    let count = document.value.pointer(ENRICHMENTS).and_then(Value::as_array).map_or(0, Vec::len);
    let places: Vec<String> = (0..count).map(|at| place(document, &format!("{ENRICHMENTS}/{at}"))).collect();
    let Some(entries) = document.value.pointer_mut(ENRICHMENTS).and_then(Value::as_array_mut) else { return };
    let mut places = places.into_iter();
    entries.retain_mut(|entry| {
        let place = places.next().unwrap_or_default();
        let Some(entry) = entry.as_object_mut() else { return true };
        let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if kind == "output_parameters" {
            notes.push(format!(
                "{place}the enrichment `{kind}` is ignored: simulated tools reply without a schema of their results"
            ));
            return false;
        }
        if let Some(model) = entry.shift_remove("model") {
            notes.push(format!(
                "{place}the model {model} of the enrichment `{kind}` is ignored: `tools.search` selects the model"
            ));
        }
        true
    });
}

/// Moves the samplers of the stages to `generate.samplers`.
fn samplers(document: &mut Document, notes: &mut Vec<String>) {
    let place = place(document, &format!("/{SAMPLING_STAGES}"));
    let Some(stages) = take(&mut document.value, SAMPLING_STAGES) else { return };
    let mixes =
        stages.as_array().into_iter().flatten().filter_map(|stage| stage.get("sampler_mix")?.as_array());
    let mut samplers = Vec::new();
    for entry in mixes.flatten() {
        let Some(mut sampler) = entry.get("sampler").and_then(Value::as_object).cloned() else { continue };
        for (former, key) in [("k", "count"), ("strategy", "mode")] {
            if let Some(value) = sampler.shift_remove(former) {
                sampler.insert(key.to_owned(), value);
            }
        }
        if let Some(namespace) = sampler.shift_remove("namespace") {
            sampler.insert("namespaces".to_owned(), json!([namespace]));
        }
        let is_neighbor = sampler.get("type").is_some_and(|kind| kind == "tc/neighbor" || kind == "neighbor");
        if is_neighbor && sampler.shift_remove("min_score").is_some() {
            notes.push(format!(
                "{place}`min_score` of the sampler `tc/neighbor` is ignored: `temperature` decides how similar tools are"
            ));
        }
        if let Some(weight) = entry.get("weight") {
            sampler.insert("weight".to_owned(), weight.clone());
        }
        samplers.push(Value::Object(sampler));
    }
    if !samplers.is_empty() {
        set(&mut document.value, "generate", "samplers", || samplers.into());
    }
    notes.push(format!(
        "{place}`{SAMPLING_STAGES}` of the task file is read for its samplers only: `generate.stages` has the stages"
    ));
}

/// Reads `lm_config` of simulated engines as `model`.
fn engine_models(document: &mut Document, notes: &mut Vec<String>) {
    let names: Vec<String> = document
        .value
        .pointer("/tools/engines")
        .and_then(Value::as_object)
        .map_or_else(Vec::new, |engines| {
            engines.keys().map(|name| name.replace('~', "~0").replace('/', "~1")).collect()
        });
    for name in names {
        let pointer = format!("/tools/engines/{name}");
        let place = place(document, &format!("{pointer}/lm_config"));
        let Some(engine) = document.value.pointer_mut(&pointer).and_then(Value::as_object_mut) else {
            continue;
        };
        let Some(Value::Object(mut former)) = engine.shift_remove("lm_config") else { continue };
        let mut model = Map::new();
        let kind = former.shift_remove("type");
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        let provider =
            PROVIDERS.iter().find(|(known, _)| *known == kind).map_or(kind, |(_, provider)| provider);
        model.insert("provider".to_owned(), provider.into());
        for (key, own) in [
            ("model_id_or_path", "model"),
            ("base_url", "base_url"),
            ("temperature", "temperature"),
            ("top_p", "top_p"),
            ("max_new_tokens", "max_tokens"),
            ("max_tokens", "max_tokens"),
        ] {
            if let Some(value) = former.shift_remove(key) {
                model.insert(own.to_owned(), value);
            }
        }
        if let Some(samples) = former.shift_remove("n") {
            engine.entry("samples").or_insert(samples);
        }
        let model = Value::Object(model);
        engine.entry("model").or_insert_with(|| model.clone());
        // A task file names the models of its stages elsewhere, in the file of its data builder.
        if document.value.get("agents").is_none()
            && let Some(root) = document.value.as_object_mut()
        {
            root.insert("agents".to_owned(), json!([{"id": AGENT, "brain": model}]));
            notes.push(format!(
                "{place}the stages ask the model of the engine `{name}`; `agents` names another one"
            ));
        }
        notes.extend(former.keys().map(|key| {
            format!(
                "{place}`{key}` of the `lm_config` of the engine `{name}` is ignored: it has no counterpart"
            )
        }));
    }
}

fn take(root: &mut Value, key: &str) -> Option<Value> {
    root.as_object_mut()?.shift_remove(key)
}

/// Sets a key of a section that does not set it.
fn set(root: &mut Value, section: &str, key: &str, value: impl FnOnce() -> Value) {
    let Some(root) = root.as_object_mut() else { return };
    let section = root.entry(section).or_insert_with(|| Value::Object(Map::new()));
    if section.is_null() {
        *section = Value::Object(Map::new());
    }
    if let Some(section) = section.as_object_mut() {
        section.entry(key).or_insert_with(value);
    }
}

/// Returns a name as the id of an app: `public/tools/My task` becomes `public-tools-my-task`.
fn identifier(name: &str) -> String {
    let dashed = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let id: String = name.chars().map(dashed).collect();
    id.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use toolcrib_document::{Format, Limits, parse};

    use super::adopt;

    const TASK: &str = "task_name: public/tools/My task
created_by: someone
data_builder: tool_calling/multi_turn
task_description: Calls of tools
max_turns: 3
min_turns: 1
has_nested: true
tools:
  registry: [{type: file, path: tools.yaml, namespace: shop, engine: simulator}]
  engines:
    simulator:
      type: lm
      lm_config: {type: openai, model_id_or_path: a/b, base_url: 'http://localhost:1/v1/', n: 8, temperature: 1.0, \
max_new_tokens: 1024, batch_size: 4}
  enrichments:
    - {type: output_parameters, lm_config: {type: openai}}
    - {type: embeddings, model: sentence-transformers/all-mpnet-base-v2}
    - {type: neighbors, force: true}
initialization_stages:
  - name: sample/persona
  - name: scenario
    sampler_mix:
      - {sampler: {type: tc/neighbor, k: 15, min_score: 0.0}, weight: 1.0}
      - {sampler: {type: tc/random, k: 4, namespace: shop, strategy: proportional}, weight: 0.5}
iteration_stages: [{name: planner}]
";

    #[test]
    fn a_task_file_is_read_as_what_its_keys_mean() {
        let mut document = parse(TASK.as_bytes(), Format::Yaml, &Limits::default()).unwrap();
        let notes = adopt(&mut document);
        insta::assert_json_snapshot!(document.value);
        insta::assert_snapshot!(notes.join("\n"));
    }
}
