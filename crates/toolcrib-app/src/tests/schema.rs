//! What the schema of an app file takes and refuses.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib_document::{Format, Limits, parse};
use toolcrib_schema::CompiledSchema;

use crate::{AppConfig, Blueprint, EntryContext, Extensions, NoConfig};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below a folder whose names fit.
fn files(folder: &Path, fits: &dyn Fn(&str) -> bool, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            if name != "target" && name != "node_modules" {
                files(&entry.path(), fits, found);
            }
        } else if fits(&name) {
            found.push(entry.path());
        }
    }
}

/// The YAML that the documents show, each with the page where it stands.
fn examples() -> Vec<(String, String)> {
    let mut pages = vec![root().join("README.md")];
    for folder in ["docs", "examples"] {
        let is_page = |name: &str| Path::new(name).extension().is_some_and(|extension| extension == "md");
        files(&root().join(folder), &is_page, &mut pages);
    }
    let blocks = pages.iter().flat_map(|page| {
        let text = fs::read_to_string(page).unwrap();
        let blocks = text.split("```yaml\n").skip(1).filter_map(|block| block.split("```").next());
        blocks.map(|block| (page.display().to_string(), block.to_owned())).collect::<Vec<_>>()
    });
    blocks.collect()
}

/// Texts of app files, each with where it stands: whole files, and what the documents show that is read as one.
fn app_files() -> Vec<(String, Value)> {
    let mut yaml = Vec::new();
    for folder in ["crates", "examples", "tests"] {
        files(&root().join(folder), &|name| name == "app.yaml", &mut yaml);
    }
    let value = |text: &str| parse(text.as_bytes(), Format::Yaml, &Limits::default()).ok();
    let mut texts: Vec<(String, Value)> = yaml
        .iter()
        .map(|path| (path.display().to_string(), value(&fs::read_to_string(path).unwrap()).unwrap().value))
        .collect();
    assert!(texts.len() > 3, "{texts:?}");
    for (place, block) in examples() {
        // What is a part of one, or something else, is not read as one.
        if let Some(document) = value(&block)
            && document.deserialize::<AppConfig>().is_ok()
        {
            texts.push((format!("{place}: {block}"), document.value));
        }
    }
    texts
}

/// The schema of files that also name modules and loaders of others.
fn schema_for(texts: &[(String, Value)]) -> CompiledSchema {
    let mut extensions = Extensions::default();
    for (_, value) in texts {
        let modules = value.get("modules").and_then(Value::as_object);
        for id in modules.into_iter().flat_map(|modules| modules.keys()) {
            if !extensions.modules().any(|known| known == id) {
                let unused = |_: Value, _: &EntryContext<'_>| Err("it is not made".to_owned());
                extensions = extensions.with_module(id.clone(), unused);
            }
        }
        let entries = value.pointer("/tools/registry").and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let kind = entry["type"].as_str().unwrap().to_owned();
            if !extensions.loaders().any(|known| known == kind) {
                let unused = |NoConfig {}, _: &EntryContext<'_>| Err("it is not opened".to_owned());
                extensions = extensions.with_loader(kind, unused);
            }
        }
    }
    CompiledSchema::compile(&extensions.app_schema()).unwrap()
}

fn schema() -> CompiledSchema {
    CompiledSchema::compile(&Extensions::default().app_schema()).unwrap()
}

#[test]
fn every_app_file_of_the_repository_fits_the_schema() {
    let texts = app_files();
    assert!(texts.len() > 15, "{} app files", texts.len());
    let schema = schema_for(&texts);
    assert_eq!(schema.unchecked(), &[]);
    for (place, value) in &texts {
        schema.validate(value).unwrap_or_else(|violations| panic!("{place}: {violations}"));
    }
}

/// What makes an example useless to its reader: all that is wrong with it, but for what it needs of the reader's machine.
fn faults(text: &str) -> Vec<String> {
    let is_of_machine = |error: &String| {
        ["is not set", "No such file", "cannot be read", "is no folder", "does not exist", "unknown skill"]
            .iter()
            .any(|part| error.contains(part))
    };
    let wrong = match Blueprint::from_text("example.yaml", text) {
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
        Ok(_) => Vec::new(),
    };
    wrong.into_iter().filter(|error| !is_of_machine(error)).collect()
}

#[test]
fn every_app_that_the_documents_show_can_be_used_as_it_stands() {
    let keys = schema_keys();
    let is_app = |text: &str| {
        let document = parse(text.as_bytes(), Format::Yaml, &Limits::default()).ok()?;
        let map = document.value.as_object()?;
        // A tool file has a list under `tools`, and a manifest keys of its own.
        (map.keys().all(|key| keys.contains(key)) && map.get("tools").is_none_or(Value::is_object))
            .then_some(())
    };
    // Tutorials are run, with the modules that they build.
    let is_run = |page: &str| page.contains("docs/tutorials/");
    let apps: Vec<_> =
        examples().into_iter().filter(|(page, text)| !is_run(page) && is_app(text).is_some()).collect();
    assert!(apps.len() > 15, "{} examples", apps.len());
    let faults: Vec<String> = apps
        .iter()
        .flat_map(|(place, text)| {
            faults(text).into_iter().map(move |fault| format!("{place}: {fault}\n{text}"))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_block_of_yaml_that_the_documents_show_can_be_read() {
    // A tutorial may show the end of a file, and is run.
    for (page, block) in examples().into_iter().filter(|(page, _)| !page.contains("docs/tutorials/")) {
        let parsed = parse(block.as_bytes(), Format::Yaml, &Limits::default());
        assert!(parsed.is_ok(), "{page}: {:?}\n{block}", parsed.err());
    }
}

#[test]
fn an_example_whose_keys_do_not_go_together_is_found() {
    let text = "tools: {registry: [{type: mcp, name: a, command: [x], max_sessions: 16}]}";
    assert_eq!(faults(text).len(), 1, "{:?}", faults(text));
}

/// The keys of an app file.
fn schema_keys() -> Vec<String> {
    let schema = Extensions::default().app_schema();
    schema["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn a_key_that_is_misspelt_does_not_fit() {
    let schema = schema();
    let all = json!({
        "app": {"id": "support", "workspace": "./work"},
        "agents": [{
            "id": "a",
            "brain": {"provider": "openai", "tool_choice": "auto", "fallback": [{"provider": "ollama"}]},
        }],
        "modules": {
            "hello": {},
            "memory": {"config": null},
            "filesystem": {"constraints": {"allowed_actions": ["read"]}, "limits": {"timeout_seconds": 1.5}},
            "database": {
                "config": {"timeout_seconds": 10, "connections": {"main": {"driver": "sqlite", "database": "d"}}},
                "setup": [{"action": "connect", "params": {"driver": "sqlite"}}],
            },
            "http": {"config": {"headers": {"a.example": {"X-Key": "{{secret.KEY}}"}}}},
        },
        "tools": {
            "registry": [{"type": "file", "path": "a.yaml", "engine": "e", "limits": {"retries": 1}}],
            "engines": {"e": {"type": "command", "argv": ["./x"]}},
            "enrichments": [{"type": "neighbors"}, {"type": "dataflow", "similarity": "names"}],
            "capabilities": {"default_policy": "approve", "grant": [{"module": "filesystem", "risk": "low"}]},
            "limits": {"tools": {"a.b": {"rate": {"calls": 5, "per_seconds": 1}}}},
            "search": {"tier": "keyword"},
        },
        "runtime": {"tool_injection": "auto", "max_turns": 50},
        "audit": {"path": "audit.jsonl"},
    });
    schema.validate(&all).unwrap();
    for (pointer, wrong) in [
        ("", json!({"agent": []})),
        ("/app", json!({"workspce": "."})),
        ("/agents/0/brain", json!({"modle": "gpt"})),
        ("/agents/0/brain/fallback/0", json!({"modle": "gpt"})),
        ("/modules", json!({"helo": {}})),
        ("/modules/hello", json!({"constrains": {}})),
        ("/modules/memory", json!({"config": {"folder": "."}})),
        ("/modules/filesystem/limits", json!({"timeout": 1})),
        ("/modules/database/config", json!({"timeout_second": 10})),
        ("/modules/database/config/connections/main", json!({"drive": "sqlite"})),
        ("/modules/database/setup/0", json!({"parameters": {}})),
        ("/tools", json!({"registri": []})),
        ("/tools/registry/0", json!({"type": "fiel"})),
        ("/tools/registry/0/limits", json!({"retry": 1})),
        ("/tools/engines/e", json!({"type": "comand"})),
        ("/tools/enrichments/0", json!({"type": "neighbours"})),
        ("/tools/capabilities", json!({"grants": []})),
        ("/tools/capabilities/grant/0", json!({"action": ["read"]})),
        ("/tools/capabilities/grant/0", json!({"risk": "lowest"})),
        ("/tools/limits/tools/a.b/rate", json!({"second": 1})),
        ("/runtime", json!({"tool_injection": "automatic"})),
        ("/audit", json!({"file": "x"})),
    ] {
        let mut value = all.clone();
        let place = value.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
        place.extend(wrong.as_object().unwrap().clone());
        assert!(!schema.accepts(&value), "{pointer}: {wrong}");
    }
}

#[test]
fn a_schema_is_for_readers_of_app_files() {
    let text = Extensions::default().app_schema().to_string();
    for word in ["crate::", "[`", "uint32"] {
        assert!(!text.contains(word), "{word}: {}", text.split(word).next().unwrap_or_default().len());
    }
}
