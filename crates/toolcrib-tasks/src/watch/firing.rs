//! What follows when a watcher has something to tell.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::PhaseTracker;

use super::Inner;
use super::request::takes_values;
use super::watcher::{TOLD_BYTES, cut, told_error};
use crate::Action;
use crate::owner::Owner;

/// How long an action may take.
const MAX_ACTION_TIME: Duration = Duration::from_mins(10);

/// Something that is told and followed up. It is kept before either begins, and until both are done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Firing {
    /// The run key of the check.
    key: String,
    text: String,
    is_told: bool,
    /// What follows, in its order.
    steps: Vec<Step>,
    /// How many of them are done.
    done: usize,
    /// Whether the next one has been started, and may not be started again.
    is_under_way: bool,
}

/// An action that follows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) action: Action,
    /// Whether parts of a result are in it.
    pub(super) is_filled: bool,
}

/// What is to be done next.
enum Next {
    Tell { channel: Option<String>, text: String },
    Act { step: Step, key: String, was_under_way: bool },
    Nothing,
}

impl Firing {
    pub(super) fn new(key: String, text: String, steps: Vec<Step>) -> Self {
        Self { key, text, is_told: false, steps, done: 0, is_under_way: false }
    }

    fn next(&self, channel: Option<&str>) -> Next {
        if !self.is_told {
            return Next::Tell { channel: channel.map(str::to_owned), text: self.text.clone() };
        }
        match self.steps.get(self.done) {
            Some(step) => Next::Act {
                step: step.clone(),
                key: format!("{}-{}", self.key, self.done + 1),
                was_under_way: self.is_under_way,
            },
            None => Next::Nothing,
        }
    }

    fn advance(&mut self) {
        self.done += 1;
        self.is_under_way = false;
    }
}

impl Inner {
    /// Tells what a watcher has to tell, and does what follows. `false` where it has to be gone on with later, or never.
    pub(super) async fn fire(&self, id: &str, cancel: &CancellationToken) -> bool {
        loop {
            let next = self.table.with(id, |entry| {
                let watcher = &entry.watcher;
                let firing = watcher.firing.as_ref()?;
                let next = firing.next(watcher.request.channel.as_deref());
                Some((next, firing.key.clone(), watcher.owner.clone(), watcher.title(id)))
            });
            // It was stopped, or there is nothing.
            let Some(next) = next else { return false };
            let Some((next, check_key, owner, title)) = next else { return true };
            match next {
                Next::Tell { channel, text } => {
                    self.tell(&owner, channel.as_deref(), &text, &check_key).await;
                    self.change_firing(id, |firing| firing.is_told = true);
                }
                Next::Act { step, key, was_under_way: true } => {
                    let what = what(&step.action);
                    let text = format!(
                        "{title} had begun to {what} when the program ended: whether it was done is not known, and it is not \
                         done again"
                    );
                    self.tell(&owner, None, &text, &key).await;
                    self.change_firing(id, Firing::advance);
                    self.save_or_warn(id).await;
                }
                Next::Act { step, key, was_under_way: false } => {
                    if !self.act(id, &owner, &title, &step, &key, cancel).await {
                        return false;
                    }
                    self.change_firing(id, Firing::advance);
                    self.save_or_warn(id).await;
                }
                Next::Nothing => {
                    self.table.with(id, |entry| entry.watcher.firing = None);
                    self.save_or_warn(id).await;
                    return true;
                }
            }
        }
    }

    /// Does one thing that follows. `false` where that broke off.
    async fn act(
        &self,
        id: &str,
        owner: &Owner,
        title: &str,
        step: &Step,
        key: &str,
        cancel: &CancellationToken,
    ) -> bool {
        let is_over = || cancel.is_cancelled() || self.services.closing().is_cancelled();
        if is_over() {
            return false;
        }
        if !step.action.may_repeat(&self.services, owner) {
            self.change_firing(id, |firing| firing.is_under_way = true);
            if let Err(error) = self.save(id).await {
                let what = what(&step.action);
                let text =
                    format!("{title} did not {what}, since that could not be written down before: {error}");
                self.tell(owner, None, &text, key).await;
                return true;
            }
        }
        let done = match self.may_be_given(owner, step) {
            Ok(()) => {
                let phase = PhaseTracker::new();
                let acting = self.services.act(owner, &step.action, key, cancel, &phase);
                let acting = tokio::time::timeout(MAX_ACTION_TIME, acting);
                self.followed(id, &phase, acting).await.unwrap_or_else(|_| {
                    let message = format!("it has not ended within {} s", MAX_ACTION_TIME.as_secs());
                    Err(ToolError::new(ErrorKind::OutcomeUnknown, message))
                })
            }
            Err(error) => Err(error),
        };
        let told = match (&done, &step.action) {
            (Err(_), _) if is_over() => return false,
            (Err(error), action) => Some(format!("{title} was to {}: {}", what(action), told_error(error))),
            (Ok(result), Action::ToolCall { tool, .. }) => {
                Some(format!("{title} has called `{tool}`: {}", cut(&result.to_string(), TOLD_BYTES)))
            }
            // These have told what came of them.
            (Ok(_), Action::Notification { .. } | Action::LlmPrompt { .. }) => None,
        };
        if let Some(text) = told {
            self.tell(owner, None, &text, key).await;
        }
        true
    }

    /// What a name means may have changed since the watcher was started.
    fn may_be_given(&self, owner: &Owner, step: &Step) -> Result<(), ToolError> {
        match &step.action {
            Action::ToolCall { tool, .. } if step.is_filled => {
                takes_values(tool, self.services.entrance()?.as_ref(), &owner.context())
            }
            _ => Ok(()),
        }
    }

    /// Tells something, in the conversation where a channel does not take it.
    async fn tell(&self, owner: &Owner, channel: Option<&str>, text: &str, key: &str) {
        let Err(error) = self.services.tell(owner, channel, text, Some(key)).await else { return };
        let Some(channel) = channel else {
            tracing::warn!(%error, %key, "what a watcher has told is not kept");
            return;
        };
        let text = format!("{text} (the channel `{channel}` did not take this: {})", told_error(&error));
        if let Err(error) = self.services.tell(owner, None, &text, Some(key)).await {
            tracing::warn!(%error, %key, "what a watcher has told is not kept");
        }
    }

    fn change_firing(&self, id: &str, change: impl FnOnce(&mut Firing)) {
        self.table.with(id, |entry| entry.watcher.firing.as_mut().map(change));
    }
}

/// An action in words that follow `to`.
fn what(action: &Action) -> String {
    match action {
        Action::Notification { channel: Some(channel), .. } => format!("send a message to `{channel}`"),
        Action::Notification { channel: None, .. } => "tell something".to_owned(),
        Action::ToolCall { tool, .. } => format!("call `{tool}`"),
        Action::LlmPrompt { .. } => "prompt its agent".to_owned(),
    }
}
