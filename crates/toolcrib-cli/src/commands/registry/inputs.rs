//! The values that a server has to be given.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::server_json::InputSpec;
use crate::exit::Failure;

/// The most bytes of a value.
const MAX_VALUE_BYTES: usize = 4096;

/// The values that the user gives, and what became of them.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    given: BTreeMap<String, String>,
    used: BTreeSet<String>,
    /// The required values that are missing, with their descriptions.
    missing: Vec<(String, String)>,
    /// The values and secrets that may be left out, with their descriptions.
    optional: BTreeMap<String, String>,
    optional_secrets: BTreeMap<String, String>,
    /// The prefix of the variables that secrets are read from.
    prefix: String,
    /// The variables that secrets are read from.
    variables: BTreeSet<String>,
    /// True if each required value that is missing has a placeholder.
    has_placeholders: bool,
}

/// The values and variables without which a server does not run, and those that it can do without.
#[derive(Debug, Default, Serialize)]
pub(super) struct Needs {
    /// The values that `--set` gives, with their descriptions.
    pub(super) values: BTreeMap<String, String>,
    /// The variables that have to be set where the app runs.
    pub(super) variables: BTreeSet<String>,
    /// The values that `--set` may give, with their descriptions.
    pub(super) optional_values: BTreeMap<String, String>,
    /// The secrets that the user may add to the entry, with their descriptions.
    pub(super) optional_secrets: BTreeMap<String, String>,
}

impl Inputs {
    /// Parses texts of the form `NAME=VALUE`. The namespace begins the names of variables.
    pub(super) fn parse(texts: &[String], namespace: &str) -> Result<Self, Failure> {
        let mut given = BTreeMap::new();
        for text in texts {
            let Some((name, value)) = text.split_once('=') else {
                return Err(Failure::bad_input(format!("--set `{text}`: expected NAME=VALUE")));
            };
            given.insert(name.to_owned(), value.to_owned());
        }
        Ok(Self { given, prefix: variable_name(namespace), ..Self::default() })
    }

    /// Creates inputs without values, to show what would run: each required value is a placeholder.
    pub(super) fn placeholders(namespace: &str) -> Self {
        Self { prefix: variable_name(namespace), has_placeholders: true, ..Self::default() }
    }

    /// Returns what has to be given and set.
    pub(super) fn needs(self) -> Needs {
        Needs {
            values: self.missing.into_iter().collect(),
            variables: self.variables,
            optional_values: self.optional,
            optional_secrets: self.optional_secrets,
        }
    }

    /// Returns the value of an input that texts may refer to; `None` without one.
    ///
    /// # Errors
    ///
    /// A value is too long, none of the choices, or refers to a variable of the operator.
    pub(super) fn value(&mut self, name: &str, input: &InputSpec) -> Result<Option<String>, String> {
        if let Some(value) = &input.value {
            return self.filled(value, &input.variables).map(Some);
        }
        if let Some(given) = self.given.get(name).cloned() {
            self.used.insert(name.to_owned());
            if input.is_secret {
                let variable = self.variable(name);
                return Err(format!(
                    "`{name}` is a secret, which does not belong into the app file; leave out --set {name}, and set the \
                     variable `{}` where the app runs",
                    variable.trim_start_matches("${").trim_end_matches('}')
                ));
            }
            if !input.choices.is_empty() && !input.choices.contains(&given) {
                return Err(format!("`{name}` is one of: {}", input.choices.join(", ")));
            }
            return Ok(Some(given));
        }
        if input.is_secret {
            if !input.is_required {
                self.optional_secrets.insert(name.to_owned(), input.description.clone());
            }
            return Ok(input.is_required.then(|| self.variable(name)));
        }
        if let Some(default) = &input.default {
            return plain(default).map(|default| Some(default.to_owned()));
        }
        let choices = match input.choices.as_slice() {
            [] => String::new(),
            choices => format!("one of: {}", choices.join(", ")),
        };
        let about = [input.description.as_str(), &choices];
        let about: Vec<_> = about.into_iter().filter(|text| !text.is_empty()).collect();
        if !input.is_required {
            self.optional.insert(name.to_owned(), about.join("; "));
            return Ok(None);
        }
        self.missing.push((name.to_owned(), about.join("; ")));
        Ok(self.has_placeholders.then(|| format!("<{name}>")))
    }

    /// Returns a text with values in the place of the names in braces. Unknown names stay as they are.
    pub(super) fn filled(
        &mut self,
        text: &str,
        variables: &BTreeMap<String, InputSpec>,
    ) -> Result<String, String> {
        plain(text)?;
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            filled.push_str(before);
            let known =
                behind.split_once('}').and_then(|(name, behind)| Some((name, variables.get(name)?, behind)));
            if let Some((name, input, behind)) = known {
                filled.push_str(&self.value(name, input)?.unwrap_or_default());
                rest = behind;
            } else {
                filled.push('{');
                rest = behind;
            }
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// Returns true if the user gives this value.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// Returns the reference to a variable of the operator that holds a secret.
    pub(super) fn variable(&mut self, name: &str) -> String {
        let own = variable_name(name);
        let name = if own.contains('_') { own } else { format!("{}_{own}", self.prefix) };
        self.variables.insert(name.clone());
        format!("${{{name}}}")
    }

    /// Checks that nothing is missing, and that every given value has been used.
    pub(super) fn finish(&self) -> Result<(), String> {
        if !self.missing.is_empty() {
            let missing: Vec<_> = self
                .missing
                .iter()
                .map(|(name, description)| match description.as_str() {
                    "" => format!("--set {name}=…"),
                    description => format!("--set {name}=… ({description})"),
                })
                .collect();
            return Err(format!("the server needs values; `add` takes them as {}", missing.join(", ")));
        }
        match self.given.keys().find(|name| !self.used.contains(*name)) {
            Some(name) => {
                Err(format!("the server has no value `{name}`; `toolcrib registry show` lists them"))
            }
            None => Ok(()),
        }
    }
}

/// Checks that a text of a stranger does not refer to variables or secrets of the operator.
pub(super) fn plain(text: &str) -> Result<&str, String> {
    if text.len() > MAX_VALUE_BYTES {
        return Err(format!("a text has {} bytes; at most {MAX_VALUE_BYTES} are accepted", text.len()));
    }
    if text.contains("${") || text.contains("{{") {
        return Err(
            "a text refers to variables of the operator (`${` or `{{`), which a server must not".to_owned()
        );
    }
    if text.chars().any(char::is_control) {
        return Err("a text has control characters".to_owned());
    }
    Ok(text)
}

/// Returns a name as that of a variable: capital letters, digits, and `_`.
fn variable_name(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    let name = name.trim_matches('_');
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name.to_owned() }
}
