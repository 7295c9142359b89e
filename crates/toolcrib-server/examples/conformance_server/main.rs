//! The app that `cargo xtask conformance` has the official suite test, served over HTTP.
//!
//! One source provides the tools, resources and prompts that the suite asks for by name. With a store in PostgreSQL
//! (`TOOLCRIB_STORE`), several processes serve the app together.

#![expect(clippy::print_stderr, reason = "a command-line program owns its terminal")]

mod contents;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_app::sections::serve::SurfaceMode;
use toolcrib_app::{App, Blueprint, EntryContext, Extensions, LaunchOptions};
use toolcrib_exec::DenyAll;
use toolcrib_io::table::SharedTable as _;
use toolcrib_model::{
    ErrorKind, FieldKind, FormField, JsonObject, QualifiedName, Risk, Tool, ToolError, ToolResult,
    UserAnswer, UserQuestion,
};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, LoadOutcome, Progress, ToolEngine, ToolLoader};
use toolcrib_registry::ToolRegistry;
use toolcrib_runtime::Runtime;
use toolcrib_sdk::Source;
use toolcrib_server::approval::PendingApprovals;
use toolcrib_server::{ClientApprover, Replica, Server, ServerSettings};
use toolcrib_tasks::TaskStore;
use toolcrib_tasks::store::{RecordKind, RecordTable};

use self::contents::{embedded, image, prompt, prompts, read};

const APP: &str = "
app: {id: conformance}
tools: {registry: [{type: suite}], capabilities: {default_policy: grant}}
serve: {short_names: true}
";

const NAMESPACE: &str = "suite";

/// A silent sound file.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// The time between two progress reports of a tool.
const STEP: Duration = Duration::from_millis(50);

/// The time after which a call becomes a task, for clients that support tasks.
const TASK_AFTER: Duration = Duration::from_millis(100);

/// The duration of a job that becomes a task.
const JOB: Duration = Duration::from_secs(1);

/// The row with the state that the processes share.
const ROW: &str = "conformance suite";

/// The interval at which each process reads the shared state.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance_server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("the address is missing")?;
    let suite = Arc::new(Suite::default());
    let source = Arc::clone(&suite);
    let extensions = Extensions::default().with_loader("suite", move |_: Nothing, _: &EntryContext<'_>| {
        Ok(Source::new(source.clone()).with_engine(source.clone()))
    });
    let app = App::from_text_with("conformance.yaml", APP, extensions)?;
    let mut options = LaunchOptions::default();
    if app.shared_store().is_some() {
        options.tasks = TaskStore::Resident;
    }
    let app = Blueprint::new(app, options)?;
    let pending = PendingApprovals::default();
    let approver = pending.approver(ClientApprover::new(Arc::new(DenyAll)));
    let runtime = Arc::new(Runtime::start(app, approver).await?);
    let _ = suite.registry.set(Arc::downgrade(runtime.executor().registry()));
    if let Some(store) = runtime.app().shared_store() {
        let _ = suite.shared.set(RecordTable::new(Arc::clone(store), RecordKind::Generation));
        tokio::spawn(async move { suite.follow().await });
    }
    let mut settings = ServerSettings::default();
    settings.replica = Replica::join(&runtime).await?;
    settings.surface = Some(SurfaceMode::Direct);
    settings.task_after = Some(TASK_AFTER);
    let server = Server::new(runtime, settings)?.with_approvals(&pending)?.listen(address.parse()?).await?;
    eprintln!("conformance_server: http://{}/mcp", server.address());
    server.serve(std::future::pending()).await?;
    Ok(())
}

/// The source and the engine of its tools.
#[derive(Default)]
struct Suite {
    /// True while the source has an additional tool.
    has_more: AtomicBool,
    /// The number of changes of the list of prompts.
    prompt_changes: AtomicU64,
    registry: OnceLock<Weak<ToolRegistry>>,
    /// The table with the shared state.
    shared: OnceLock<RecordTable>,
}

#[async_trait]
impl ToolLoader for Suite {
    fn source(&self) -> &'static str {
        "the suite"
    }

    async fn load(&self) -> LoadOutcome {
        let plain = [
            "test_simple_text",
            "test_image_content",
            "test_audio_content",
            "test_embedded_resource",
            "test_multiple_content_types",
            "test_error_handling",
            "test_tool_with_progress",
            "test_trigger_tool_change",
            "test_trigger_prompt_change",
            "test_elicitation_sep1034_defaults",
            "test_input_required_result_elicitation",
            "test_input_required_result_request_state",
            "test_input_required_result_multi_round",
            "test_input_required_result_tampered_state",
            "test_input_required_result_capabilities",
            "failing_job",
            "protocol_error_job",
            "multi_input",
            "test_tool_with_task",
        ];
        let mut tools: Vec<Tool> = plain.iter().filter_map(|name| tool(name, &json!({}))).collect();
        tools.extend(tool("confirm_delete", &json!({"filename": {"type": "string"}})));
        tools.extend(tool("greet", &json!({"name": {"type": "string"}})));
        tools.extend(tool(
            "slow_compute",
            &json!({"seconds": {"type": "number"}, "label": {"type": "string"}}),
        ));
        tools.extend(tool("test_elicitation", &json!({"message": {"type": "string"}})));
        let header = json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "query": {"type": "string"},
        });
        tools.extend(tool("test_custom_headers", &header));
        tools
            .extend(tool("json_schema_2020_12_tool", &json!({})).map(|tool| tool.with_parameters(dialect())));
        if self.has_more.load(Ordering::Relaxed) {
            tools.extend(tool("test_one_more", &json!({})));
        }
        let methods = [
            ("list_resources", "resources/list", json!({})),
            ("list_resource_templates", "resources/templates/list", json!({})),
            ("read_resource", "resources/read", json!({"uri": {"type": "string"}})),
            ("list_prompts", "prompts/list", json!({})),
            (
                "get_prompt",
                "prompts/get",
                json!({"name": {"type": "string"}, "arguments": {"type": "object"}}),
            ),
        ];
        for (name, method, properties) in methods {
            let changes = self.prompt_changes.load(Ordering::Relaxed);
            tools.extend(
                tool(name, &properties).map(|tool| {
                    tool.with_metadata("mcp_method", method).with_metadata("mcp_changes", changes)
                }),
            );
        }
        LoadOutcome { tools, rejected: Vec::new() }
    }
}

fn tool(name: &str, properties: &Value) -> Option<Tool> {
    let tool = Tool::new(QualifiedName::new(NAMESPACE, name).ok()?);
    let parameters = json!({"type": "object", "properties": properties});
    Some(tool.with_description(format!("Exercises {name}.")).with_parameters(parameters).with_risk(Risk::Low))
}

/// Returns the schema that a scenario compares literally.
fn dialect() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

#[async_trait]
impl ToolEngine for Suite {
    fn is_in_process(&self) -> bool {
        true
    }

    fn reports_progress(&self) -> bool {
        true
    }

    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let answer = match call.tool.name.name() {
            "test_simple_text" => Ok(json!("This is a simple text response for testing.")),
            "test_image_content" => Ok(json!([image()])),
            "test_audio_content" => Ok(json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}])),
            "test_embedded_resource" => {
                Ok(json!([embedded("test://embedded-resource", "This is an embedded resource content.")]))
            }
            "test_multiple_content_types" => Ok(json!([
                {"type": "text", "text": "Multiple content types test:"},
                image(),
                {"type": "resource", "resource": {
                    "uri": "test://mixed-content-resource",
                    "mimeType": "application/json",
                    "text": "{\"test\":\"data\",\"value\":123}",
                }},
            ])),
            "test_error_handling" => {
                Err(failed(ErrorKind::ToolFailed, "This tool intentionally returns an error for testing"))
            }
            "test_tool_with_progress" => {
                for done in [0.0, 50.0, 100.0] {
                    let step = Progress { done, total: Some(100.0), message: None };
                    context.progress.iter().for_each(|listener| listener.progress(&step));
                    tokio::time::sleep(STEP).await;
                }
                Ok(json!("It is done."))
            }
            "test_trigger_tool_change" => {
                self.has_more.fetch_xor(true, Ordering::Relaxed);
                self.changed().await;
                Ok(json!("There is one tool more, or one less."))
            }
            "test_trigger_prompt_change" => {
                self.prompt_changes.fetch_add(1, Ordering::Relaxed);
                self.changed().await;
                Ok(json!("There is one prompt more, or one less."))
            }
            "test_elicitation" => {
                let fields =
                    vec![field("username", FieldKind::Text, true), field("email", FieldKind::Text, true)];
                self.ask(&text("message"), fields, context).await
            }
            "test_elicitation_sep1034_defaults" => self.ask("Fill in the form.", defaults(), context).await,
            "test_input_required_result_multi_round" => {
                let name = vec![field("name", FieldKind::Text, true)];
                match self.ask("Step 1: What is your name?", name, context).await {
                    Ok(_) => {
                        let color = vec![field("color", FieldKind::Text, true)];
                        self.ask("Step 2: What is your favorite color?", color, context).await
                    }
                    failed => failed,
                }
            }
            "greet" => Ok(json!(format!("Hello, {}!", text("name")))),
            "slow_compute"
            | "failing_job"
            | "protocol_error_job"
            | "confirm_delete"
            | "multi_input"
            | "test_tool_with_task" => self.job(call, context).await,
            name if name.starts_with("test_input_required_result") => {
                self.ask("What is your name?", vec![field("name", FieldKind::Text, true)], context).await
            }
            name => self.upstream_method(name, call, context).await,
        };
        call.outcome(answer)
    }
}

impl Suite {
    /// Answers a method of an upstream server.
    async fn upstream_method(
        &self,
        name: &str,
        call: &Authorized<Call>,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match name {
            "list_resources" => Ok(json!({"resources": [
                {"uri": "test://static-text", "name": "text", "description": "A text.", "mimeType": "text/plain"},
                {"uri": "test://static-binary", "name": "binary", "description": "A picture.", "mimeType": "image/png"},
            ]})),
            "list_resource_templates" => Ok(json!({"resourceTemplates": [
                {"uriTemplate": "test://template/{id}/data", "name": "template", "description": "Data by its id."},
            ]})),
            "read_resource" => read(&text("uri")),
            "list_prompts" => Ok(prompts(self.prompt_changes.load(Ordering::Relaxed) % 2 == 1)),
            "get_prompt" if text("name") == "test_input_required_result_prompt" => {
                let context_field = vec![field("context", FieldKind::Text, true)];
                let answer = self.ask("What context should the prompt use?", context_field, context).await;
                answer.map(|answer| json!({"messages": [{"role": "user", "content": answer}]}))
            }
            "get_prompt" => prompt(&text("name"), call.arguments.get("arguments").unwrap_or(&Value::Null)),
            name => Ok(json!(format!("{name} was called"))),
        }
    }

    fn state(&self) -> Value {
        let prompt_changes = self.prompt_changes.load(Ordering::Relaxed);
        json!({"has_more": self.has_more.load(Ordering::Relaxed), "prompt_changes": prompt_changes})
    }

    /// Loads the changed source again, and publishes the state to the other processes.
    async fn changed(&self) {
        self.load_again().await;
        if let Some(table) = self.shared.get()
            && let Err(error) = table.put(ROW, self.state()).await
        {
            eprintln!("conformance_server: {error}");
        }
    }

    /// Applies the changes of other processes.
    async fn follow(&self) {
        let Some(table) = self.shared.get() else { return };
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let Ok(Some(state)) = table.get(ROW).await else { continue };
            if state == self.state() {
                continue;
            }
            self.has_more.store(state.get("has_more").is_some_and(|value| value == true), Ordering::Relaxed);
            self.prompt_changes.store(
                state.get("prompt_changes").and_then(Value::as_u64).unwrap_or_default(),
                Ordering::Relaxed,
            );
            self.load_again().await;
        }
    }

    /// Loads the source at once: the suite does not wait for the interval between two loads of a changed source.
    async fn load_again(&self) {
        if let Some(registry) = self.registry.get().and_then(Weak::upgrade) {
            let _ = registry.refresh_source(self.source()).await;
        }
    }

    /// Runs a tool that takes long enough to become a task.
    async fn job(&self, call: &Call, context: &CallContext) -> Result<Value, ToolError> {
        match call.tool.name.name() {
            "slow_compute" => {
                let seconds = call.arguments.get("seconds").and_then(Value::as_f64).unwrap_or_default();
                tokio::time::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default()).await;
                Ok(json!("It is computed."))
            }
            "failing_job" => {
                tokio::time::sleep(JOB).await;
                Err(failed(ErrorKind::ToolFailed, "This job always fails"))
            }
            "protocol_error_job" => {
                tokio::time::sleep(JOB).await;
                Err(failed(ErrorKind::Internal, "This job breaks off"))
            }
            "confirm_delete" => {
                tokio::time::sleep(JOB).await;
                self.ask("Delete it?", vec![field("confirm", FieldKind::Boolean, true)], context).await
            }
            "multi_input" => {
                tokio::time::sleep(JOB).await;
                let fields = || vec![field("name", FieldKind::Text, true)];
                let (first, second) = tokio::join!(
                    self.ask("What is your name?", fields(), context),
                    self.ask("What is its name?", fields(), context),
                );
                first.and(second)
            }
            _ => {
                let name = vec![field("name", FieldKind::Text, true)];
                let answer = self.ask("What is your name?", name, context).await;
                tokio::time::sleep(JOB).await;
                answer
            }
        }
    }

    async fn ask(
        &self,
        question: &str,
        fields: Vec<FormField>,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        let Some(approver) = &context.approver else {
            return Err(failed(ErrorKind::Internal, "nobody attends"));
        };
        let server = Some(NAMESPACE.into());
        let key = fields.first().map(|field| format!("user_{}", field.name));
        let question =
            UserQuestion { server, key, fields, ..UserQuestion::new(Arc::clone(&context.session), question) };
        match approver.ask_user(&question, context).await {
            UserAnswer::Approved { fields, .. } => {
                let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
                Ok(json!(format!("Hello, {name}! User response: accept, {}", Value::Object(fields.clone()))))
            }
            UserAnswer::Denied(_) => Ok(json!("User response: decline")),
            UserAnswer::Nobody => Err(failed(ErrorKind::InputRequired, "the client cannot ask its user")),
        }
    }
}

fn failed(kind: ErrorKind, message: &str) -> ToolError {
    ToolError::new(kind, message)
}

fn field(name: &str, kind: FieldKind, required: bool) -> FormField {
    let bounds = JsonObject::new();
    FormField { name: name.to_owned(), label: name.to_owned(), kind, required, default: None, bounds }
}

fn defaults() -> Vec<FormField> {
    let choices = ["active", "inactive", "pending"].map(str::to_owned).into();
    let fields = [
        ("name", FieldKind::Text, json!("John Doe")),
        ("age", FieldKind::Integer, json!(30)),
        ("score", FieldKind::Number, json!(95.5)),
        ("status", FieldKind::Choice(choices), json!("active")),
        ("verified", FieldKind::Boolean, json!(true)),
    ];
    fields
        .map(|(name, kind, default)| FormField { default: Some(default), ..field(name, kind, false) })
        .into()
}
