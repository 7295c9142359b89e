//! Keys of the task files of fms-dgt, from which a task of data generation may come.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use toolcrib_document::Document;
use toolcrib_model::text::pointer_part;

/// Keys without a counterpart, each with what to do about it.
const UNUSED: [(&str, &str); 11] = [
    ("created_by", "it has no effect"),
    ("data_builder", "the stages under `generate.stages` build the data"),
    ("seed_datastore", "conversations start from the tools, not from seed examples"),
    ("seed_examples", "conversations start from the tools, not from seed examples"),
    ("runner_config", "`generate` has `parallel`, `num_outputs` and `budget`"),
    ("datastore", "`generate.output` names the file"),
    ("final_datastore", "`generate.output` names the file"),
    ("formatter", "`generate.format` names the format"),
    ("separate_context", "it has no effect"),
    ("iteration_stages", "`generate.stages` has the stages"),
    ("termination_stages", "`generate.stages` has the stages"),
];

/// The key of the stages whose samplers are read.
const SAMPLING_STAGES: &str = "initialization_stages";

/// The place of the enrichments.
const ENRICHMENTS: &str = "/tools/enrichments";

/// The enrichment that asks a model.
const OUTPUT_PARAMETERS: &str = "output_parameters";

/// The place of the engines.
const ENGINES: &str = "/tools/engines";

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

/// The types of engines that run the calls of a source themselves, as each such source does here.
const OWN_ENGINES: [&str; 2] = ["mcp", "rest"];

/// The types of engines whose results a model makes up.
const SIMULATED: [&str; 2] = ["lm", "simulated"];

/// The samplers whose edges have a score.
const SCORED_SAMPLERS: [&str; 4] = ["chain", "fan_out", "fan_in", "dag"];

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
    kinds(document, &mut notes);
    samplers(document, &mut notes);
    own_engines(document, &mut notes);
    simulated_engines(document, &mut notes);
    grants(document, &mut notes);
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

/// Sets the kinds of conversations that the turns of a task file represent.
fn kinds(document: &mut Document, notes: &mut Vec<String>) {
    let place = place(document, "/has_nested");
    let nested = take(&mut document.value, "has_nested");
    let turns = document.value.pointer("/generate/max_turns").and_then(Value::as_u64);
    if turns.is_none() && nested.is_none() || document.value.pointer("/generate/kinds").is_some() {
        return;
    }
    let first = if turns.is_some_and(|turns| turns > 1) { "multi_turn" } else { "single" };
    let mut kinds = vec![first, "parallel"];
    kinds.extend((nested == Some(Value::Bool(true))).then_some("nested"));
    notes.push(format!(
        "{place}the conversations are of the kinds {}, in equal parts; `generate.kinds` names others",
        kinds.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ")
    ));
    let kinds: Map<String, Value> = kinds.into_iter().map(|kind| (kind.to_owned(), json!(1))).collect();
    set(&mut document.value, "generate", "kinds", || kinds.into());
}

/// Reads the models of enrichments. Leaves out those of enrichments that use the model of the search.
fn enrichments(document: &mut Document, notes: &mut Vec<String>) {
    let count = document.value.pointer(ENRICHMENTS).and_then(Value::as_array).map_or(0, Vec::len);
    for at in 0..count {
        let pointer = format!("{ENRICHMENTS}/{at}");
        let place = place(document, &pointer);
        let Some(entry) = document.value.pointer_mut(&pointer).and_then(Value::as_object_mut) else {
            continue;
        };
        let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(Value::Object(former)) = entry.shift_remove("lm_config") {
            let (model, unused) = model(former);
            entry.entry("model").or_insert(model);
            notes.extend(unused.iter().map(|key| {
                format!("{place}`{key}` of the `lm_config` of the enrichment `{kind}` is ignored: it has no counterpart")
            }));
        } else if let Some(model) = entry.shift_remove("model").filter(|_| kind != OUTPUT_PARAMETERS) {
            notes.push(format!(
                "{place}the model {model} of the enrichment `{kind}` is ignored: `tools.search` selects the model"
            ));
        }
    }
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
        notes.extend(sampler_keys(&mut sampler).into_iter().map(|note| format!("{place}{note}")));
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

/// Renames the keys of a sampler. Returns notes about those without a counterpart.
fn sampler_keys(sampler: &mut Map<String, Value>) -> Vec<String> {
    let mut notes = Vec::new();
    let kind = sampler.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = kind.strip_prefix("tc/").unwrap_or(&kind);
    for (former, key) in [("k", "count"), ("namespace_weights", "weights")] {
        if let Some(value) = sampler.shift_remove(former) {
            sampler.insert(key.to_owned(), value);
        }
    }
    if let Some(namespace) = sampler.shift_remove("namespace") {
        sampler.insert("namespaces".to_owned(), json!([namespace]));
    }
    if name == "random" {
        // There, `uniform` is an equal share of each namespace.
        let mode = match sampler.shift_remove("strategy") {
            Some(strategy) if strategy == "uniform" => json!("equal"),
            Some(strategy) => strategy,
            None => json!("proportional"),
        };
        sampler.insert("mode".to_owned(), mode);
    }
    if !SCORED_SAMPLERS.contains(&name) && sampler.shift_remove("min_score").is_some() {
        let advice = match name {
            "neighbor" => "`temperature` decides how similar tools are",
            _ => "its tools have no score",
        };
        notes.push(format!("`min_score` of the sampler `{kind}` is ignored: {advice}"));
    }
    notes
}

/// Leaves out engines that do what each source does without one.
fn own_engines(document: &mut Document, notes: &mut Vec<String>) {
    let is_own = |engine: &Value| {
        engine.get("type").and_then(Value::as_str).is_some_and(|kind| OWN_ENGINES.contains(&kind))
    };
    for name in names_of_engines(document) {
        let pointer = format!("{ENGINES}/{}", pointer_part(&name));
        if !document.value.pointer(&pointer).is_some_and(is_own) {
            continue;
        }
        let place = place(document, &pointer);
        notes.push(format!(
            "{place}the engine `{name}` is ignored: the sources that name it run their own calls"
        ));
        if let Some(engines) = document.value.pointer_mut(ENGINES).and_then(Value::as_object_mut) {
            engines.shift_remove(&name);
        }
        let sources = document.value.pointer_mut("/tools/registry").and_then(Value::as_array_mut);
        for source in sources.into_iter().flatten().filter_map(Value::as_object_mut) {
            if source.get("engine").is_some_and(|engine| *engine == *name) {
                source.shift_remove("engine");
            }
        }
    }
}

/// Reads `lm_config` of simulated engines as `model`, and their errors by category.
fn simulated_engines(document: &mut Document, notes: &mut Vec<String>) {
    for name in names_of_engines(document) {
        let pointer = format!("{ENGINES}/{}", pointer_part(&name));
        let place = place(document, &format!("{pointer}/lm_config"));
        let Some(engine) = document.value.pointer_mut(&pointer).and_then(Value::as_object_mut) else {
            continue;
        };
        if let Some(categories) = engine.get_mut("error_categories") {
            by_category(categories);
        }
        let Some(Value::Object(mut former)) = engine.shift_remove("lm_config") else { continue };
        if let Some(samples) = former.shift_remove("n") {
            engine.entry("samples").or_insert(samples);
        }
        let (model, unused) = model(former);
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
        notes.extend(unused.iter().map(|key| {
            format!(
                "{place}`{key}` of the `lm_config` of the engine `{name}` is ignored: it has no counterpart"
            )
        }));
    }
}

/// Grants the tools whose results are simulated, since a task file states no policy. Others need a rule of the operator.
fn grants(document: &mut Document, notes: &mut Vec<String>) {
    if document.value.pointer("/tools/capabilities").is_some() {
        return;
    }
    let is_simulated = |engine: &str| {
        let engine = document.value.pointer(&format!("{ENGINES}/{}", pointer_part(engine)));
        let kind = engine.and_then(|engine| engine.get("type")).and_then(Value::as_str);
        kind.is_some_and(|kind| SIMULATED.contains(&kind))
    };
    let sources = document.value.pointer("/tools/registry").and_then(Value::as_array);
    let namespaces: BTreeSet<String> = sources
        .into_iter()
        .flatten()
        .filter(|source| source.get("engine").and_then(Value::as_str).is_some_and(&is_simulated))
        .filter_map(|source| Some(source.get("namespace")?.as_str()?.to_owned()))
        .collect();
    if namespaces.is_empty() {
        return;
    }
    let listed: Vec<_> = namespaces.iter().map(|namespace| format!("`{namespace}`")).collect();
    notes.push(format!(
        "the tools of {} are granted, since their results are simulated; `tools.capabilities` states other rules",
        listed.join(", ")
    ));
    let grants: Vec<Value> = namespaces.iter().map(|namespace| json!({"module": namespace})).collect();
    set(&mut document.value, "tools", "capabilities", || json!({"grant": grants}));
}

/// Makes a mapping of a list of error categories.
fn by_category(categories: &mut Value) {
    let Some(list) = categories.as_array() else { return };
    let mapping: Option<Map<String, Value>> = list
        .iter()
        .map(|category| {
            let mut category = category.as_object()?.clone();
            let kind = category.shift_remove("type")?.as_str()?.to_owned();
            Some((kind, Value::Object(category)))
        })
        .collect();
    if let Some(mapping) = mapping {
        *categories = mapping.into();
    }
}

/// Returns the model of an `lm_config`, and the keys that have no counterpart.
fn model(mut former: Map<String, Value>) -> (Value, Vec<String>) {
    let mut model = Map::new();
    let kind = former.shift_remove("type");
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
    let provider = PROVIDERS.iter().find(|(known, _)| *known == kind).map_or(kind, |(_, provider)| provider);
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
    (Value::Object(model), former.into_iter().map(|(key, _)| key).collect())
}

fn names_of_engines(document: &Document) -> Vec<String> {
    let engines = document.value.pointer(ENGINES).and_then(Value::as_object);
    engines.map_or_else(Vec::new, |engines| engines.keys().cloned().collect())
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
  registry:
    - {type: file, path: tools.yaml, namespace: shop, engine: simulator}
    - {type: mcp, url: 'http://localhost:2', namespace: hr, engine: live}
  engines:
    simulator:
      type: lm
      lm_config: {type: openai, model_id_or_path: a/b, base_url: 'http://localhost:1/v1/', n: 8, temperature: 1.0, \
max_new_tokens: 1024, batch_size: 4}
      error_categories:
        - {type: network_error, probability: 0.05, message: Timeout}
        - {type: unparseable_result, probability: 0.05}
    live: {type: mcp, url: 'http://localhost:2'}
  enrichments:
    - {type: output_parameters, lm_config: {type: ollama, model_id_or_path: m, temperature: 0.1, decoding: greedy}}
    - {type: embeddings, model: sentence-transformers/all-mpnet-base-v2}
    - {type: neighbors, force: true}
initialization_stages:
  - name: sample/persona
  - name: scenario
    sampler_mix:
      - {sampler: {type: tc/neighbor, k: 15, min_score: 0.0}, weight: 1.0}
      - {sampler: {type: tc/random, k: 4, namespace: shop, strategy: uniform, min_score: 0.0}, weight: 0.5}
      - {sampler: {type: tc/chain, k: 3, min_score: 0.7}, weight: 0.5}
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
