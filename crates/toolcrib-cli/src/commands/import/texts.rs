//! The texts of an entry, as an app file says the same: references are translated, secrets replaced by references.

use std::ops::Range;
use std::path::Path;

use toolcrib_app::escape_secrets;
use toolcrib_document::expand;

use super::variables::{Variables, variable_name};
use crate::arguments::Client;
use crate::commands::entry_secrets::{self as secret, is_variable};

/// The context in which the texts of an entry are read.
pub(super) struct Texts<'a, 'b> {
    /// The client whose references these are; `None` if only the format of the file is known.
    pub(super) client: Option<Client>,
    /// The folder of the project that the configuration belongs to.
    pub(super) project: Option<&'a Path>,
    pub(super) namespace: &'a str,
    /// As people are told of it: `` `name` in FILE``.
    pub(super) source: &'a str,
    pub(super) variables: &'a mut Variables<'b>,
}

impl Texts<'_, '_> {
    /// Returns a text in which nothing is a secret. An error says why it cannot be said in an app.
    pub(super) fn plain(&mut self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let inside = from.strip_prefix("${").and_then(|inside| inside.split_once('}'));
            let bare = from.get(1..).unwrap_or_default();
            let bare =
                bare.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
            rest = if let Some((inside, after)) = inside
                && let Some(translated) = self.reference(inside)?
            {
                if out.ends_with('$') && translated.starts_with("${") {
                    return Err("a `$` stands before a reference, which cannot be written".to_owned());
                }
                out.push_str(&translated);
                after
            } else if self.client == Some(Client::Gemini) && is_variable(bare) {
                let name = bare.to_owned();
                self.variables.named(&name, self.source);
                out.extend(["${", &name, "}"]);
                from.get(1 + name.len()..).unwrap_or_default()
            } else if let Some(after) = from.strip_prefix("${") {
                out.push_str("$${");
                after
            } else {
                out.push('$');
                from.get(1..).unwrap_or_default()
            };
        }
        out.push_str(rest);
        // Braces mean nothing to a client, and name secrets in an app.
        Ok(escape_secrets(&out))
    }

    /// Translates the text between `${` and `}` to an app's reference; `None` for ordinary text.
    fn reference(&mut self, inside: &str) -> Result<Option<String>, String> {
        let project = || {
            let project = self.project.and_then(Path::to_str).map(|path| path.replace("${", "$${"));
            project.ok_or_else(|| format!("`${{{inside}}}` is a folder that only a project has"))
        };
        let own = match inside {
            "userHome" => Some("${HOME}".to_owned()),
            "workspaceFolder" | "workspaceRoot" => Some(project()?),
            "workspaceFolderBasename" => {
                let name = project()?.rsplit('/').next().unwrap_or_default().to_owned();
                Some(name)
            }
            "pathSeparator" | "/" => Some("/".to_owned()),
            _ => None,
        };
        if own.is_some() {
            return Ok(own);
        }
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside.strip_prefix("env:").unwrap_or(inside), None),
        };
        if is_variable(name) {
            if default.is_none() {
                self.variables.named(name, self.source);
            }
            let default = default.map(|default| format!(":-{default}")).unwrap_or_default();
            return Ok(Some(format!("${{{name}{default}}}")));
        }
        match inside.split_once(':') {
            Some(("input", id)) if !id.is_empty() => {
                let name = variable_name(&id.replace(['-', '.', ' '], "_").to_ascii_uppercase());
                self.variables.named(&name, &format!("asked for as input `{id}` by {}", self.source));
                Ok(Some(format!("${{{name}}}")))
            }
            Some((kind @ ("command" | "config" | "workspaceFolder" | "extensionInstallFolder"), _)) => {
                Err(format!("`${{{kind}:…}}` is known to the editor only"))
            }
            _ => Ok(None),
        }
    }

    /// Returns a text of which these parts are secrets.
    fn without(
        &mut self,
        text: &str,
        parts: &[Range<usize>],
        wanted: &str,
        what: &str,
    ) -> Result<String, String> {
        let mut out = String::new();
        let mut from = 0;
        for part in parts {
            out.push_str(&self.plain(text.get(from..part.start).unwrap_or_default())?);
            let value = text.get(part.clone()).unwrap_or_default();
            let source = format!("{what} of {}", self.source);
            let name = self.variables.holding(value, wanted, self.namespace, &source);
            // `$${` would be no reference.
            if out.ends_with('$') {
                return Err("a `$` stands before a secret, which cannot be written".to_owned());
            }
            out.extend(["${", &name, "}"]);
            from = part.end;
        }
        out.push_str(&self.plain(text.get(from..).unwrap_or_default())?);
        Ok(out)
    }

    /// Returns true if a text names variables, so that it is not secret itself.
    fn has_references(&self, text: &str) -> bool {
        let is_named = |inside: &str| {
            let name = inside.split(":-").next().unwrap_or_default();
            is_variable(name.strip_prefix("env:").unwrap_or(name)) || inside.starts_with("input:")
        };
        let braced = text.split("${").skip(1).filter_map(|part| part.split_once('}'));
        let is_bare = self.client == Some(Client::Gemini) && text.strip_prefix('$').is_some_and(is_variable);
        is_bare || braced.clone().any(|(inside, _)| is_named(inside))
    }

    /// Returns the value of an environment variable of the server.
    pub(super) fn variable(&mut self, name: &str, value: &str) -> Result<String, String> {
        if self.has_references(value) || secret::is_plain_variable(name, value) {
            return self.argument_text(name, value);
        }
        let parts = secret::parts(value);
        let is_url = value.contains("://") && !parts.is_empty();
        let parts = if is_url { parts } else { std::iter::once(0..value.len()).collect() };
        self.without(value, &parts, name, &format!("`{name}`"))
    }

    /// Returns the value of a header.
    pub(super) fn header(&mut self, name: &str, value: &str) -> Result<String, String> {
        if self.has_references(value) || secret::is_plain_header(name, value) {
            return self.plain(value);
        }
        let wanted = format!("{}_{}", self.namespace, name);
        let wanted = variable_name(&wanted.replace('-', "_").to_ascii_uppercase());
        let secret = secret::behind_scheme(value)..value.len();
        let secret = std::slice::from_ref(&secret);
        self.without(value, secret, &wanted, &format!("the header `{name}`"))
    }

    /// Returns a URL.
    pub(super) fn url(&mut self, url: &str) -> Result<String, String> {
        let wanted = variable_name(&format!("{}_KEY", self.namespace.replace('-', "_").to_ascii_uppercase()));
        self.without(url, &unreferenced(url), &wanted, "the URL")
    }

    fn argument_text(&mut self, name: &str, text: &str) -> Result<String, String> {
        self.without(text, &unreferenced(text), name, &format!("`{name}`"))
    }

    /// Returns the arguments of a program.
    pub(super) fn arguments(&mut self, arguments: &[String]) -> Result<Vec<String>, String> {
        let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let found = secret::in_arguments(&texts);
        let wanted = format!("{}_SECRET", self.namespace.replace('-', "_").to_ascii_uppercase());
        let mut all = Vec::with_capacity(arguments.len());
        for (at, text) in arguments.iter().enumerate() {
            let parts: Vec<_> = found
                .iter()
                .filter(|(argument, _)| *argument == at)
                .map(|(_, range)| range.clone())
                .collect();
            all.push(self.without(text, &parts, &variable_name(&wanted), &format!("argument {}", at + 1))?);
        }
        Ok(all)
    }

    /// Returns a path, in which an app also reads `~` and `$NAME`.
    pub(super) fn path(&mut self, path: &str) -> Result<String, String> {
        let text = self.plain(path)?;
        let rest = expand(&text, &|_| Some(String::new())).unwrap_or_default();
        if rest.contains('$') {
            return Err("there is a `$` in its `cwd`, which an app reads as a variable".to_owned());
        }
        Ok(text)
    }
}

/// Returns the secrets of a text, but for those that are references already.
fn unreferenced(text: &str) -> Vec<Range<usize>> {
    let mut parts = secret::parts(text);
    parts.retain(|part| text.get(part.clone()).is_some_and(|part| !part.is_empty() && !part.contains("${")));
    parts
}
