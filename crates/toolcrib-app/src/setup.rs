//! `modules.<id>.setup`: calls of a module by the operator before agents use it.
//!
//! The executor resolves, validates, limits and records these calls like any other. The operator wrote them, so they need no
//! approval, and constraints that keep an action from agents do not apply. Rules under `tools.capabilities.deny` and `access`
//! apply.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use toolcrib_document::Error as DocumentError;
use toolcrib_exec::audit::Audit;
use toolcrib_exec::{DenyAll, Executor, FlowSettings};
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Tool, ToolCall, ToolError, pointer_part};
use toolcrib_modules::SETUP_SESSION as SESSION;
use toolcrib_policy::{Call, Capabilities, Effect, Policy, Principal, Verdict};
use toolcrib_port::{CallContext, LoadOutcome, Reject, RejectKind, ToolLoader};
use toolcrib_registry::ToolRegistry;
use toolcrib_results::Results;
use toolcrib_schema::CompiledSchema;
use toolcrib_sdk::Module;

use crate::config::validation::unknown;
use crate::{App, SetupAction, config::templates};

/// Checks the actions of a module before they run.
pub(crate) fn check(app: &App, module: &Module, actions: &[SetupAction], errors: &mut Vec<DocumentError>) {
    if actions.is_empty() {
        return;
    }
    if let Some(reason) = module.setup_refusal() {
        let pointer = format!("/modules/{}/setup", pointer_part(module.id()));
        let message = format!("the module `{}` has no use for `setup`: {reason}", module.id());
        errors.push(app.document.error_at(&pointer, message));
        return;
    }
    let tools: Vec<Tool> = module.definitions().collect();
    let known: Vec<&str> = tools.iter().map(|tool| tool.name.name()).collect();
    // What is wrong with the rules is said where they are checked.
    let policy = policy(app).ok();
    for (position, action) in actions.iter().enumerate() {
        let place = place(module.id(), position);
        let Some(tool) = tools.iter().find(|tool| tool.name.name() == action.action) else {
            let message =
                format!("in the module `{}`: {}", module.id(), unknown("action", &action.action, &known));
            errors.push(app.document.error_at(&format!("{place}/action"), message));
            continue;
        };
        let params = match params(app, action, &place) {
            Ok(params) => params,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let fitting = fitting(app, tool, params, &place, errors);
        if let (Some(policy), Some(params)) = (&policy, fitting)
            && let Some(rule) = denied(policy, tool, params)
        {
            let message = format!(
                "`{rule}` denies `{}`, to setup too; to keep an action from agents alone, name it in \
                 `modules.{}.constraints`",
                tool.name.dotted(),
                module.id()
            );
            errors.push(app.document.error_at(&format!("{place}/action"), message));
        }
    }
}

/// Returns the arguments as the tool gets them, or what is wrong with them.
fn fitting(
    app: &App,
    tool: &Tool,
    params: JsonObject,
    place: &str,
    errors: &mut Vec<DocumentError>,
) -> Option<JsonObject> {
    // A schema that cannot be used is said to be so when the tool is loaded.
    let schema = CompiledSchema::compile(&tool.parameters).ok()?;
    match schema.repair(params) {
        Ok(repaired) => Some(repaired.arguments),
        Err(violations) => {
            errors.extend(violations.iter().map(|violation| {
                let pointer = format!("{place}/params{}", violation.path);
                let message = format!("in `params` of `{}`: {}", tool.name.dotted(), violation.message);
                app.readable(app.document.error_at(&pointer, message), &pointer)
            }));
            None
        }
    }
}

/// Returns the rule that denies a call, with these arguments, to everybody.
fn denied(policy: &Policy, tool: &Tool, arguments: JsonObject) -> Option<Arc<str>> {
    let mut call = Call::new(Arc::new(tool.clone()), SESSION.into(), 0);
    call.arguments = arguments;
    match policy.authorize(call, Principal::new(SESSION)) {
        Verdict::Denied(decision) => Some(decision.rule),
        Verdict::Granted(_) | Verdict::Ask(_) => None,
    }
}

/// Runs the actions of all modules, one at a time. Returns the failures: a module that is set up in part cannot be
/// used.
pub(crate) async fn run(
    app: &App,
    modules: &[Module],
    flow: FlowSettings,
    results: Arc<Results>,
    audit: Audit,
) -> Result<BTreeMap<String, Reject>, crate::Error> {
    let with_setup = || {
        modules.iter().filter_map(|module| {
            let actions = &app.config.modules.get(module.id())?.setup;
            (!actions.is_empty()).then_some((module, actions))
        })
    };
    let mut failed = BTreeMap::new();
    if !app.setup || with_setup().next().is_none() {
        return Ok(failed);
    }
    let loaders = with_setup().map(|(module, _)| Arc::new(module.clone()) as Arc<dyn ToolLoader>);
    let registry = ToolRegistry::from_loaders(loaders).await;
    let policy = policy(app)?;
    let mut executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll))
        .with_flow(flow)
        .with_results(Arc::clone(&results))
        .with_audit(audit);
    for (module, _) in with_setup() {
        executor = executor.with_engine(module.source(), Arc::new(module.clone()));
    }
    let executor = Arc::new(executor);
    for (module, actions) in with_setup() {
        for (position, action) in actions.iter().enumerate() {
            if let Err(reject) = run_one(app, &executor, module, action, &place(module.id(), position)).await
            {
                failed.insert(module.id().to_owned(), reject);
                break;
            }
        }
    }
    // What the actions have opened stays: it is for the agents. What they gave is of no use to anybody.
    results.forget(SESSION);
    Ok(failed)
}

async fn run_one(
    app: &App,
    executor: &Arc<Executor>,
    module: &Module,
    action: &SetupAction,
    place: &str,
) -> Result<(), Reject> {
    let rejected = |kind, message: String| {
        let error = app.document.error_at(place, message);
        Reject::source(module.source(), kind, app.readable(error, place).at(&app.file))
    };
    let params = params(app, action, place)
        .map_err(|error| Reject::source(module.source(), RejectKind::Unsupported, error.at(&app.file)))?;
    let call = ToolCall::new(format!("{}::{}", module.id(), action.action), params);
    let context = CallContext::new(SESSION).with_full_results();
    match executor.call(call, &context).await.error {
        None => Ok(()),
        Some(error) => Err(rejected(
            kind_of(&error),
            format!(
                "the setup action `{}` failed, so the module is left out: {}",
                action.action,
                said(&error)
            ),
        )),
    }
}

fn kind_of(error: &ToolError) -> RejectKind {
    match error.kind {
        ErrorKind::InvalidArgs | ErrorKind::Denied | ErrorKind::UnknownTool => RejectKind::Unsupported,
        _ => RejectKind::Unavailable,
    }
}

fn said(error: &ToolError) -> String {
    match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}

fn place(module: &str, position: usize) -> String {
    format!("/modules/{}/setup/{position}", pointer_part(module))
}

fn params(app: &App, action: &SetupAction, place: &str) -> Result<JsonObject, DocumentError> {
    let pointer = format!("{place}/params");
    match templates::filled(app, &Value::Object(action.params.clone()), &pointer)? {
        Value::Object(params) => Ok(params),
        other => Err(app.document.error_at(&pointer, format!("`params` has to be a mapping, not {other}"))),
    }
}

/// Returns the policy of setup: the named actions, unless a rule denies them.
fn policy(app: &App) -> Result<Policy, crate::Error> {
    let rules = &app.config.tools.capabilities;
    let capabilities =
        Capabilities { default_policy: Effect::Deny, deny: rules.deny.clone(), ..Capabilities::default() };
    let mut policy = Policy::new(&capabilities, [])
        .map_err(|error| app.error_at(error.place().pointer(), error.to_string()))?;
    for (id, module) in &app.config.modules {
        for (position, action) in module.setup.iter().enumerate() {
            // What can be no name is an unknown action, and said to be so.
            if let Ok(name) = QualifiedName::new(id, &action.action) {
                policy = policy.with_granted(&name, &format!("modules.{id}.setup[{position}]"));
            }
        }
    }
    Ok(policy)
}

/// In the place of a module that could not be set up.
pub(crate) struct NotSetUp {
    id: String,
    reject: Reject,
}

impl NotSetUp {
    pub(crate) fn new(id: impl Into<String>, reject: Reject) -> Self {
        Self { id: id.into(), reject }
    }
}

#[async_trait]
impl ToolLoader for NotSetUp {
    fn source(&self) -> &str {
        &self.reject.source
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        Some(&self.id)
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome { tools: Vec::new(), rejected: vec![self.reject.clone()] }
    }
}
