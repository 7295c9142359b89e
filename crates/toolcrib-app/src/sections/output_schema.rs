//! `runtime.output_schema`: the schema of the answers of an app.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_agent::chat::{MAX_OUTPUT_SCHEMA_BYTES, OutputSchema};
use toolcrib_document::{Error as DocumentError, Format, Limits, parse};
use toolcrib_io::files::read_bounded;
use toolcrib_model::JsonObject;

use crate::file::expansion;
use crate::{AppFile, Error};

/// The JSON pointer of the setting.
const POINTER: &str = "/runtime/output_schema";

/// `runtime.output_schema`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[non_exhaustive]
pub enum OutputSchemaConfig {
    /// A file in JSON or YAML, relative to the app file.
    File(String),
    /// The schema itself.
    Inline(#[schemars(with = "BTreeMap<String, Value>")] JsonObject),
}

/// The schema of the answers of an app, and the file that it is read from.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedOutputSchema {
    pub(crate) schema: Result<Arc<OutputSchema>, DocumentError>,
    pub(crate) path: Option<PathBuf>,
}

impl ResolvedOutputSchema {
    pub(crate) fn new(config: &OutputSchemaConfig, file: &AppFile) -> Self {
        let wrong = |error: String| file.error_at(POINTER, error);
        match config {
            OutputSchemaConfig::Inline(schema) => {
                let schema = OutputSchema::new(&Value::Object(schema.clone()));
                let schema = schema.map(Arc::new).map_err(|error| wrong(error.to_string()));
                Self { schema, path: None }
            }
            OutputSchemaConfig::File(path) => match expansion::expanded(file, path, POINTER, true) {
                Ok(path) => {
                    let path = file.path(&path);
                    let schema = read_output_schema(&path).map_err(|error| wrong(error.to_string()));
                    Self { schema, path: Some(path) }
                }
                Err(error) => Self { schema: Err(error), path: None },
            },
        }
    }
}

/// Reads the schema of answers from a file in JSON or YAML.
///
/// # Errors
///
/// The file cannot be read, or is no schema that can be used.
pub fn read_output_schema(path: &Path) -> Result<Arc<OutputSchema>, Error> {
    let wrong = |message: String| Error::Part { part: path.display().to_string(), message };
    let bytes = read_bounded(path, MAX_OUTPUT_SCHEMA_BYTES as u64)
        .map_err(|source| Error::OutputSchema { source })?;
    let document = parse(&bytes, Format::detect(path, &bytes), &Limits::default())
        .map_err(|error| wrong(error.to_string()))?;
    let schema = OutputSchema::new(&document.value).map_err(|error| wrong(error.to_string()))?;
    Ok(Arc::new(schema))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use crate::{App, Blueprint};

    #[test]
    fn the_schema_of_answers_is_in_the_app_file_or_in_a_file_next_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let schema = json!({"type": "object", "properties": {"total": {"type": "number"}}});
        fs::write(folder.path().join("answer.yaml"), schema.to_string()).unwrap();
        let app = folder.path().join("app.yaml");
        for setting in ["answer.yaml".to_owned(), schema.to_string()] {
            fs::write(&app, format!("runtime: {{output_schema: {setting}}}\n")).unwrap();
            assert_eq!(*App::open(&app).unwrap().output_schema().unwrap().schema(), schema);
            Blueprint::open(&app).unwrap();
        }
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_an_error_at_its_place() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("wrong.json"), r#"{"type": "objekt"}"#).unwrap();
        fs::write(folder.path().join("broken.json"), "{").unwrap();
        let app = folder.path().join("app.yaml");
        let told = ["missing.json", "wrong.json", "broken.json", "{type: objekt}", "[1]"].map(|setting| {
            fs::write(&app, format!("runtime:\n  output_schema: {setting}\n")).unwrap();
            let error = Blueprint::open(&app).map(drop).unwrap_err().to_string();
            error.replace(folder.path().to_str().unwrap(), "FOLDER")
        });
        insta::assert_snapshot!(told.join("\n"));
    }
}
