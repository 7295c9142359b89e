//! The server of an operation.

use std::collections::BTreeMap;

use serde_json::Value;
use url::Url;

use crate::Error;

/// The most values of a variable that a message lists.
const MAX_LISTED_VALUES: usize = 20;

/// The settings that determine the server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerSettings<'a> {
    /// The `base_url` setting, which takes precedence over the document.
    pub(crate) configured: Option<&'a Url>,
    /// The URL of the document, which relative server URLs are resolved against.
    pub(crate) document: Option<&'a Url>,
    /// The values of server variables, which override their defaults.
    pub(crate) variables: Option<&'a BTreeMap<String, String>>,
}

impl ServerSettings<'_> {
    /// Returns the server of an operation: the setting, or else the first of the innermost list of `servers`.
    pub(crate) fn server(&self, levels: [Option<&Value>; 3]) -> Result<Url, Error> {
        if let Some(url) = self.configured {
            return Ok(url.clone());
        }
        let server = levels.into_iter().flatten().find_map(|servers| servers.as_array()?.first());
        let text = match server {
            Some(server) => self.fill_in(server)?,
            None => "/".to_owned(),
        };
        let url = match (Url::parse(&text), self.document) {
            (Ok(url), _) => url,
            (Err(url::ParseError::RelativeUrlWithoutBase), Some(document)) => {
                document.join(&text).map_err(|error| no_server(&text, &error.to_string()))?
            }
            (Err(url::ParseError::RelativeUrlWithoutBase), None) => {
                return Err(no_server(&text, "is relative, and the document came from a file"));
            }
            (Err(error), _) => return Err(no_server(&text, &error.to_string())),
        };
        check(&url).map_err(|problem| no_server(&text, problem))?;
        Ok(url)
    }
}

/// Rejects a URL that calls cannot be sent to.
pub(crate) fn check(url: &Url) -> Result<(), &'static str> {
    if !matches!(url.scheme(), "http" | "https") {
        Err("is neither http nor https")
    } else if !url.username().is_empty() || url.password().is_some() {
        Err("contains a user or password, which belong in `auth` or `headers`")
    } else {
        Ok(())
    }
}

fn no_server(text: &str, problem: &str) -> Error {
    Error::NoServer { problem: format!("the server `{text}` of the document {problem}") }
}

impl ServerSettings<'_> {
    /// Returns the URL of a server. Its variables are replaced by their settings or defaults.
    fn fill_in(&self, server: &Value) -> Result<String, Error> {
        let text = server.get("url").and_then(Value::as_str).unwrap_or("/");
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) =
                after.split_once('}').ok_or_else(|| no_server(text, "has a `{` without its `}`"))?;
            let variable = server.get("variables").and_then(|variables| variables.get(name));
            out.push_str(before);
            out.push_str(&self.value(text, name, variable.unwrap_or(&Value::Null))?);
            rest = behind;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn value(&self, text: &str, name: &str, variable: &Value) -> Result<String, Error> {
        let Some(set) = self.variables.and_then(|variables| variables.get(name)) else {
            return variable.get("default").and_then(plain).ok_or_else(|| {
                let problem = format!("has no default for its variable `{name}`, which `variables` can set");
                no_server(text, &problem)
            });
        };
        let known: Vec<String> =
            variable.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(plain).collect();
        if known.is_empty() || known.contains(set) {
            return Ok(set.clone());
        }
        let problem = format!(
            "does not allow `{set}` for its variable `{name}`, only {}",
            known.iter().take(MAX_LISTED_VALUES).map(String::as_str).collect::<Vec<_>>().join(", ")
        );
        Err(no_server(text, &problem))
    }
}

/// Returns the value of a variable as text. YAML parses ports and versions as numbers.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
