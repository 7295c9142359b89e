//! A pet store, and an app that calls it.

use std::fmt::Write as _;

use serde_json::{Value, json};
use toolcrib_testkit::{PetStore, StoreRequest};

use crate::support::{RunOutput, TestDir};

/// No text.
pub(super) const IMAGE: [u8; 20] = [0xff; 20];

/// More than a model is shown.
pub(super) const PANORAMA: [u8; 9_000] = [0xff; 9_000];

/// Headers of a request that say what it was sent with, where and as what.
const TOLD: [&str; 4] = ["authorization", "api_key", "cookie", "content-type"];

/// A store, and an app whose namespace `pets` are its tools.
pub(super) struct Shop {
    pub(super) store: PetStore,
    pub(super) dir: TestDir,
}

impl Shop {
    /// With every credential that the store asks for.
    pub(super) async fn open() -> Self {
        let store = PetStore::start().await.unwrap();
        let token_url = store.token_url();
        let client = PetStore::CLIENT_ID;
        let user = PetStore::ADMIN;
        let auth = format!(
            r#"auth:
        - type: oauth2
          scheme: store_auth
          token_url: '{token_url}'
          client_id: {client}
          client_secret: "${{CLIENT_SECRET}}"
          scopes: ["write:pets", "read:pets"]
          client_auth: body
        - {{type: api_key, value: "${{KEY}}", scheme: api_key}}
        - {{type: api_key, value: "${{SESSION}}", scheme: session}}
        - {{type: basic, username: {user}, password: "${{PASSWORD}}", scheme: admin}}"#
        );
        Self::with(store, &auth)
    }

    /// With these settings of the source, in YAML.
    pub(super) fn with(store: PetStore, settings: &str) -> Self {
        let (document, base) = (store.document_url(), store.base_url());
        let app = format!(
            r"
app: {{workspace: work}}
agents:
  - {{id: clerk, brain: {{provider: openai, model: m, base_url: '${{MODEL_URL:-http://127.0.0.1:9/v1}}'}}}}
tools:
  registry:
    - type: rest
      namespace: pets
      spec: '{document}'
      base_url: '{base}'
      {settings}
  capabilities:
    default_policy: grant
    grant: [{{module: pets, actions: [deletePet, deleteOrder, deleteUser]}}]
"
        );
        let dir = TestDir::with_app(&app)
            .with_variable("OPENAI_API_KEY", "test")
            .with_variable("CLIENT_SECRET", PetStore::CLIENT_SECRET)
            .with_variable("KEY", PetStore::API_KEY)
            .with_variable("SESSION", PetStore::SESSION)
            .with_variable("PASSWORD", PetStore::ADMIN_PASSWORD)
            .with_file("work/rex.png", IMAGE)
            .with_file("work/panorama.png", PANORAMA)
            .with_file("work/notes.txt", "of the left side");
        Self { store, dir }
    }

    /// Calls a tool, and prints JSON.
    pub(super) async fn call(&self, name: &str, arguments: &Value) -> RunOutput {
        self.dir.run(["call", "app.yaml", &format!("pets.{name}"), &arguments.to_string(), "--json"]).await
    }

    /// The call, each request that it made, and what came back.
    pub(super) async fn transcript(&self, name: &str, arguments: &Value) -> String {
        let before = self.store.requests().len();
        let output = self.call(name, arguments).await;
        let mut text = format!("{name} {arguments}\n");
        for asked in self.store.requests().iter().skip(before) {
            writeln!(text, "  -> {}", told(asked)).unwrap();
        }
        let mut result = output.json();
        if let Some(date) = result.pointer_mut("/result/headers/date") {
            *date = json!("[date]");
        }
        let metadata = &result["metadata"];
        write!(text, "  <- exit {}", output.code.unwrap()).unwrap();
        for key in ["status", "attempts", "retry_after_ms", "warning"] {
            if let Some(value) = metadata.get(key).filter(|value| *value != &json!(1)) {
                write!(text, ", {key} {value}").unwrap();
            }
        }
        let headers = metadata.get("headers").map(|headers| format!(" {headers}"));
        writeln!(text, "{}", headers.unwrap_or_default()).unwrap();
        match &result["error"] {
            Value::Null => writeln!(text, "     {}", result["result"]).unwrap(),
            error => {
                let part = |key: &str| error[key].as_str().unwrap_or("nothing").to_owned();
                let again = if error["retryable"] == true { ", may be repeated" } else { "" };
                writeln!(text, "     {}{again}: {}", part("kind"), part("message")).unwrap();
                if error["hint"].is_string() {
                    writeln!(text, "     hint: {}", part("hint")).unwrap();
                }
            }
        }
        text
    }
}

/// A request in one line, and the lines of its body.
fn told(asked: &StoreRequest) -> String {
    let mut text = asked.line();
    for name in TOLD {
        if let Some(value) = asked.headers.get(name) {
            write!(text, " | {name}: {}", value.to_str().unwrap()).unwrap();
        }
    }
    let body = match std::str::from_utf8(&asked.body) {
        Ok(body) => body.replace('\r', ""),
        Err(_) => format!("({} bytes that are no text)", asked.body.len()),
    };
    for line in body.lines() {
        write!(text, "\n     {line}").unwrap();
    }
    // The only thing that is new each time.
    let boundary = asked.header("content-type").split_once("boundary=").map(|(_, boundary)| boundary);
    boundary.map_or(text.clone(), |boundary| text.replace(boundary, "[boundary]"))
}
