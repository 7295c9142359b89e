//! `modules.<id>.setup`: calls of a module by the operator before agents use it.
//!
//! The executor resolves, validates, limits and records these calls like any other. The operator wrote them, so they need no
//! approval, and constraints that keep an action from agents do not apply. Rules under `tools.capabilities.deny` and `access`
//! apply.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_app::Blueprint;
use toolcrib_app::sections::module_entry::SetupAction;
use toolcrib_app::sections::setup::{Setup, place};
use toolcrib_exec::audit::Audit;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{ErrorKind, ToolCall, ToolError};
use toolcrib_modules::SETUP_SESSION as SESSION;
use toolcrib_port::{CallContext, LoadOutcome, Reject, RejectKind, ToolLoader};
use toolcrib_registry::ToolRegistry;
use toolcrib_results::Results;
use toolcrib_sdk::Module;

use crate::Error;

/// Runs the actions of all modules, one at a time. Returns the failures: a module that is set up in part cannot be
/// used.
pub(crate) async fn run(
    blueprint: &Blueprint,
    results: &Arc<Results>,
    audit: &Audit,
) -> Result<BTreeMap<String, Reject>, Error> {
    let setup = Setup::of(&blueprint.app);
    let with_setup = || {
        let actions = blueprint.modules.iter().map(|module| (module, setup.actions(module.id())));
        actions.filter(|(_, actions)| !actions.is_empty())
    };
    let mut failed = BTreeMap::new();
    if !blueprint.options.setup || with_setup().next().is_none() {
        return Ok(failed);
    }
    let loaders = with_setup().map(|(module, _)| Arc::new(module.clone()) as Arc<dyn ToolLoader>);
    let registry = ToolRegistry::from_loaders(loaders).await;
    let policy = setup.policy().map_err(|error| blueprint.app.file.wrong(error))?;
    let mut executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll))
        .with_flow(blueprint.flow.clone())
        .with_results(Arc::clone(results))
        .with_audit(audit.clone());
    for (module, _) in with_setup() {
        executor = executor.with_engine(module.source(), Arc::new(module.clone()));
    }
    let executor = Arc::new(executor);
    for (module, actions) in with_setup() {
        for (position, action) in actions.iter().enumerate() {
            if let Err(reject) =
                run_one(&setup, &executor, module, action, &place(module.id(), position)).await
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
    setup: &Setup<'_>,
    executor: &Arc<Executor>,
    module: &Module,
    action: &SetupAction,
    place: &str,
) -> Result<(), Reject> {
    let file = setup.file();
    let rejected = |kind, message: String| {
        let error = file.error_at(place, message);
        Reject::source(module.source(), kind, file.readable(error, place).at(&file.name))
    };
    let params = setup
        .params(action, place)
        .map_err(|error| Reject::source(module.source(), RejectKind::Unsupported, error.at(&file.name)))?;
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
