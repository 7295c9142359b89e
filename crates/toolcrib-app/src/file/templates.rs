//! `{{…}}` in the values of an app file: secrets in each, and more in what it says of its modules: `config`, and the
//! `params` of `setup`.

use serde_json::Value;
use toolcrib_document::Error;
use toolcrib_model::Secret;
use toolcrib_results::{MIN_SECRET_BYTES, is_secret};

use crate::AppFile;
use crate::file::variables;
use crate::secrets::Reference;

/// The names that are valid between the braces.
const KNOWN: &str = "`{{workspace}}`, `{{env.NAME}}` and `{{secret.NAME}}`";

/// The beginning of a reference to a secret between the braces.
pub(super) const SECRET: &str = "secret.";

/// The kind of a template, by the part of an app file in which it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemplateKind {
    /// The settings of modules: all braces mean a value.
    Module,
    /// Any other value: only secrets are named by braces, which may be anything else in a text of the operator.
    Setting {
        /// True if the value is a path, where `$NAME` and `~` count too.
        is_path: bool,
    },
}

/// Returns the value at a pointer with its variables filled in: `${NAME}` as anywhere in the file, and `{{…}}`.
pub(crate) fn filled(file: &AppFile, value: &Value, pointer: &str) -> Result<Value, Error> {
    match variables::with_texts(value, pointer, &|text, pointer| {
        expanded(file, text, pointer, TemplateKind::Module)
    }) {
        (filled, None) => Ok(filled),
        (_, Some(error)) => Err(error),
    }
}

/// Expands one text in one pass: inserted values are not expanded again. `{{{{` is an escaped `{{`; outside of modules only
/// before the name of a secret.
pub(crate) fn expanded(
    file: &AppFile,
    text: &str,
    pointer: &str,
    kind: TemplateKind,
) -> Result<String, Error> {
    let wrong = |message: String| file.error_at(pointer, message);
    let is_path = kind == TemplateKind::Setting { is_path: true };
    let plain = |text: &str| variables::without_braces(file, text, pointer, is_path);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = next_braces(rest, kind) {
        if before.rfind("${").is_some_and(|at| !before.get(at..).unwrap_or_default().contains('}')) {
            return Err(wrong("`{{` cannot stand inside of `${…}`".into()));
        }
        out.push_str(&plain(before)?);
        if let Some(after) = from.strip_prefix("{{") {
            out.push_str("{{");
            rest = after;
            continue;
        }
        let Some((inside, after)) = split_at_end(from) else {
            return Err(wrong(format!(
                "`{{{{` without `}}}}`; there is {KNOWN}, and `{{{{{{{{` for two braces"
            )));
        };
        out.push_str(&value(file, text, inside, pointer).map_err(wrong)?);
        rest = after;
    }
    out.push_str(&plain(rest)?);
    Ok(out)
}

/// Splits a text before and behind the next braces that count.
fn next_braces(text: &str, kind: TemplateKind) -> Option<(&str, &str)> {
    if kind == TemplateKind::Module {
        return text.split_once("{{");
    }
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find("{{")?;
        let inside = text.get(at + 2..)?;
        if names_secret(inside) || inside.strip_prefix("{{").is_some_and(names_secret) {
            return Some((text.get(..at)?, inside));
        }
        from = at + 2;
    }
}

fn names_secret(inside: &str) -> bool {
    inside.trim_start().starts_with(SECRET)
}

/// Splits a text at the braces that end it, before which there may be others in pairs.
pub(super) fn split_at_end(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut from) = (0_usize, 0);
    loop {
        let rest = text.get(from..)?;
        let end = rest.find("}}")?;
        match rest.find("{{").filter(|begin| *begin < end) {
            Some(begin) => (depth, from) = (depth + 1, from + begin + 2),
            None if depth > 0 => (depth, from) = (depth - 1, from + end + 2),
            None => return Some((text.get(..from + end)?, text.get(from + end + 2..)?)),
        }
    }
}

/// Returns the references to secrets in a text: what stands between the braces after `secret.`.
pub(crate) fn secrets_in(text: &str) -> Vec<&str> {
    let names = braced_names(text, TemplateKind::Setting { is_path: false }).into_iter();
    names.filter_map(|inside| inside.strip_prefix(SECRET)).map(str::trim).collect()
}

/// Returns what all braces of a text name.
pub(super) fn names_in(text: &str) -> Vec<&str> {
    braced_names(text, TemplateKind::Module)
}

fn braced_names(text: &str, kind: TemplateKind) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, from)) = next_braces(rest, kind) {
        if let Some(after) = from.strip_prefix("{{") {
            rest = after;
            continue;
        }
        let Some((inside, after)) = split_at_end(from) else { break };
        found.push(inside.trim());
        rest = after;
    }
    found
}

/// Returns a text in which no braces name a secret, for a value that another program wrote.
pub fn escape_secrets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = next_braces(rest, TemplateKind::Setting { is_path: false }) {
        out.push_str(before);
        out.push_str("{{{{");
        rest = from;
        // One pair more makes the last pair of a run one of text.
        while let Some(after) = rest.strip_prefix("{{") {
            out.push_str("{{");
            rest = after;
        }
    }
    out.push_str(rest);
    out
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
            let value = variables::lookup(file, variable).ok_or_else(|| {
                format!("the environment variable `{variable}` is not set; set it, or give a default: ${{{variable}:-…}}")
            })?;
            // Whether it is in a part of a URL that is private, is asked of the other way to write it.
            let plain = text.replace(&format!("{{{{{inside}}}}}"), &format!("${{{variable}}}"));
            if is_secret(pointer, &plain, variable) {
                file.secrets.add(variable, Secret::new(value.as_str()));
            }
            Ok(value)
        }
        Some(("secret", reference)) => secret(file, reference.trim()),
        _ => Err(format!("unknown `{{{{{name}}}}}`; there is {KNOWN}")),
    }
}

/// Reads a secret, which is masked from then on.
pub(super) fn secret(file: &AppFile, reference: &str) -> Result<String, String> {
    let secret = file.providers.read(reference)?.secret;
    let label = Reference::parse(reference)?;
    if !file.secrets.add(label.label(), secret.clone()) {
        return Err(format!(
            "the secret `{}` cannot be kept out of what is shown: it has fewer than {MIN_SECRET_BYTES} bytes, or there \
             are too many secrets",
            label.label()
        ));
    }
    Ok(secret.expose().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_secrets_count_outside_of_modules_and_can_be_escaped() {
        assert_eq!(secrets_in("a {{x}} {{secret.A}} {{ secret.b: c#d }} {{{{secret.E}}"), ["A", "b: c#d"]);
        let nested = "{{secret.cmd: [op, read, \"op://{{user}}/x\"]}}!";
        assert_eq!(secrets_in(nested), ["cmd: [op, read, \"op://{{user}}/x\"]"]);
        for text in ["{{secret.A}}", "{{{{secret.A}}", "{{ secret.A}} {{x}}", "{{{{{{secret.A}}"] {
            let escaped = escape_secrets(text);
            assert!(secrets_in(&escaped).is_empty(), "{escaped}");
            let file = crate::App::from_text("app.yaml", "").unwrap().file;
            let setting = TemplateKind::Setting { is_path: false };
            assert_eq!(expanded(&file, &escaped, "/app/name", setting).unwrap(), text);
        }
        assert_eq!(escape_secrets("{{x}} {a}"), "{{x}} {a}");
    }
}
