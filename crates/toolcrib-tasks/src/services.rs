//! What all tasks share: where they are kept, what time it is, where calls go in, and who is told what came of them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolCall, ToolError};
use toolcrib_port::{CallContext, ToolCaller};

use crate::id::random_id;
use crate::owner::Owner;
use crate::{Channel, Clock, MAX_MESSAGE_CHARS, Message, Notifications, Store, StoreError};

/// How long a task is slept for at most before the clock is looked at again: the clock of people may be set meanwhile.
const CLOCK_CHECK: Duration = Duration::from_secs(15);

/// How long the right to run a task holds where several processes share a store, unless it is renewed.
pub(crate) const LEASE_TIME: Duration = Duration::from_secs(30);

/// Puts a prompt before an agent, and gives what it answers.
#[async_trait]
pub trait Prompter: Send + Sync {
    /// Runs the agent that the context names with a prompt, to its end. The text is its answer.
    async fn prompt(&self, prompt: &str, context: &CallContext) -> Result<String, ToolError>;
}

/// What all tasks share.
pub struct Services {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) notifications: Arc<Notifications>,
    channels: BTreeMap<String, Arc<dyn Channel>>,
    entrance: OnceLock<Arc<dyn ToolCaller>>,
    prompter: OnceLock<Arc<dyn Prompter>>,
    /// Who holds the leases that this process takes. None where no other process has the store.
    lessee: Option<String>,
    /// Set when nothing more is started.
    closing: CancellationToken,
}

impl Services {
    /// What tasks need of a store and a clock. `is_shared` says that other processes have the store open too.
    pub async fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        is_shared: bool,
    ) -> Result<Self, StoreError> {
        let notifications = Arc::new(Notifications::open(Arc::clone(&store), Arc::clone(&clock)).await?);
        Ok(Self {
            store,
            clock,
            notifications,
            channels: BTreeMap::new(),
            entrance: OnceLock::new(),
            prompter: OnceLock::new(),
            lessee: is_shared.then(|| random_id("process")).transpose()?,
            closing: CancellationToken::new(),
        })
    }

    /// Adds a way by which notifications leave, under the name that tasks say.
    pub fn with_channel(mut self, name: impl Into<String>, channel: Arc<dyn Channel>) -> Self {
        self.channels.insert(name.into(), channel);
        self
    }

    /// Says where calls go in. Only the first is heard.
    pub fn enter_by(&self, entrance: Arc<dyn ToolCaller>) {
        // Said once, at start.
        let _ = self.entrance.set(entrance);
    }

    /// Says who puts prompts before agents. Only the first is heard.
    pub fn prompt_by(&self, prompter: Arc<dyn Prompter>) {
        // Said once, at start.
        let _ = self.prompter.set(prompter);
    }

    /// What sessions are told at their next turn.
    pub fn notifications(&self) -> &Arc<Notifications> {
        &self.notifications
    }

    /// Starts nothing more from now on.
    pub fn stop_intake(&self) {
        self.closing.cancel();
    }

    /// Where calls go in, as long as some are taken.
    pub(crate) fn entrance(&self) -> Result<&Arc<dyn ToolCaller>, ToolError> {
        self.entrance.get().filter(|_| !self.closing.is_cancelled()).ok_or_else(|| {
            ToolError::new(ErrorKind::Unavailable, "nothing is started any more: the program ends")
        })
    }

    /// Who puts prompts before agents.
    pub(crate) fn prompter(&self) -> Option<&Arc<dyn Prompter>> {
        self.prompter.get()
    }

    /// Set when nothing more is started.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Comes back when the clock says that it is time, or when so much time has passed that the clock is to be asked again.
    /// Whoever calls it looks at the clock afterwards.
    pub(crate) async fn sleep_towards(&self, due: Timestamp) {
        let left = due.duration_since(self.clock.now());
        let left = Duration::try_from(left).unwrap_or(Duration::ZERO);
        tokio::time::sleep(left.min(CLOCK_CHECK)).await;
    }

    /// Tells whoever a task belongs to something: by a channel where one is named, at its session's next turn otherwise.
    pub(crate) async fn tell(
        &self,
        owner: &Owner,
        channel: Option<&str>,
        text: &str,
        run_key: Option<&str>,
    ) -> Result<(), ToolError> {
        let Some(name) = channel else {
            let told = self.notifications.tell(&owner.session, text).await;
            return told.map_err(|error| ToolError::new(ErrorKind::Unavailable, error.to_string()));
        };
        let mut context = owner.context();
        if let Some(entrance) = self.entrance.get() {
            entrance.admit(&context)?;
        }
        context.caller = self.entrance().ok().cloned();
        context.run_key = run_key.map(Into::into);
        self.send(name, text, context).await
    }

    /// Sends a message by a channel, in the name of the caller of this context; a long one is cut.
    pub(crate) async fn send(&self, name: &str, text: &str, context: CallContext) -> Result<(), ToolError> {
        let channel = self.channel(name)?;
        let text: String = text.chars().take(MAX_MESSAGE_CHARS).collect();
        let run_key = context.run_key.clone();
        let (at, run_key) = (self.clock.now(), run_key.as_deref());
        channel.send(&Message { channel: name, at, text: &text, run_key, context }).await
    }

    /// Returns whether there are channels.
    pub(crate) fn has_channels(&self) -> bool {
        !self.channels.is_empty()
    }

    /// Names the channels that there are.
    pub(crate) fn known_channels(&self) -> String {
        let known: Vec<&str> = self.channels.keys().map(String::as_str).collect();
        format!("there are {}", known.join(", "))
    }

    /// Checks a call that is made later, in the name of whoever makes this one: its tool, its arguments and the rules, as
    /// they are now. They are checked again when it is made.
    pub(crate) fn check_call(&self, call: &ToolCall, context: &CallContext) -> Result<(), ToolError> {
        self.entrance()?.check_call(call, &Owner::of(context).action_context())
    }

    /// A channel by its name.
    pub(crate) fn channel(&self, name: &str) -> Result<&Arc<dyn Channel>, ToolError> {
        self.channels.get(name).ok_or_else(|| {
            let hint = if self.has_channels() {
                format!("{}; without one it is told in the conversation", self.known_channels())
            } else {
                "leave `channel` out: it is told in the conversation".to_owned()
            };
            ToolError::new(ErrorKind::InvalidArgs, format!("there is no channel `{name}`")).with_hint(hint)
        })
    }

    /// Whether other processes have the store open too.
    pub(crate) fn is_shared(&self) -> bool {
        self.lessee.is_some()
    }

    /// Takes the right to run a task for a while, or keeps it. It is there for the asking where the store is this process's
    /// own.
    pub(crate) async fn lease(&self, id: &str) -> Result<bool, StoreError> {
        match &self.lessee {
            None => Ok(true),
            Some(lessee) => self.store.lease(id, lessee, self.clock.now(), LEASE_TIME).await,
        }
    }

    /// Gives the right back.
    pub(crate) async fn release(&self, id: &str) {
        if let Some(lessee) = &self.lessee
            && let Err(error) = self.store.release(id, lessee).await
        {
            tracing::warn!(%error, %id, "the lease of a task stays until it is over by itself");
        }
    }
}
