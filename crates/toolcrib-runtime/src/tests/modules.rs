//! What a module of another crate is given, and how its configuration is checked.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_app::{Blueprint, EntryContext, Extensions};
use toolcrib_exec::DenyAll;
use toolcrib_model::{ToolCall, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_sdk::{Module, module};

use crate::Runtime;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// What greetings are signed with.
    signature: String,
    /// How often.
    #[serde(default)]
    times: u8,
}

struct Letters {
    config: Config,
}

/// Writes letters.
#[module(id = "letters")]
impl Letters {
    /// Signs a text.
    #[tool(risk = "low")]
    fn sign(
        &self,
        /// What is signed.
        text: String,
    ) -> String {
        format!("{text} {}", self.config.signature.repeat(1 + usize::from(self.config.times)))
    }
}

fn extensions() -> Extensions {
    Extensions::default().with_module("letters", |config: Config, _: &EntryContext<'_>| {
        if config.times > 3 {
            return Err(format!("{} times is too often", config.times));
        }
        Ok(Module::from(Letters { config }))
    })
}

fn wrong(text: &str) -> String {
    Blueprint::from_text_with("app.yaml", text, extensions()).unwrap_err().to_string()
}

async fn sign(config: &str, text: &str) -> ToolResult {
    let app = format!(
        "modules: {{letters: {{config: {config}}}}}\ntools: {{capabilities: {{default_policy: grant}}}}"
    );
    let app = Blueprint::from_text_with("app.yaml", &app, extensions()).unwrap();
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    let arguments = json!({"text": text}).as_object().unwrap().clone();
    let result =
        runtime.executor().call(ToolCall::new("letters.sign", arguments), &CallContext::new("s")).await;
    runtime.close().await;
    result
}

#[test]
fn a_mistake_in_a_configuration_is_said_at_its_place() {
    let configs = [
        "letters: {}",
        "letters: {config: }",
        "letters: {config: {signatur: x}}",
        "letters: {config: {signature: x, times: many}}",
        "letters: {config: {signature: x, times: 9}}",
        "letters: {config: [x]}",
        "letters: {config: {signature: '{{env.TOOLCRIB_NO_SUCH_VARIABLE}}'}}",
        "letters: {config: {signature: '${TOOLCRIB_NO_SUCH_VARIABLE}'}}",
        "letters: {config: {signature: '{{secret.TOOLCRIB_NO_SUCH_VARIABLE}}'}}",
        "letters: {config: {signature: '{{secret.CARGO_PKG_VERSION_MAJOR}}'}}",
        "letters: {config: {signature: '{{workspce}}'}}",
        "letters: {config: {signature: '{{workspace'}}",
        "letters: {config: {signature: '${A:-{{workspace}}}'}}",
        "letters: {config: {signature: x, times: '{{secret.CARGO_MANIFEST_DIR}}'}}",
        "leters: {config: {signature: x}}",
        "hello: {config: {loud: true}}",
    ];
    let messages = configs.map(|config| wrong(&format!("modules:\n  {config}\n")));
    insta::assert_snapshot!(messages.join("\n"));
}

#[tokio::test]
async fn variables_are_filled_in_in_a_configuration_and_in_nothing_that_a_caller_sends() {
    let package = env!("CARGO_PKG_NAME");
    let workspace = std::path::absolute(".").unwrap().display().to_string();
    for (signature, said) in [
        ("{{ env.CARGO_PKG_NAME }}", package),
        ("{{workspace}}/a", &format!("{workspace}/a")),
        ("${CARGO_PKG_NAME} {{{{workspace}}", &format!("{package} {{{{workspace}}}}")),
    ] {
        let result = sign(&format!("{{signature: '{signature}'}}"), "a").await;
        assert_eq!(result.result, format!("a {said}"), "{signature}");
    }
    let text = "{{workspace}} {{env.CARGO_PKG_NAME}} {{secret.CARGO_PKG_NAME}} ${CARGO_PKG_NAME}";
    let result = sign("{signature: x}", text).await;
    assert_eq!(result.result, format!("{text} x"), "what a caller sends is as it was sent");
}

#[tokio::test]
async fn a_secret_of_a_configuration_is_in_no_result() {
    let result = sign("{signature: '{{secret.CARGO_MANIFEST_DIR}}', times: 1}", "a").await;
    assert_eq!(result.result, "a [secret CARGO_MANIFEST_DIR][secret CARGO_MANIFEST_DIR]");
    let config = "{signature: 'https://me:{{env.CARGO_PKG_NAME}}@host/'}";
    assert_eq!(sign(config, "a").await.result, "a https://me:[secret CARGO_PKG_NAME]@host/");
}

#[test]
fn what_a_module_takes_and_does_can_be_told_with_and_without_an_app() {
    let app = |text: &str| Blueprint::from_text_with("app.yaml", text, extensions()).unwrap();
    let empty = app("");
    assert_eq!(
        empty.module_schema("leters").unwrap_err().to_string(),
        "unknown module `leters`, did you mean `letters`?"
    );
    let error = empty.module_schema("letters").unwrap_err().to_string();
    assert!(error.contains("missing field `signature`") && error.contains("name an app"), "{error}");
    let schema = app("modules: {letters: {config: {signature: x}}}").module_schema("letters").unwrap();
    assert_eq!((schema.title.as_str(), schema.description.as_str()), ("letters", "Writes letters."));
    assert_eq!(schema.config["properties"]["signature"]["description"], "What greetings are signed with.");
    assert_eq!(schema.config["required"], json!(["signature"]));
    let actions: Vec<(&str, &Value)> =
        schema.actions.iter().map(|tool| (tool.name.name(), &tool.parameters["required"])).collect();
    assert_eq!(actions, [("sign", &json!(["text"]))]);
    assert_eq!(empty.module_schema("hello").unwrap().actions.len(), 3);
}

#[test]
fn a_module_that_calls_itself_by_another_name_is_refused() {
    let extensions = Extensions::default()
        .with_module("mail", |config: Config, _: &EntryContext<'_>| Ok(Module::from(Letters { config })));
    let app = "modules: {mail: {config: {signature: x}}}";
    assert_eq!(
        Blueprint::from_text_with("app.yaml", app, extensions).unwrap_err().to_string(),
        "app.yaml:1:18: the module `mail` calls itself `letters`; this is a fault in it"
    );
}

#[test]
fn a_credential_that_stands_in_the_configuration_of_a_module_is_not_repeated() {
    let text = "
modules:
  http:
    config:
      headers:
        api.example.com: {Authorization: Bearer literal-token-123, Accept: application/json, X-Api-Key: key-4567}
";
    let app = Blueprint::from_text("app.yaml", text).unwrap();
    let redactor = app.app.secrets().redactor();
    for secret in ["Bearer literal-token-123", "literal-token-123", "key-4567"] {
        assert!(!redactor.redact(&format!("echoed: {secret}.")).contains(secret), "{secret}");
    }
    assert_eq!(redactor.redact("application/json"), "application/json");
}
