//! The values of an app file with their variables and secrets.

use std::cell::RefCell;

use serde_json::Value;
use toolcrib_document::{Error, expand};
use toolcrib_model::Secret;
use toolcrib_results::is_secret;

use crate::AppFile;
use crate::file::templates::{self, TemplateKind};
use crate::file::variables::{lookup, with_texts};

/// Keys whose texts are paths, where `$NAME` and `~` count too.
const PATH_KEYS: [&str; 4] = ["path", "spec", "cwd", "cache"];

/// The key of a source whose texts depend on the user of a call.
const USER_TEXTS: &str = "user_headers";

/// Returns the value at a pointer with its variables filled in, and the error of the first one that is not set, whose
/// text stays as it is written.
pub(crate) fn filled(file: &AppFile, value: &Value, pointer: &str) -> (Value, Option<Error>) {
    with_texts(value, pointer, &|text, pointer| {
        // `/tools/registry/0/path` is a setting; what stands deeper is not ours to know.
        let mut segments = pointer.split('/').skip(1);
        let key = segments.nth(3);
        if key == Some(USER_TEXTS) {
            // Filled in for each call.
            return Ok(text.to_owned());
        }
        let is_path = key.is_some_and(|key| PATH_KEYS.contains(&key)) && segments.next().is_none();
        expanded(file, text, pointer, is_path)
    })
}

/// One text with its variables and secrets filled in; an unset one is an error at its place. The values of secrets are
/// noted, so that nothing says them.
pub(crate) fn expanded(file: &AppFile, text: &str, pointer: &str, is_path: bool) -> Result<String, Error> {
    templates::expanded(file, text, pointer, TemplateKind::Setting { is_path })
}

/// Returns the values of the secrets in a text.
pub(crate) fn secret_values(file: &AppFile, text: &str, pointer: &str) -> Vec<Secret> {
    let named = templates::secrets_in(text).into_iter();
    let found = RefCell::new(
        named.filter_map(|name| Some(file.providers.read(name).ok()?.secret)).collect::<Vec<_>>(),
    );
    // A variable that is not set has been reported before.
    let _ = expand(text, &|name: &str| {
        let value = lookup(file, name)?;
        if is_secret(pointer, text, name) {
            found.borrow_mut().push(Secret::new(value.as_str()));
        }
        Some(value)
    });
    found.into_inner()
}
