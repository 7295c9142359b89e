//! The tasks of an app, and what else it has in its store.

use std::fmt::Display;
use std::sync::Arc;

use toolcrib_app::App;
use toolcrib_exec::audit::SpoolSender;
use toolcrib_port::Approver;
use toolcrib_tasks::{ActiveOverrides, TaskPorts, Tasks};

use crate::Error;
use crate::agent::prompter::Prompts;
use crate::services::AppServices;
use crate::stored::StoredAudit;

/// Opens the tasks of an app, which call its tools and prompt its agents.
pub(crate) async fn open(services: &Arc<AppServices>, approver: &Arc<dyn Approver>) -> Result<Tasks, Error> {
    let (app, channels) = (&services.parts.app, &services.parts.channels);
    let channels = channels.iter().map(|named| (named.name.clone(), Arc::clone(&named.channel)));
    let has_agents = !app.config.agents.is_empty();
    let ports = TaskPorts {
        tool_caller: Some(services.executor.tool_caller()),
        prompter: has_agents.then(|| Arc::new(Prompts(Arc::downgrade(services))) as _),
        channels: channels.collect(),
        script_engine: app.extensions.script_engine.clone(),
        approver: Some(Arc::clone(approver)),
    };
    let settings = app.task_settings(services.options.tasks)?;
    Tasks::open(settings, ports).await.map_err(|error| start_error(&error))
}

pub(crate) fn start_error(error: &dyn Display) -> Error {
    Error::Start { what: "the tasks".into(), message: error.to_string() }
}

/// Applies the overrides in the store of an app.
pub(crate) async fn open_overrides(services: &AppServices) -> Result<Arc<ActiveOverrides>, Error> {
    let AppServices { parts, options, executor, .. } = services;
    let store = (parts.app.store_location()?, options.tasks);
    let opened = ActiveOverrides::open(store, (executor.registry(), executor.policy()), &parts.loaders).await;
    opened.map_err(|error| Error::Start {
        what: "the overrides of `toolcrib enable`, `disable` and `profile use`".into(),
        message: error.to_string(),
    })
}

/// Starts sending the audit records of an app that has them in its store.
pub(crate) fn send_audit(app: &App) -> Result<Option<SpoolSender>, Error> {
    let (Some(spool), Some(location)) = (app.audit_spool(), app.store_location()?) else { return Ok(None) };
    Ok(Some(SpoolSender::start(spool, StoredAudit::new(location))))
}
