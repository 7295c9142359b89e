//! The texts of the operations of OpenAPI documents, of those that may be used.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};
use toolcrib_model::text::words_of_name;

use super::{Corpus, Origin};

/// The methods under which a path has operations.
const METHODS: [&str; 7] = ["delete", "get", "head", "options", "patch", "post", "put"];

/// The most operations of one document: a document of a thousand like ones would outweigh all others.
const MAX_OPERATIONS: usize = 200;

/// The list of the documents of a folder.
const LIST: &str = "index.json";

/// The repositories whose documents are read, with the licence of each: permissive ones alone, since the table is given
/// to everybody. A repository that is not here was not looked at, or its licence was not found.
const REPOSITORIES: [(&str, &str); 4] = [
    ("OAI/OpenAPI-Specification", "Apache-2.0"),
    ("kubernetes-sigs/kubectl-validate", "Apache-2.0"),
    ("readmeio/oas-examples", "MIT"),
    ("twilio/twilio-oai", "Apache-2.0"),
];

/// What a document may name as the licence of what it describes; one that names another is left out.
const LICENCES: [&str; 3] = ["Apache 2.0", "ISC", "MIT"];

/// Whose a document is.
#[derive(Deserialize)]
struct Entry {
    file: String,
    repo: String,
    rev: String,
}

/// Reads the documents of a folder that its list names, in the order of their names. One that is broken, and one whose
/// licence is not a permissive one, is left out.
pub(super) fn read(folder: &Path, corpus: &mut Corpus) -> Result<()> {
    let list = folder.join(LIST);
    let entries = || Ok::<Vec<Entry>, anyhow::Error>(serde_json::from_slice(&fs::read(&list)?)?);
    let mut entries = entries().with_context(|| list.display().to_string())?;
    entries.sort_by(|one, other| one.file.cmp(&other.file));
    for entry in entries {
        let file = folder.join(&entry.file);
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        let limits = Limits::default().with_scalar_keys();
        let Ok(document) = parse(&bytes, Format::detect(&file, &bytes), &limits) else { continue };
        match licence(&entry.repo, &document.value) {
            Ok(license) => {
                let origin =
                    Origin { source: entry.repo.clone(), commit: entry.rev, license: license.to_owned() };
                corpus.origins.insert(entry.repo, origin);
                operations(&document.value, corpus);
            }
            Err(why) => {
                corpus.left_out.insert(entry.file, why);
            }
        }
    }
    Ok(())
}

/// The licence of the repository of a document, or why the document may not be used.
fn licence(repository: &str, document: &Value) -> Result<&'static str, String> {
    let Some((_, licence)) = REPOSITORIES.iter().find(|(known, _)| *known == repository) else {
        return Err(format!("no licence is known of {repository}"));
    };
    match document.pointer("/info/license/name").and_then(Value::as_str) {
        Some(own) if !LICENCES.contains(&own) => Err(format!("its licence is {own}")),
        _ => Ok(licence),
    }
}

fn operations(document: &Value, corpus: &mut Corpus) {
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    let all = paths.flat_map(|(path, item)| {
        METHODS.iter().filter_map(move |method| Some((format!("{method} {path}"), item.get(*method)?)))
    });
    for (place, operation) in all.take(MAX_OPERATIONS) {
        let text = |key: &str| operation.get(key).and_then(Value::as_str);
        let name = words_of_name(text("operationId").unwrap_or(&place)).join(" ");
        let about: Vec<&str> = text("summary").into_iter().chain(text("description")).collect();
        super::tools::push(corpus, &name, &about.join("\n"), &parameters(document, operation).join("\n"));
    }
}

fn parameters(document: &Value, operation: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for parameter in operation.get("parameters").and_then(Value::as_array).into_iter().flatten() {
        let reference = parameter.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
        let parameter = reference.and_then(|pointer| document.pointer(pointer)).unwrap_or(parameter);
        let text = |key: &str| parameter.get(key).and_then(Value::as_str);
        lines.extend(text("name").map(|name| words_of_name(name).join(" ")));
        lines.extend(text("description").map(str::to_owned));
    }
    lines
}
