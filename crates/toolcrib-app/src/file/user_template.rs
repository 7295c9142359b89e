//! Templates in an app file whose values belong to the user of a call: `{{user}}`, and secrets that are named after the
//! user, as in `{{secret.team: users/{{user}}#token}}`.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::Instant;
use toolcrib_document::Error;
use toolcrib_model::text::clean_text;
use toolcrib_model::{ErrorKind, Secret, ToolError};
use toolcrib_results::{MIN_SECRET_BYTES, Secrets};
use toolcrib_sdk::{MAX_USERS, UserText};

use super::templates::{SECRET, secret, split_at_end};
use super::variables;
use crate::AppFile;
use crate::secrets::{LookupError, Reference, SecretProviders};

/// The template of the user's name.
pub(crate) const USER: &str = "{{user}}";

/// The time for which the secret of a user is not read again.
const SECRET_LIFE: Duration = Duration::from_mins(1);

/// The most characters of the name of a user in an error.
const MAX_USER_CHARS: usize = 200;

/// A part of a template.
#[derive(Clone, Debug)]
enum TemplatePart {
    Text(String),
    /// The name of the user.
    User,
    /// A secret that is named after the user.
    Secret(Reference),
}

/// A template with the secrets of users, read from the providers of an app file.
pub(crate) struct UserTemplate {
    parts: Vec<TemplatePart>,
    /// The name of the setting, under which the values are masked.
    name: String,
    providers: SecretProviders,
    secrets: Secrets,
    /// The values that were read last, by user.
    read: Mutex<HashMap<Arc<str>, (Instant, Secret)>>,
}

impl UserTemplate {
    /// Parses the template at a pointer of an app file.
    pub(crate) fn parse(file: &AppFile, text: &str, pointer: &str) -> Result<Self, Error> {
        let wrong = |message: String| file.error_at(pointer, message);
        let plain = |text: &str| variables::without_braces(file, text, pointer, false);
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, from)) = rest.split_once("{{") {
            parts.push(TemplatePart::Text(plain(before)?));
            if let Some(after) = from.strip_prefix("{{") {
                parts.push(TemplatePart::Text("{{".into()));
                rest = after;
                continue;
            }
            let Some((inside, after)) = split_at_end(from) else {
                return Err(wrong("`{{` without `}}`; there is `{{user}}` and `{{secret.NAME}}`".into()));
            };
            let name = inside.trim();
            parts.push(match name.strip_prefix(SECRET).map(str::trim) {
                Some(reference) if reference.contains(USER) => {
                    TemplatePart::Secret(Reference::parse_for_users(reference, USER).map_err(wrong)?)
                }
                Some(reference) => TemplatePart::Text(secret(file, reference).map_err(wrong)?),
                None if name == "user" => TemplatePart::User,
                None => {
                    return Err(wrong(format!(
                        "unknown `{{{{{name}}}}}`; there is `{{{{user}}}}` and `{{{{secret.NAME}}}}`"
                    )));
                }
            });
            rest = after;
        }
        parts.push(TemplatePart::Text(plain(rest)?));
        if parts.iter().all(|part| matches!(part, TemplatePart::Text(_))) {
            return Err(wrong(format!(
                "expected `{USER}`, as in `{{{{secret.team: users/{USER}#token}}}}`; a value that all users share \
                 belongs in `headers`"
            )));
        }
        let name = pointer.rsplit('/').next().unwrap_or_default().to_owned();
        let (providers, secrets) = (file.providers.clone(), file.secrets.clone());
        Ok(Self { parts, name, providers, secrets, read: Mutex::default() })
    }

    async fn fill(&self, user: &str) -> Result<String, ToolError> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => out.push_str(text),
                TemplatePart::User => out.push_str(user),
                TemplatePart::Secret(reference) => {
                    let reference = reference.for_user(&encoded(user));
                    let secret = self.providers.fetch_now(&reference).await;
                    let secret = secret.map_err(|error| missing(user, error))?.secret;
                    if !self.secrets.add_latest(self.name.as_str(), secret.clone(), MAX_USERS.get()) {
                        let reason = format!(
                            "it has fewer than {MIN_SECRET_BYTES} bytes, or there are too many secrets, so it cannot be kept \
                             out of what is shown"
                        );
                        return Err(missing(user, LookupError::Missing(reason)));
                    }
                    out.push_str(secret.expose());
                }
            }
        }
        Ok(out)
    }
}

#[async_trait]
impl UserText for UserTemplate {
    async fn for_user(&self, user: &str) -> Result<Secret, ToolError> {
        let now = Instant::now();
        let is_new = |read: &Instant| now.saturating_duration_since(*read) < SECRET_LIFE;
        if let Some((_, value)) = self.read.lock().get(user).filter(|(read, _)| is_new(read)) {
            return Ok(value.clone());
        }
        let value = Secret::new(self.fill(user).await?);
        let mut read = self.read.lock();
        if read.len() >= MAX_USERS.get() {
            read.retain(|_, (read, _)| is_new(read));
        }
        if read.len() >= MAX_USERS.get()
            && let Some(oldest) =
                read.iter().min_by_key(|(_, (read, _))| *read).map(|(user, _)| Arc::clone(user))
        {
            read.remove(&oldest);
        }
        read.insert(user.into(), (now, value.clone()));
        Ok(value)
    }
}

impl fmt::Debug for UserTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserTemplate").field("name", &self.name).finish_non_exhaustive()
    }
}

fn missing(user: &str, error: LookupError) -> ToolError {
    let user = clean_text(user, MAX_USER_CHARS);
    let message = format!("there are no credentials of the user `{user}`; the call was not sent");
    let is_failure = matches!(error, LookupError::Failed(_));
    let hint = format!("the operator adds them: {}", String::from(error));
    ToolError::new(ErrorKind::Unavailable, message).with_hint(hint).with_retryable(is_failure)
}

/// Returns the name of a user as a part of the name of a secret, so that no name leads to another path, field, or argument
/// than that of its user: letters, digits, `_`, and behind the first character `-`, `.` and `@`; all other bytes as `%` and
/// two digits. Different users have different names.
fn encoded(user: &str) -> String {
    let mut out = String::with_capacity(user.len());
    for (at, byte) in user.bytes().enumerate() {
        let is_plain =
            byte.is_ascii_alphanumeric() || byte == b'_' || at > 0 && matches!(byte, b'-' | b'.' | b'@');
        if is_plain {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::App;

    /// An app with a folder of secrets.
    fn file(folder: &Path) -> AppFile {
        fs::create_dir_all(folder.join("keys")).unwrap();
        let path = folder.join("app.yaml");
        fs::write(&path, "secrets: [{name: team, type: files, path: keys}]").unwrap();
        App::open(path).unwrap().file
    }

    fn template(file: &AppFile, text: &str) -> Result<UserTemplate, String> {
        let pointer = "/tools/registry/0/user_headers/Authorization";
        UserTemplate::parse(file, text, pointer).map_err(|error| error.to_string())
    }

    async fn value(template: &UserTemplate, user: &str) -> Result<String, ToolError> {
        Ok(template.for_user(user).await?.expose().to_owned())
    }

    #[tokio::test]
    async fn each_user_has_the_secret_of_their_name_and_it_is_masked() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        for user in ["alice", "bob"] {
            fs::write(folder.path().join("keys").join(user), format!("key-of-{user}\n")).unwrap();
        }
        let template = template(&file, "Bearer {{secret.team: {{user}}}} for {{ user }} {{{{x").unwrap();
        assert_eq!(value(&template, "alice").await.unwrap(), "Bearer key-of-alice for alice {{x");
        assert_eq!(value(&template, "bob").await.unwrap(), "Bearer key-of-bob for bob {{x");
        assert_eq!(file.secrets.redactor().redact("key-of-bob"), "[secret Authorization]");
        let error = value(&template, "carol").await.unwrap_err();
        assert_eq!(
            (error.kind, error.retryable, error.message.as_str()),
            (
                ErrorKind::Unavailable,
                false,
                "there are no credentials of the user `carol`; the call was not sent"
            )
        );
        let hint = error.hint.unwrap().replace(&folder.path().display().to_string(), "FOLDER");
        assert_eq!(
            hint,
            "the operator adds them: the secret `carol` is not set: the provider has no file FOLDER/keys/carol; add it \
             there"
        );
        // No name of a user leads to the secret of another.
        for user in ["../keys/alice", "./alice", "alice\0", "alice/", "x/../alice", "{{user}}"] {
            assert!(value(&template, user).await.is_err(), "{user}");
        }
    }

    #[test]
    fn different_users_have_different_names_that_are_no_paths_options_or_fields() {
        let users = [
            "a",
            "A",
            "a/b",
            "a%2Fb",
            "a#b",
            "a:b",
            "..",
            ".",
            "-rf",
            "@a",
            "a b",
            "a\nb",
            "é",
            "auth0|1",
            "a@b.example",
            "%",
            "\u{e000}",
        ];
        let names: BTreeSet<_> = users.iter().map(|user| encoded(user)).collect();
        assert_eq!(names.len(), users.len());
        for name in &names {
            assert!(
                !name.starts_with(['.', '-', '@']) && !name.contains(['/', '#', ':', ' ', '"', '\n']),
                "{name}"
            );
        }
        assert_eq!(encoded("a@b.example"), "a@b.example");
        assert_eq!(encoded("auth0|1"), "auth0%7C1");
    }

    #[tokio::test]
    async fn a_command_gets_the_name_as_one_argument() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        let template = template(&file, r#"{{secret.cmd: [printf, "%s|", "key-of-{{user}}", end]}}"#).unwrap();
        assert_eq!(value(&template, "a, b]").await.unwrap(), "key-of-a%2C%20b%5D|end|");
        assert_eq!(value(&template, "--help").await.unwrap(), "key-of-%2D-help|end|");
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_is_read_again_after_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let template = template(&file(folder.path()), "{{secret.team: {{user}}}}").unwrap();
        let secret = folder.path().join("keys/alice");
        fs::write(&secret, "first-key").unwrap();
        assert_eq!(value(&template, "alice").await.unwrap(), "first-key");
        fs::write(&secret, "second-key").unwrap();
        assert_eq!(value(&template, "alice").await.unwrap(), "first-key");
        tokio::time::advance(SECRET_LIFE).await;
        assert_eq!(value(&template, "alice").await.unwrap(), "second-key");
        tokio::time::advance(SECRET_LIFE).await;
        fs::remove_file(&secret).unwrap();
        assert!(value(&template, "alice").await.is_err());
    }

    #[test]
    fn a_template_that_is_the_same_for_all_users_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        for (text, problem) in [
            ("Bearer x", "expected `{{user}}`, as in `{{secret.team: users/{{user}}#token}}`"),
            ("{{principal}}", "unknown `{{principal}}`; there is `{{user}}` and `{{secret.NAME}}`"),
            ("{{user", "`{{` without `}}`"),
            ("{{secret.{{user}}: x}}", "the provider of a secret cannot be `{{user}}`"),
            (r#"{{secret.cmd: ["{{user}}"]}}"#, "the program of `secret.cmd` cannot be `{{user}}`"),
            ("{{secret.team: }} {{user}}", "needs the key of a secret"),
            ("${TOOLCRIB_NO_SUCH_VARIABLE} {{user}}", "TOOLCRIB_NO_SUCH_VARIABLE"),
        ] {
            let error = template(&file, text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
