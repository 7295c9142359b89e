//! References to secrets: the text between the braces of `{{secret.…}}`.

use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};

/// The name of the provider that runs a command.
pub(super) const COMMAND: &str = "cmd";

/// A reference to a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// `NAME`: the secret of the first provider that has it.
    Name(String),
    /// `PROVIDER: KEY`: a secret of one provider.
    Of {
        /// The name of the provider.
        provider: String,
        /// The key.
        key: String,
    },
    /// `cmd: [PROGRAM, ARGUMENT, …]`: the output of a program.
    Command(Vec<String>),
}

/// The name of a user in a reference, until the user is known. YAML takes it as a letter.
const USER_MARK: &str = "\u{e000}";

impl Reference {
    /// Parses the text after `secret.` with this template of the user's name in it.
    pub(crate) fn parse_for_users(text: &str, template: &str) -> Result<Self, String> {
        match Self::parse(&text.replace(template, USER_MARK))? {
            Self::Of { provider, .. } if provider.contains(USER_MARK) => {
                Err(format!("the provider of a secret cannot be `{template}`; use it in the key"))
            }
            Self::Command(argv) if argv.first().is_some_and(|program| program.contains(USER_MARK)) => Err(
                format!("the program of `secret.{COMMAND}` cannot be `{template}`; use it in the arguments"),
            ),
            reference => Ok(reference),
        }
    }

    /// Returns the reference with the name of a user.
    pub(crate) fn for_user(&self, user: &str) -> Self {
        let fill = |text: &String| text.replace(USER_MARK, user);
        match self {
            Self::Name(name) => Self::Name(fill(name)),
            Self::Of { provider, key } => Self::Of { provider: provider.clone(), key: fill(key) },
            Self::Command(argv) => Self::Command(argv.iter().map(fill).collect()),
        }
    }

    /// Parses the text after `secret.`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let Some((provider, key)) = text.split_once(':') else {
            if text.is_empty() || text.contains(['{', '}', '[']) || text.contains(char::is_whitespace) {
                return Err(format!(
                    "`{text}` is no name of a secret: expected `{{{{secret.NAME}}}}`, `{{{{secret.PROVIDER: KEY}}}}` or \
                     `{{{{secret.{COMMAND}: [PROGRAM, ARGUMENT]}}}}`"
                ));
            }
            return Ok(Self::Name(text.to_owned()));
        };
        let (provider, key) = (provider.trim(), key.trim());
        if provider == COMMAND {
            return command(key).map(Self::Command);
        }
        if key.is_empty() {
            return Err(format!("`secret.{provider}:` needs the key of a secret behind the colon"));
        }
        Ok(Self::Of { provider: provider.to_owned(), key: key.to_owned() })
    }

    /// Returns the name under which the secret is masked.
    pub(crate) fn label(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Of { key, .. } => key,
            Self::Command(argv) => argv.first().map_or(COMMAND, String::as_str),
        }
    }
}

fn command(text: &str) -> Result<Vec<String>, String> {
    let wrong = || {
        format!(
            "`secret.{COMMAND}:` needs a list of texts, the program and its arguments, such as `[op, read, \
             \"op://Private/GitHub/token\"]`, not {text}"
        )
    };
    let document = parse(text.as_bytes(), Format::Yaml, &Limits::default()).map_err(|_| wrong())?;
    let Value::Array(words) = document.value else { return Err(wrong()) };
    let argv: Option<Vec<String>> = words
        .into_iter()
        .map(|word| if let Value::String(word) = word { Some(word) } else { None })
        .collect();
    argv.filter(|argv| argv.first().is_some_and(|program| !program.is_empty())).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_a_secret_a_provider_or_a_command() {
        let parse = |text: &str| Reference::parse(text).unwrap();
        assert_eq!(parse(" GITHUB_TOKEN "), Reference::Name("GITHUB_TOKEN".into()));
        let of = Reference::Of { provider: "team".into(), key: "apps/github#token".into() };
        assert_eq!(parse("team: apps/github#token"), of);
        let argv = ["op", "read", "op://Private/a b/token"].map(String::from).to_vec();
        assert_eq!(parse("cmd: [op, read, \"op://Private/a b/token\"]"), Reference::Command(argv));
        for wrong in
            ["", "a b", "team:", "cmd: op read x", "cmd: []", "cmd: [op, 1]", "cmd: [op", "cmd: ['']"]
        {
            assert!(Reference::parse(wrong).is_err(), "{wrong}");
        }
    }
}
