//! The services that all tasks share: the store, the clock, the tool caller, notifications and channels.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolCall, ToolError};
use toolcrib_port::{Approver, CallContext, CallPhase, PhaseTracker, ToolCaller};
use toolcrib_script::ScriptEngine;

use crate::channels::{MAX_MESSAGE_CHARS, Message};
use crate::id::random_id;
use crate::owner::Owner;
use crate::store::{Change, StoreError};
use crate::{Channel, Clock, Notifications, Store};

/// The duration of a lease on a task in a shared store, unless it is renewed.
pub(crate) const LEASE_TIME: Duration = Duration::from_secs(30);

/// Runs agents on prompts.
#[async_trait]
pub trait Prompter: Send + Sync {
    /// Runs the agent that the context names on a prompt, and returns its final answer.
    async fn prompt(&self, prompt: &str, context: &CallContext) -> Result<String, ToolError>;
}

/// The parts of a running app that its tasks use. An operator who inspects tasks has none of them.
#[derive(Clone, Default)]
pub struct TaskPorts {
    /// The caller that executes tool calls.
    pub tool_caller: Option<Arc<dyn ToolCaller>>,
    /// The prompter that runs agents, if the app has any.
    pub prompter: Option<Arc<dyn Prompter>>,
    /// The channels, by the names by which tasks refer to them.
    pub channels: BTreeMap<String, Arc<dyn Channel>>,
    /// The engine of scripts, if the app runs any.
    pub script_engine: Option<Arc<dyn ScriptEngine>>,
    /// The approver, which says when a person is available for a paused script.
    pub approver: Option<Arc<dyn Approver>>,
}

/// The services that all tasks share.
pub struct Services {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) notifications: Arc<Notifications>,
    ports: TaskPorts,
    /// The name under which this process takes leases. `None` if no other process shares the store.
    lessee: Option<String>,
    /// Cancelled when no more work may start.
    closing: CancellationToken,
}

impl Services {
    /// Opens the services on a store and a clock. `is_shared` is true if other processes have the store open too.
    pub async fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        is_shared: bool,
        ports: TaskPorts,
    ) -> Result<Self, StoreError> {
        let notifications = Arc::new(Notifications::open(Arc::clone(&store), Arc::clone(&clock)).await?);
        Ok(Self {
            store,
            clock,
            notifications,
            ports,
            lessee: is_shared.then(|| random_id("process")).transpose()?,
            closing: CancellationToken::new(),
        })
    }

    /// Returns the notifications of all sessions.
    pub fn notifications(&self) -> &Arc<Notifications> {
        &self.notifications
    }

    /// Stops the start of any further work.
    pub fn stop_intake(&self) {
        self.closing.cancel();
    }

    /// Returns the caller that executes tool calls, or an error after [`stop_intake`](Self::stop_intake).
    pub(crate) fn tool_caller(&self) -> Result<&Arc<dyn ToolCaller>, ToolError> {
        self.ports.tool_caller.as_ref().filter(|_| !self.closing.is_cancelled()).ok_or_else(|| {
            ToolError::new(ErrorKind::Unavailable, "the program is ending and starts no more work")
        })
    }

    /// Returns the prompter, if the app has agents.
    pub(crate) fn prompter(&self) -> Option<&Arc<dyn Prompter>> {
        self.ports.prompter.as_ref()
    }

    /// Returns the engine of scripts, if the app runs any.
    pub(crate) fn script_engine(&self) -> Option<&Arc<dyn ScriptEngine>> {
        self.ports.script_engine.as_ref()
    }

    /// Waits until a person may be available to approve calls; forever without an approver.
    pub(crate) async fn person_available(&self) {
        match &self.ports.approver {
            Some(approver) => approver.available().await,
            None => std::future::pending().await,
        }
    }

    /// Cancelled when no more work may start.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Waits until no more work may start and a call only waits for a person, who could answer for long.
    pub(crate) async fn interrupted(&self, phase: &PhaseTracker) {
        self.closing.cancelled().await;
        phase.wait_until(|phase| phase == CallPhase::WaitingForPerson).await;
    }

    /// Notifies the owner of a task: by the named channel, or at the next turn of its session without one.
    pub(crate) async fn notify(
        &self,
        owner: &Owner,
        channel: Option<&str>,
        text: &str,
        run_key: Option<&str>,
    ) -> Result<(), ToolError> {
        let Some(name) = channel else {
            let queued = self.notifications.push(&owner.session, text).await;
            return queued.map_err(|error| ToolError::new(ErrorKind::Unavailable, error.to_string()));
        };
        let mut context = owner.context();
        if let Some(tool_caller) = &self.ports.tool_caller {
            tool_caller.catalogue().admit(&context)?;
        }
        context.caller = self.tool_caller().ok().cloned();
        context.run_key = run_key.map(Into::into);
        self.send(name, text, context).await
    }

    /// Notifies the owner of a task at the next turn of its session. A failure is logged.
    pub(crate) async fn tell(&self, owner: &Owner, text: &str) {
        if let Err(error) = self.notifications.push(&owner.session, text).await {
            tracing::warn!(%error, "a notification about a task cannot be persisted");
        }
    }

    /// Sends a message by a channel, on behalf of the caller of this context. Long messages are truncated.
    pub(crate) async fn send(&self, name: &str, text: &str, context: CallContext) -> Result<(), ToolError> {
        let channel = self.channel(name)?;
        let text: String = text.chars().take(MAX_MESSAGE_CHARS).collect();
        let run_key = context.run_key.clone();
        let (at, run_key) = (self.clock.now(), run_key.as_deref());
        channel.send(&Message { channel: name, at, text: &text, run_key, context }).await
    }

    /// Returns true if the app has channels.
    pub(crate) fn has_channels(&self) -> bool {
        !self.ports.channels.is_empty()
    }

    /// Returns a sentence that lists the channels.
    pub(crate) fn channel_hint(&self) -> String {
        let known: Vec<&str> = self.ports.channels.keys().map(String::as_str).collect();
        format!("there is: {}", known.join(", "))
    }

    /// Checks the tool, the arguments and the policy of a call that the caller of this context schedules for later. All
    /// of them are checked again when the call is made.
    pub(crate) fn check_call(&self, call: &ToolCall, context: &CallContext) -> Result<(), ToolError> {
        self.tool_caller()?.catalogue().check_call(call, &Owner::of(context).action_context())
    }

    /// Returns a channel by its name.
    pub(crate) fn channel(&self, name: &str) -> Result<&Arc<dyn Channel>, ToolError> {
        self.ports.channels.get(name).ok_or_else(|| {
            let hint = if self.has_channels() {
                format!("{}; without one it is sent in the conversation", self.channel_hint())
            } else {
                "omit `channel` to send it in the conversation".to_owned()
            };
            ToolError::new(ErrorKind::InvalidArgs, format!("there is no channel `{name}`")).with_hint(hint)
        })
    }

    /// Returns true if other processes have the store open too.
    pub(crate) fn is_shared(&self) -> bool {
        self.lessee.is_some()
    }

    /// Returns the change that refuses others made with it if another process has acquired the lease on a task. `None` if
    /// the store is not shared.
    pub(crate) fn fence(&self, id: &str) -> Option<Change> {
        let owner = self.lessee.clone()?;
        Some(Change::Fence { id: id.to_owned(), owner })
    }

    /// Acquires or renews the lease on a task. Always succeeds if the store is not shared.
    pub(crate) async fn lease(&self, id: &str) -> Result<bool, StoreError> {
        match &self.lessee {
            None => Ok(true),
            Some(lessee) => self.store.lease(id, lessee, LEASE_TIME).await,
        }
    }

    /// Releases the lease on a task.
    pub(crate) async fn release(&self, id: &str) {
        if let Some(lessee) = &self.lessee
            && let Err(error) = self.store.release(id, lessee).await
        {
            tracing::warn!(%error, %id, "the lease of a task cannot be released, and stays until it expires");
        }
    }
}
