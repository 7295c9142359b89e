//! The promises of `tools.engines` with simulated tools and routes.

use super::wrong;
use crate::Blueprint;

/// Returns the error of an app with these engines.
fn wrong_engines(engines: &str) -> String {
    wrong(&format!(
        "agents: [{{id: teacher, brain: {{provider: ollama, model: m}}}}]\ntools:\n  engines:\n    {engines}\n"
    ))
}

#[test]
fn what_is_wrong_with_a_simulated_engine_is_reported_at_its_place() {
    let errors = [
        "a: {type: simulated}",
        "a: {type: simulated, model: techer}",
        "a: {type: simulated, model: {provider: ollama, modle: m}}",
        "a: {type: simulated, model: {provider: ollama, model: m, temperature: 9}}",
        "a: {type: simulated, model: {provider: recorded, model: m}}",
        "a: {type: simulated, model: {provider: recorded, recording: none.yaml}}",
        "a: {type: simulated, model: teacher, samples: 99}",
        "a: {type: simulated, model: teacher, sampels: 9}",
        "a: {type: simulated, model: teacher, error_categories: {quota: 0.5}}",
        "a: {type: simulated, model: teacher, error_categories: {quota: often}}",
        "a: {type: simulated, model: teacher, cache: 7}",
    ];
    insta::assert_snapshot!(errors.map(wrong_engines).join("\n"));
}

#[test]
fn what_is_wrong_with_routes_is_reported_at_its_place() {
    let errors = [
        "a: {type: multi, routes: [{tools: 'x::*', engine: fake}]}",
        "a: {type: multi, routes: [{tools: '', engine: own}]}",
        "a: {type: multi, routes: [{tools: x, engin: own}]}",
        "a: {type: multi, default: b}\n    b: {type: multi, default: a}",
    ];
    insta::assert_snapshot!(errors.map(wrong_engines).join("\n"));
    let text = "tools: {registry: [{type: file, path: t.yaml, namespace: t, engine: a}], engines: {a: {type: multi, default: own}}}";
    insta::assert_snapshot!(wrong(text), @"app.yaml:1:101: `own` is the engine that a source brings, and this source brings none");
}

#[test]
fn what_is_wrong_with_an_engine_that_searches_documents_is_reported_at_its_place() {
    let errors = [
        "a: {type: search/file, path: none.jsonl}",
        "a: {type: search/file, documents: []}",
        "a: {type: search/in_memory, documents: [], siez: 3}",
        "a: {type: search/in_memory, documents: [], relevance_threshold: 7}",
        "a: {type: search/in_memory, documents: [], size: 0}",
        "a: {type: search/memory, documents: []}",
    ];
    insta::assert_snapshot!(errors.map(wrong_engines).join("\n"));
}

#[test]
fn a_simulated_engine_has_the_model_of_an_agent_or_its_own() {
    for engine in [
        "{type: simulated, model: teacher, n: 3, stateful: true, cache: replies.jsonl}",
        "{type: lm, model: {provider: ollama, model: m}, error_categories: {network_error: 0.1}}",
    ] {
        let text = format!(
            "agents: [{{id: teacher, brain: {{provider: ollama, model: m}}}}]\ntools: {{engines: {{a: {engine}}}}}\n"
        );
        Blueprint::from_text("app.yaml", &text).unwrap();
    }
}
