//! Environment variables in the values of an app file.

use serde_json::Value;
use toolcrib_document::{Error, expand, expand_path};
use toolcrib_model::Secret;
use toolcrib_model::text::pointer_part;
use toolcrib_results::is_secret;

use crate::AppFile;
use crate::file::environment::environment;

/// Returns a variable of this process, or of the files of variables that the app reads.
pub(crate) fn lookup(file: &AppFile, name: &str) -> Option<String> {
    environment(name).or_else(|| file.providers.variable(name).map(str::to_owned))
}

/// Returns the value at a pointer with another text in the place of each, and the first error. A text with an error
/// stays as it is.
pub(crate) fn with_texts(
    value: &Value,
    pointer: &str,
    filled: &dyn Fn(&str, &str) -> Result<String, Error>,
) -> (Value, Option<Error>) {
    let mut first = None;
    let mut lenient = |text: &str, pointer: &str| {
        filled(text, pointer).unwrap_or_else(|error| {
            first.get_or_insert(error);
            text.to_owned()
        })
    };
    let value = replaced(value, pointer, &mut lenient);
    (value, first)
}

fn replaced(value: &Value, pointer: &str, filled: &mut dyn FnMut(&str, &str) -> String) -> Value {
    match value {
        Value::String(text) => filled(text, pointer).into(),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(at, item)| replaced(item, &format!("{pointer}/{at}"), filled)).collect()
        }
        Value::Object(map) => {
            let entries = map.iter().map(|(key, item)| {
                let place = format!("{pointer}/{}", pointer_part(key));
                (key.clone(), replaced(item, &place, filled))
            });
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}

/// The schemes of credentials in a header, before the secret.
const SCHEMES: [&str; 3] = ["Bearer ", "Basic ", "Token "];

/// The fewest characters of a text that is taken for a secret by its place. Shorter ones are words as a rule, which
/// results may well hold.
const MIN_LITERAL_CHARS: usize = 8;

/// Returns a literal secret of the app file with the name of its setting: below `headers`, `env`, `auth` and `cookies`
/// under a name that indicates one, in a setting such as `api_key`, or as the password of a URL. It is masked too,
/// although a variable would be better.
fn literal_secret<'a>(pointer: &'a str, text: &'a str) -> Option<(&'a str, &'a str)> {
    const PLACES: [&str; 4] = ["headers", "env", "auth", "cookies"];
    const NAMES: [&str; 7] =
        ["api_key", "token", "access_token", "password", "secret", "client_secret", "bearer"];
    if text.contains("${") {
        return None;
    }
    let mut segments = pointer.rsplit('/');
    let name = segments.next().unwrap_or_default();
    let is_named =
        NAMES.contains(&name) || segments.any(|part| PLACES.contains(&part)) && is_secret("", "", name);
    // An address such as `token_url` is no secret, but for the password in it.
    let secret = if is_named && !text.contains("://") {
        SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text).trim()
    } else {
        let (_, rest) = text.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit_once('@')?.0.split_once(':')?.1
    };
    let is_number = secret.bytes().all(|byte| byte.is_ascii_digit());
    let is_long = secret.chars().count() >= MIN_LITERAL_CHARS;
    (is_long && !is_number && !secret.contains(char::is_whitespace)).then_some((name, secret))
}

/// Returns a text without templates with its variables filled in; an unset one is an error at its place. The values of
/// secrets are noted, so that nothing says them.
pub(super) fn without_braces(
    file: &AppFile,
    text: &str,
    pointer: &str,
    is_path: bool,
) -> Result<String, Error> {
    if let Some((name, secret)) = literal_secret(pointer, text) {
        file.secrets.add(name, Secret::new(secret));
    }
    let noting = |name: &str| {
        let value = lookup(file, name)?;
        if is_secret(pointer, text, name) {
            file.secrets.add(name, Secret::new(value.as_str()));
        }
        Some(value)
    };
    let filled = if is_path { expand_path(text, &noting) } else { expand(text, &noting) };
    filled.map_err(|unset| file.error_at(pointer, unset.to_string()))
}
