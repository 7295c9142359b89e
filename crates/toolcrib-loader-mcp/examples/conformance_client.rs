//! The client that `cargo xtask conformance` lets the official suite test: an app with one MCP server.
//!
//! It loads the server's tools and calls each of them, as a model would: with arguments that fit the schema. Whatever of
//! the protocol a scenario is about is the crate's work; here is only what the app and its user want.

#![expect(clippy::print_stderr, reason = "a command-line program owns its terminal")]

use std::env;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolcrib_io::http::{HttpClient, HttpPolicy, Request};
use toolcrib_loader_mcp::oauth::{
    Authorize, ClientSettings, Grant, IdentityProvider, IdentityToken, Redirect,
};
use toolcrib_loader_mcp::{McpConnection, McpEngine, McpLoader, McpSource, McpTransport};
use toolcrib_model::{JsonObject, Secret, Tool, UserAnswer, UserQuestion};
use toolcrib_policy::{Authorized, Call, Capabilities, Policy, Verdict};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext, ToolEngine as _, ToolLoader as _};
use url::Url;

/// Longer than the scenarios that make the client wait.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// Where the document is that describes the client. The suite never fetches it.
const CLIENT_METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";

type Error = Box<dyn std::error::Error>;

/// Runs the scenario that the environment names against the server that the command line names.
#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance_client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Error> {
    let url = env::args().nth(1).ok_or("the URL of the server is missing")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO")?;
    let context: Value = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Value::Null,
    };
    let mut transport = McpTransport::http(url);
    if let McpTransport::Http { allow_private, auth, .. } = &mut transport {
        *allow_private = true;
        *auth = Some(Box::new(authorization(&scenario, &context)));
    }
    let source = McpSource::new("suite", transport).with_startup_timeout(STARTUP_TIMEOUT);
    let connection = McpConnection::new(source);
    let loader = McpLoader::new(connection.clone());
    let engine = McpEngine::new(connection);
    engine.set_has_user(true);

    let loaded = loader.load().await;
    for reject in &loaded.rejected {
        eprintln!(
            "rejected: {} ({:?}): {}",
            reject.name.as_deref().unwrap_or("-"),
            reject.kind,
            reject.reason
        );
    }
    let mut failures = Vec::new();
    let mut call_context = CallContext::new("session");
    call_context.approver = Some(Arc::new(User));
    for (tool, arguments) in calls(&scenario, &context, &loaded.tools) {
        eprintln!("calls {} with {}", tool.name, Value::Object(arguments.clone()));
        let result = engine.invoke(&authorized(tool, arguments)?, &call_context).await;
        match result.error {
            None => eprintln!("  {}", result.result),
            Some(error) => failures.push(format!("{}: {error}", tool.name)),
        }
    }
    engine.close().await;
    // A server that is not reached is a reject without a name.
    failures.extend(
        loaded.rejected.into_iter().filter(|reject| reject.name.is_none()).map(|reject| reject.reason),
    );
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// What the operator has set up, and the user who logs in.
fn authorization(scenario: &str, context: &Value) -> ClientSettings {
    let text = |name: &str| context.get(name).and_then(Value::as_str);
    let mut auth = ClientSettings::new().with_authorize(Arc::new(User));
    if let Some(client) = text("client_id") {
        auth = auth.with_client(client, text("client_secret").map(Secret::new));
    }
    let token = |name: &str| text(name).map(|token| IdentityToken::Text(Secret::new(token)));
    if scenario.starts_with("auth/client-credentials-") {
        auth = auth.with_grant(Grant::ClientCredentials);
    } else if let Some(token) = token("valid_jwt") {
        auth = auth.with_grant(Grant::WorkloadIdentity(token));
    } else if let (Some(token), Some(issuer), Some(client)) =
        (token("idp_id_token"), text("idp_issuer"), text("idp_client_id"))
    {
        auth = auth.with_grant(Grant::EnterpriseManaged(IdentityProvider::new(issuer, client), token));
    }
    auth.private_key = text("private_key_pem").map(Secret::new);
    auth.issuer = text("issuer").map(str::to_owned);
    auth.client_metadata_url = Some(CLIENT_METADATA_URL.to_owned());
    auth
}

/// A user who agrees to everything: visits the URL, and comes back to where the authorization server redirects.
struct User;

#[async_trait]
impl Authorize for User {
    fn redirect_uri(&self) -> &'static str {
        "http://127.0.0.1:49152/callback"
    }

    async fn authorize(&self, url: &Url) -> Result<Redirect, String> {
        let policy = HttpPolicy { allow_private: true, ..HttpPolicy::default() };
        let browser = HttpClient::new(policy).map_err(|error| error.to_string())?;
        let page = browser.send(Request::new(http::Method::GET, url.clone())).await;
        let page = page.map_err(|error| error.to_string())?;
        let location = page.headers.get(http::header::LOCATION).and_then(|location| location.to_str().ok());
        let location =
            location.ok_or_else(|| format!("the page answers {} and leads nowhere", page.status))?;
        Ok(Redirect::from_url(&url.join(location).map_err(|error| error.to_string())?))
    }
}

/// The same, of whom a server asks something: takes every form as it is, without filling in anything.
#[async_trait]
impl Approver for User {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        for asked in batch {
            asked.answer = Some(Answer::Nobody);
        }
    }

    async fn ask_user(&self, _question: &UserQuestion, _context: &CallContext) -> UserAnswer {
        UserAnswer::Approved { content: None, choice: None, fields: JsonObject::new(), feedback: None }
    }

    fn has_user(&self) -> bool {
        true
    }
}

/// What the model calls: what the suite asks for, or every tool once.
fn calls<'a>(scenario: &str, context: &Value, tools: &'a [Tool]) -> Vec<(&'a Tool, JsonObject)> {
    let named = |name: &str| tools.iter().find(|tool| tool.name.name() == name);
    if let Some(wanted) = context["toolCalls"].as_array() {
        let wanted = wanted.iter().filter_map(|call| {
            Some((named(call["name"].as_str()?)?, call["arguments"].as_object().cloned().unwrap_or_default()))
        });
        return wanted.collect();
    }
    match scenario {
        // The schema of one tool is to come back as an argument of the other.
        "json-schema-2020-12-preservation" => {
            let schema =
                named("json_schema_2020_12_tool").map(|tool| tool.parameters.to_value().into_owned());
            let echo = named("json_schema_echo").zip(schema);
            echo.into_iter().map(|(echo, schema)| (echo, object([("schema", schema)]))).collect()
        }
        // It is about the list; the server of this one has no answer to calls.
        "json-schema-ref-no-deref" => Vec::new(),
        _ => tools.iter().map(|tool| (tool, arguments(tool.parameters.root()))).collect(),
    }
}

/// Arguments for all properties that a schema requires.
fn arguments(schema: &Value) -> JsonObject {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    object(required.map(|name| {
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        let value = match property.and_then(|property| property.get("type")).and_then(Value::as_str) {
            Some("integer" | "number") => json!(20),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            Some("null") => Value::Null,
            _ => json!("text"),
        };
        (name, value)
    }))
}

fn object<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> JsonObject {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>()
}

/// A call that the app's policy has let through.
fn authorized(tool: &Tool, arguments: JsonObject) -> Result<Authorized<Call>, Error> {
    let capabilities: Capabilities = serde_json::from_value(json!({"default_policy": "grant"}))?;
    let mut call = Call::new(Arc::new(tool.clone()), "mcp suite".into(), 1);
    call.arguments = arguments;
    match Policy::new(&capabilities, [])?.authorize(call, "session") {
        Verdict::Granted(call) => Ok(call),
        _ => Err(format!("the policy does not grant {}", tool.name).into()),
    }
}
