//! `{{…}}` in what an app file says of its modules: `config`, and the `params` of `setup`.

use serde_json::Value;
use toolcrib_document::Error;
use toolcrib_model::Secret;
use toolcrib_results::{MIN_SECRET_BYTES, is_secret};

use crate::AppFile;
use crate::file::variables;

/// The names that are valid between the braces.
const KNOWN: &str = "`{{workspace}}`, `{{env.NAME}}` and `{{secret.NAME}}`";

/// Returns the value at a pointer with its variables filled in: `${NAME}` as anywhere in the file, and `{{…}}`.
pub(crate) fn filled(file: &AppFile, value: &Value, pointer: &str) -> Result<Value, Error> {
    match variables::with_texts(value, pointer, &|text, pointer| expanded(file, text, pointer)) {
        (filled, None) => Ok(filled),
        (_, Some(error)) => Err(error),
    }
}

/// Expands one text in one pass: inserted values are not expanded again. `{{{{` is an escaped `{{`.
fn expanded(file: &AppFile, text: &str, pointer: &str) -> Result<String, Error> {
    let wrong = |message: String| file.error_at(pointer, message);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once("{{") {
        if before.rfind("${").is_some_and(|at| !before.get(at..).unwrap_or_default().contains('}')) {
            return Err(wrong("`{{` cannot stand inside of `${…}`".into()));
        }
        out.push_str(&variables::expanded(file, before, pointer, false)?);
        if let Some(after) = from.strip_prefix("{{") {
            out.push_str("{{");
            rest = after;
            continue;
        }
        let Some((inside, after)) = from.split_once("}}") else {
            return Err(wrong(format!(
                "`{{{{` without `}}}}`; there is {KNOWN}, and `{{{{{{{{` for two braces"
            )));
        };
        out.push_str(&value(file, text, inside, pointer).map_err(wrong)?);
        rest = after;
    }
    out.push_str(&variables::expanded(file, rest, pointer, false)?);
    Ok(out)
}

/// Returns the value of a name between braces. Secret values are registered, so that they are masked in output.
fn value(file: &AppFile, text: &str, inside: &str, pointer: &str) -> Result<String, String> {
    let name = inside.trim();
    if name == "workspace" {
        let workspace = file.workspace().map_err(|error| error.to_string())?;
        let path = std::path::absolute(workspace).map_err(|error| format!("the workspace: {error}"))?;
        return path.into_os_string().into_string().map_err(|path| {
            format!("the workspace {} is not UTF-8, and cannot be written into a text", path.display())
        });
    }
    match name.split_once('.') {
        Some(("env", variable)) => {
            let value = variables::lookup(variable).ok_or_else(|| {
                format!("the environment variable `{variable}` is not set; set it, or give a default: ${{{variable}:-…}}")
            })?;
            // Whether it is in a part of a URL that is private, is asked of the other way to write it.
            let plain = text.replace(&format!("{{{{{inside}}}}}"), &format!("${{{variable}}}"));
            if is_secret(pointer, &plain, variable) {
                file.secrets.add(variable, Secret::new(value.as_str()));
            }
            Ok(value)
        }
        Some(("secret", variable)) => {
            let value = variables::lookup(variable).ok_or_else(|| {
                format!("the secret `{variable}` is not set; set the environment variable `{variable}`")
            })?;
            if !file.secrets.add(variable, Secret::new(value.as_str())) {
                return Err(format!(
                    "the secret `{variable}` cannot be kept out of what is shown: it has fewer than {MIN_SECRET_BYTES} bytes, \
                     or there are too many secrets"
                ));
            }
            Ok(value)
        }
        _ => Err(format!("unknown `{{{{{name}}}}}`; there is {KNOWN}")),
    }
}
