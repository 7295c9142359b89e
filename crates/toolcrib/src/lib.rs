//! A tool runtime for LLM agents, as a library: tools from anywhere, one gate in front of all of them.
//!
//! Each layer is a crate and works alone. This crate re-exports them behind features, so that a program names one
//! dependency and takes the layers that it needs. The program `toolcrib` is the crate `toolcrib-cli`.
//!
//! # A tool, and a call through the gate
//!
//! The default features are enough for tools in Rust. A call is resolved, checked against the policy, validated against
//! the schema of the tool, run under a deadline, and limited in size. It always returns a result, never a panic.
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use toolcrib::exec::{DenyAll, Executor};
//! use toolcrib::model::{ErrorKind, ToolCall};
//! use toolcrib::policy::{Capabilities, Policy};
//! use toolcrib::port::{CallContext, ToolLoader};
//! use toolcrib::registry::ToolRegistry;
//! use toolcrib::sdk::{Module, module};
//!
//! struct Desk;
//!
//! /// Answers at the shipping desk.
//! #[module(id = "desk", crate = "toolcrib::sdk")]
//! impl Desk {
//!     /// Returns the price of a parcel, in cents.
//!     #[tool(risk = "low")]
//!     fn quote(
//!         &self,
//!         /// The weight in kilograms.
//!         kilograms: u32,
//!     ) -> u32 {
//!         450 + 120 * kilograms
//!     }
//!
//!     /// Throws a parcel away.
//!     #[tool(risk = "high")]
//!     fn discard(&self, parcel: String) -> String {
//!         format!("{parcel} is gone")
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let desk = Arc::new(Module::from(Desk));
//! let registry = ToolRegistry::from_loaders([Arc::clone(&desk) as Arc<dyn ToolLoader>]).await;
//! // The same form as `tools.capabilities` of an app file.
//! let rules: Capabilities = serde_json::from_value(json!({
//!     "default_policy": "deny",
//!     "grant": [{"module": "desk", "actions": ["quote"]}],
//! }))?;
//! let policy = Policy::new(&rules, [])?;
//! let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll));
//! // A module is both the loader of its tools and the engine of its source.
//! let executor = Arc::new(executor.with_engine(desk.source(), desk.clone()));
//!
//! let context = CallContext::new("session");
//! let call = async |name: &str, arguments: serde_json::Value| {
//!     let arguments = arguments.as_object().cloned().unwrap_or_default();
//!     executor.call(ToolCall::new(name, arguments), &context).await
//! };
//! assert_eq!(call("desk.quote", json!({"kilograms": 2})).await.result, 690);
//!
//! // A wrong call comes back with what to change, for a model to read.
//! let error = call("desk.quote", json!({"kilo": 2})).await.error.unwrap();
//! assert_eq!(error.kind, ErrorKind::InvalidArgs);
//! assert!(error.message.contains("`kilograms` is missing"), "{}", error.message);
//!
//! // What the policy denies does not run, and is not described.
//! let error = call("desk.discard", json!({"parcel": "1"})).await.error.unwrap();
//! assert_eq!(error.kind, ErrorKind::Denied);
//! # Ok(())
//! # }
//! ```
//!
//! # The layers
//!
//! | feature | module | purpose |
//! |---|---|---|
//! | always | [`model`] | tools, names, calls, results, and errors: data that all layers share |
//! | `policy` | `policy` | decide whether a call may run, without I/O |
//! | `schema` | `schema` | validate, repair, and explain arguments |
//! | `search` | `search` | rank tools by words and meaning, offline |
//! | `port` | `port` | the traits of loaders, engines, callers, and approvers |
//! | `registry` | `registry` | load tools into snapshots, resolve names and overloads |
//! | `results` | `results` | limit, redact, store, and query results |
//! | `exec` (default) | `exec` | the executor: gate, validate, run, and record calls |
//! | `sdk` (default) | `sdk` | turn Rust functions into tools |
//! | `meta` | `meta` | the tools by which a model finds and runs others, and the linter of tool sets |
//! | `prompt` | `prompt` | how tools are shown to models |
//! | `file` | `file` | tools from YAML and JSON files, and from programs |
//! | `mcp` | `mcp` | tools from MCP servers |
//! | `openapi` | `openapi` | tools from OpenAPI documents |
//! | `oauth` | `oauth` | obtain tokens for requests, also of `mcp` and `openapi`, and validate those of others |
//! | `agent` | `agent` | the agent loop, and the clients of model servers |
//! | `script` | `script` | scripts whose calls pass the gate |
//! | `tasks` | `tasks` | background calls, watchers, and schedules |
//! | `datagen` | `datagen` | conversations with tool calls as training data |
//! | `runtime` | `app`, `runtime` | an app file as a running whole |
//! | `server` | `server` | an app as an MCP server |
//!
//! The page of each module begins with an example that runs. `full` enables all of them. Without default features, `policy`, `schema`, and `search` bring no network stack.
//!
//! # Find a tool among thousands
//!
//! With the feature `search`:
//!
#![cfg_attr(feature = "search", doc = "```")]
#![cfg_attr(not(feature = "search"), doc = "```ignore")]
//! use toolcrib::model::{QualifiedName, Tool};
//! use toolcrib::search::{SearchIndex, SearchOptions};
//!
//! let tools = [
//!     Tool::new(QualifiedName::new("files", "remove")?).with_description("Takes a file out of a folder."),
//!     Tool::new(QualifiedName::new("mail", "send")?).with_description("Sends a message to a person."),
//! ];
//! let index = SearchIndex::build(&tools)?;
//! let found = index.search("please delete this file", &SearchOptions::default());
//! assert_eq!(found.hits[0].name, tools[0].name);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Decide about a call
//!
//! With the feature `policy`. An engine takes only an [`Authorized`](policy::Authorized) call, which only a policy
//! creates:
//!
#![cfg_attr(feature = "policy", doc = "```")]
#![cfg_attr(not(feature = "policy"), doc = "```ignore")]
//! use std::sync::Arc;
//! use serde_json::json;
//! use toolcrib::model::{JsonObject, QualifiedName, Tool};
//! use toolcrib::policy::{Call, Capabilities, Policy, Verdict};
//!
//! let rules: Capabilities = serde_json::from_value(json!({
//!     "default_policy": "approve",
//!     "grant": [{"module": "shell", "arguments": [{"path": "/argv/0", "equals": "git"}]}],
//! }))?;
//! let policy = Policy::new(&rules, [])?;
//! let verdict = |program: &str| {
//!     let run = Arc::new(Tool::new(QualifiedName::new("shell", "run").unwrap()));
//!     let mut call = Call::new(run, "shell".into(), 1);
//!     call.arguments = JsonObject::from_iter([("argv".to_owned(), json!([program, "log"]))]);
//!     policy.authorize(call, "session")
//! };
//! assert!(matches!(verdict("git"), Verdict::Granted(_)));
//! assert!(matches!(verdict("rm"), Verdict::Ask(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Take tools from an OpenAPI document or an MCP server
//!
//! With the feature `openapi`; `mcp` has the same two halves, a loader and an engine:
//!
#![cfg_attr(feature = "openapi", doc = "```")]
#![cfg_attr(not(feature = "openapi"), doc = "```ignore")]
//! use toolcrib::openapi::RestSource;
//! use toolcrib::port::ToolLoader;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("toolcrib-facade-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("pets.yaml");
//! std::fs::write(&path, "
//! openapi: 3.1.0
//! servers: [{url: https://pets.example/v1}]
//! paths:
//!   /pets/{petId}:
//!     get:
//!       operationId: getPet
//!       parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
//!       responses: {200: {description: A pet.}}
//! ")?;
//! let (loader, engine) = RestSource::new(&path.to_string_lossy(), "pets").open()?;
//! let loaded = loader.load().await;
//! assert_eq!(loaded.tools[0].name.dotted(), "pets.getPet");
//! // `Executor::with_engine(loader.source(), engine)` sends the calls.
//! # drop(engine);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Run an agent
//!
//! With the feature `agent`. The loop asks a model, runs its calls, and always ends within its limits. Here the model is a
//! recording; `agent::ApiModel` is one behind the API of a provider:
//!
#![cfg_attr(feature = "agent", doc = "```")]
#![cfg_attr(not(feature = "agent"), doc = "```ignore")]
//! use async_trait::async_trait;
//! use serde_json::json;
//! use toolcrib::agent::recorded::RecordedModel;
//! use toolcrib::agent::{Agent, AgentSettings, Conversation};
//! use toolcrib::model::{QualifiedName, Tool, ToolCall, ToolResult};
//! use toolcrib::port::{CallContext, ToolCaller};
//! use toolcrib::prompt::system_prompt::CallStyle;
//! use toolcrib::prompt::{InjectionSettings, Plan, WireNames};
//!
//! /// Runs every tool by greeting. An `Executor` is a caller too.
//! struct Greeter;
//!
//! #[async_trait]
//! impl ToolCaller for Greeter {
//!     async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
//!         ToolResult::ok(call.call_id, call.name, json!(format!("Hello, {}!", call.arguments["name"])))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tools = [Tool::new(QualifiedName::new("hello", "greet")?)];
//! let names = WireNames::new(&tools, "context_builder", &[]);
//! let plan = Plan::new(&tools, &InjectionSettings::default(), &names)?;
//! let agent = Agent::new(AgentSettings::new("assistant", "recorded", &plan, names));
//! let recording = b"turns: [{calls: [{name: hello__greet, arguments: {name: Ada}}]}, {text: I greeted her.}]";
//! let model = RecordedModel::new("greet.yaml", recording, CallStyle::Native)?;
//! let (mut conversation, context) = (Conversation::new(), CallContext::new("session"));
//! let report = agent.run("Greet Ada.", &mut conversation, &model, &Greeter, &context, &mut ()).await;
//! assert_eq!(report.text, "I greeted her.");
//! # Ok(())
//! # }
//! ```
//!
//! # Run and serve an app file
//!
//! With the feature `server`, an `app.yaml` is an MCP server for any client; with `runtime` alone its tools can be called:
//!
#![cfg_attr(feature = "server", doc = "```")]
#![cfg_attr(not(feature = "server"), doc = "```ignore")]
//! use std::sync::Arc;
//! use toolcrib::app::Blueprint;
//! use toolcrib::exec::DenyAll;
//! use toolcrib::runtime::Runtime;
//! use toolcrib::server::{ClientApprover, Server, ServerSettings};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "modules: {hello: {}}\ntools: {capabilities: {default_policy: approve}}\n";
//! // The user of the client is asked; where the client cannot ask, the call is denied.
//! let approver = ClientApprover::new(Arc::new(DenyAll));
//! let runtime = Arc::new(Runtime::start(Blueprint::from_text("app.yaml", text)?, approver).await?);
//! let server = Server::new(Arc::clone(&runtime), ServerSettings::default())?;
//! // `server.serve_stdio()`, or over HTTP:
//! let listening = server.listen("127.0.0.1:0".parse()?).await?;
//! listening.serve(async { /* until this ends */ }).await?;
//! server.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Versions
//!
//! All layers have one version and are released together. Before 1.0 a minor version may change the API.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(inline)]
pub use toolcrib_model as model;

#[cfg(feature = "agent")]
#[doc(inline)]
pub use toolcrib_agent as agent;
#[cfg(feature = "runtime")]
#[doc(inline)]
pub use toolcrib_app as app;
#[cfg(feature = "datagen")]
#[doc(inline)]
pub use toolcrib_datagen as datagen;
#[cfg(feature = "exec")]
#[doc(inline)]
pub use toolcrib_exec as exec;
#[cfg(feature = "file")]
#[doc(inline)]
pub use toolcrib_loader_file as file;
#[cfg(feature = "mcp")]
#[doc(inline)]
pub use toolcrib_loader_mcp as mcp;
#[cfg(feature = "openapi")]
#[doc(inline)]
pub use toolcrib_loader_rest as openapi;
#[cfg(feature = "meta")]
#[doc(inline)]
pub use toolcrib_meta as meta;
#[cfg(feature = "oauth")]
#[doc(inline)]
pub use toolcrib_oauth as oauth;
#[cfg(feature = "policy")]
#[doc(inline)]
pub use toolcrib_policy as policy;
#[cfg(feature = "port")]
#[doc(inline)]
pub use toolcrib_port as port;
#[cfg(feature = "prompt")]
#[doc(inline)]
pub use toolcrib_prompt as prompt;
#[cfg(feature = "registry")]
#[doc(inline)]
pub use toolcrib_registry as registry;
#[cfg(feature = "results")]
#[doc(inline)]
pub use toolcrib_results as results;
#[cfg(feature = "runtime")]
#[doc(inline)]
pub use toolcrib_runtime as runtime;
#[cfg(feature = "schema")]
#[doc(inline)]
pub use toolcrib_schema as schema;
#[cfg(feature = "script")]
#[doc(inline)]
pub use toolcrib_script as script;
#[cfg(feature = "sdk")]
#[doc(inline)]
pub use toolcrib_sdk as sdk;
#[cfg(feature = "search")]
#[doc(inline)]
pub use toolcrib_search as search;
#[cfg(feature = "server")]
#[doc(inline)]
pub use toolcrib_server as server;
#[cfg(feature = "tasks")]
#[doc(inline)]
pub use toolcrib_tasks as tasks;
