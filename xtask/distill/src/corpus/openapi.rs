//! The texts of the operations of OpenAPI documents.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};
use toolcrib_model::words_of_name;

use super::Corpus;

/// The methods under which a path has operations.
const METHODS: [&str; 7] = ["delete", "get", "head", "options", "patch", "post", "put"];

/// The most operations of one document: a document of a thousand like ones would outweigh all others.
const MAX_OPERATIONS: usize = 200;

/// Reads every document of a folder, in the order of their names. One that is broken is left out.
pub(super) fn read(folder: &Path, corpus: &mut Corpus) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    for file in files.iter().filter(|file| file.is_file()) {
        let bytes = fs::read(file).with_context(|| file.display().to_string())?;
        let limits = Limits::default().with_scalar_keys();
        if let Ok(document) = parse(&bytes, Format::detect(file, &bytes), &limits) {
            operations(&document.value, corpus);
        }
    }
    Ok(())
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
