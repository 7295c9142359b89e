//! The tasks of an app.

mod audit;
mod override_target;
mod overrides;

use std::fmt::Display;
use std::sync::Arc;

use toolcrib_port::Approver;
use toolcrib_tasks::{TaskPorts, Tasks};

pub(crate) use self::audit::AuditSender;
pub(crate) use self::overrides::ActiveOverrides;
use crate::Error;
use crate::agent::prompter::Prompts;
use crate::services::AppServices;

/// Opens the tasks of an app, which call its tools and prompt its agents.
pub(crate) async fn open(services: &Arc<AppServices>, approver: &Arc<dyn Approver>) -> Result<Tasks, Error> {
    let has_agents = !services.app.config.agents.is_empty();
    let channels = services.channels.iter().map(|named| (named.name.clone(), Arc::clone(&named.channel)));
    let ports = TaskPorts {
        tool_caller: Some(services.executor.tool_caller()),
        prompter: has_agents.then(|| Arc::new(Prompts(Arc::downgrade(services))) as _),
        channels: channels.collect(),
        script_engine: services.app.extensions.script_engine.clone(),
        approver: Some(Arc::clone(approver)),
    };
    let settings = services.app.task_settings(services.options.tasks)?;
    Tasks::open(settings, ports).await.map_err(|error| start_error(&error))
}

pub(crate) fn start_error(error: &dyn Display) -> Error {
    Error::Start { what: "the tasks".into(), message: error.to_string() }
}
