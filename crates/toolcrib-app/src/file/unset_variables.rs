//! Warnings about variables that are missing where an app is served.

use std::collections::{BTreeMap, BTreeSet};

use toolcrib_document::expand;

use crate::AppFile;
use crate::file::{templates, variables};
use crate::secrets::SecretOrigin;

/// Returns the name of a setting as people write it: `serve.tokens[0].token` for `/serve/tokens/0/token`.
pub(super) fn setting_name(pointer: &str) -> String {
    let mut name = String::new();
    for part in pointer.split('/').skip(1) {
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            name.extend(["[", part, "]"]);
            continue;
        }
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(&part.replace("~1", "/").replace("~0", "~"));
    }
    name
}

/// Returns true for settings that are filled in only when a server or an agent starts. Others are an error, or reject
/// their source, as soon as the app is read.
fn is_filled_late(pointer: &str) -> bool {
    let parts: Vec<&str> = pointer.split('/').skip(1).take(3).collect();
    matches!(parts.as_slice(), ["serve", ..] | ["approvals", "people", _] | ["agents", _, "brain"])
}

impl AppFile {
    /// Returns a warning for each setting that names a variable which is not set, and whose absence shows only when a
    /// server or an agent starts; and for each that seems to name a secret, and does not.
    pub fn unset_variables(&self) -> Vec<String> {
        let mut unset = BTreeSet::new();
        let texts = self.texts();
        for (pointer, text) in &texts {
            if !is_filled_late(pointer) {
                continue;
            }
            if let Err(error) = expand(text, &|name: &str| variables::lookup(self, name)) {
                unset.insert((setting_name(pointer), error.variable));
            }
        }
        let unset = unset.into_iter().map(|(setting, variable)| {
            format!("`{setting}` needs the environment variable `{variable}`, which is not set")
        });
        unset.chain(texts.iter().filter_map(|(pointer, text)| misspelt_secret(pointer, text))).collect()
    }

    /// Returns a warning that names the variables and secrets which only the default file `.env` has, since
    /// `toolcrib serve` does not read it.
    pub fn unserved_variables(&self) -> Option<String> {
        let file = self.providers.default_dotenv()?.path().display().to_string();
        let in_file =
            |origin: &SecretOrigin| origin.provider.as_ref().is_ok_and(|provider| *provider == file);
        let names: Vec<String> = self
            .secret_origins()
            .into_iter()
            .filter(in_file)
            .map(|origin| format!("`{}` (for `{}`)", origin.name, origin.setting))
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "`toolcrib serve` does not read {file}, which alone has {}; add `secrets: [{{type: dotenv}}]` to the app \
                 file, or set the variables in the environment of the server",
                names.join(", ")
            )
        })
    }

    /// Returns the texts of the file, by JSON pointers.
    pub(super) fn texts(&self) -> BTreeMap<String, String> {
        let texts = std::cell::RefCell::new(BTreeMap::new());
        let note = |text: &str, pointer: &str| {
            texts.borrow_mut().insert(pointer.to_owned(), text.to_owned());
            Ok(String::new())
        };
        variables::with_texts(&self.document.value, "", &note);
        texts.into_inner()
    }
}

/// Returns a warning about braces that are one letter or capitals away from a secret, and stay in the text as they are.
fn misspelt_secret(pointer: &str, text: &str) -> Option<String> {
    templates::names_in(text).into_iter().find_map(|name| {
        let (head, key) = name.split_once('.')?;
        let is_near =
            head != "secret" && ["secret", "secrets"].iter().any(|near| head.eq_ignore_ascii_case(near));
        is_near.then(|| {
            format!(
                "`{}` has `{{{{{name}}}}}`, which names no secret; write `{{{{secret.{key}}}}}`",
                setting_name(pointer)
            )
        })
    })
}

/// Returns the variables that the braces of a setting of modules name.
pub(super) fn variables_in_braces<'a>(pointer: &str, text: &'a str) -> Vec<&'a str> {
    if !["/modules/", "/setup/"].iter().any(|section| pointer.starts_with(section)) {
        return Vec::new();
    }
    templates::names_in(text).into_iter().filter_map(|name| name.strip_prefix("env.")).collect()
}

#[cfg(test)]
mod tests {
    use crate::{App, Extensions};

    const APP: &str = "
modules: {memory: {config: {path: '{{env.GATEWAY_PATH}}'}}}
agents: [{id: a, brain: {provider: openai, model: m, api_key: '${GATEWAY_KEY}'}}]
serve: {tokens: [{name: ci, token: '${GATEWAY_UNSET}'}, {name: b, token: '${GATEWAY_TOKEN:-a-default-of-16-chars}'}]}
approvals: {people: {ann: {key: '{{secret.GATEWAY_ANN}}'}}}
";

    fn app(text: &str) -> (tempfile::TempDir, App) {
        let folder = tempfile::tempdir().unwrap();
        let variables = "GATEWAY_PATH=a\nGATEWAY_KEY=b\nGATEWAY_ANN=0123456789abcdef\nGATEWAY_OTHER=d\n";
        std::fs::write(folder.path().join(".env"), variables).unwrap();
        let path = folder.path().join("app.yaml");
        std::fs::write(&path, text).unwrap();
        let app = App::open_with(path, Extensions::default().with_dotenv(true)).unwrap();
        (folder, app)
    }

    #[test]
    fn a_variable_that_is_not_set_is_named_with_the_setting_that_needs_it() {
        let (_folder, app) = app(APP);
        let expected =
            "`serve.tokens[0].token` needs the environment variable `GATEWAY_UNSET`, which is not set";
        assert_eq!(app.file.unset_variables(), [expected]);
    }

    #[test]
    fn braces_that_almost_name_a_secret_are_told() {
        let registry = "tools: {registry: [{type: mcp, command: [a], env: {A: '{{secrets.A_KEY}}', B: 'x {{ SECRET.b: c }}', \
                        C: '{{secret.GATEWAY_ANN}}', D: '{{x}} {{{{secrets.A}}'}}]}";
        let (_folder, app) = app(registry);
        assert_eq!(
            app.file.unset_variables(),
            [
                "`tools.registry[0].env.A` has `{{secrets.A_KEY}}`, which names no secret; write `{{secret.A_KEY}}`",
                "`tools.registry[0].env.B` has `{{SECRET.b: c}}`, which names no secret; write `{{secret.b: c}}`",
            ]
        );
    }

    #[test]
    fn variables_that_only_the_default_env_file_has_are_missing_to_a_server() {
        let (folder, app) = app(APP);
        let warning = app.file.unserved_variables().unwrap();
        let warning = warning.replace(&folder.path().display().to_string(), "FOLDER");
        assert_eq!(
            warning,
            "`toolcrib serve` does not read FOLDER/.env, which alone has `GATEWAY_ANN` (for `approvals.people.ann.key`), \
             `GATEWAY_KEY` (for `agents[0].brain.api_key`), `GATEWAY_PATH` (for `modules.memory.config.path`); add \
             `secrets: [{type: dotenv}]` to the app file, or set the variables in the environment of the server"
        );
    }

    #[test]
    fn a_file_of_variables_that_the_app_names_is_read_by_a_server_too() {
        let (_folder, app) = app(&format!("secrets: [{{type: dotenv}}]\n{APP}"));
        assert_eq!(app.file.unserved_variables(), None);
    }
}
