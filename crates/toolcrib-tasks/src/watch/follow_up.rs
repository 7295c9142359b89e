//! The notifications of watchers, and the follow-up actions.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use toolcrib_model::text::ellipsize_bytes;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{CallJournal, PhaseTracker};

use super::WatchersInner;
use super::firing::{Firing, FollowUp};
use super::local::LiveWatcher;
use super::request::check_takes_values;
use crate::Action;
use crate::action::unrecorded_start;
use crate::owner::Owner;
use crate::text::{MAX_NOTIFIED_BYTES, error_text};

/// The maximum duration of an action.
const MAX_ACTION_TIME: Duration = Duration::from_mins(10);

impl WatchersInner {
    /// Sends the pending notification of a watcher, and performs its follow-up actions. Returns false if that was
    /// interrupted or the watcher was removed.
    pub(super) async fn fire(self: &Arc<Self>, live: &Arc<LiveWatcher>, cancel: &CancellationToken) -> bool {
        loop {
            if live.is_removed() {
                return false;
            }
            let (watcher, owner) = (live.task(), &live.owner);
            let Some(firing) = &watcher.firing else { return true };
            if !firing.is_told {
                self.notify(owner, watcher.request.channel.as_deref(), &firing.text, &firing.key).await;
                change_firing(live, |firing| firing.is_told = true);
                continue;
            }
            let Some((step, key)) = firing.next() else {
                live.update(|watcher| watcher.firing = None);
                self.save_or_warn(live).await;
                return true;
            };
            let title = watcher.title(&live.id);
            if firing.is_under_way {
                let what = what(&step.action);
                let text = format!(
                    "{title} had begun to {what} when the program ended: the outcome is unknown, and it is not repeated"
                );
                self.ledger.services.tell(owner, &text).await;
            } else if !self.perform_follow_up(live, &title, step, &key, cancel).await {
                return false;
            }
            change_firing(live, Firing::advance);
            self.save_or_warn(live).await;
        }
    }

    /// Performs a follow-up action. Returns false if it was interrupted.
    async fn perform_follow_up(
        self: &Arc<Self>,
        live: &Arc<LiveWatcher>,
        title: &str,
        step: &FollowUp,
        key: &str,
        cancel: &CancellationToken,
    ) -> bool {
        let (owner, services) = (&live.owner, &self.ledger.services);
        if self.is_over(cancel) {
            return false;
        }
        if !step.action.may_repeat(services, owner) && !step.action.records_start() {
            change_firing(live, |firing| firing.is_under_way = true);
            if let Err(error) = self.ledger.save(live).await {
                let what = what(&step.action);
                let text = format!("{title} did not {what}, since its start could not be persisted: {error}");
                services.tell(owner, &text).await;
                return true;
            }
        }
        let done = match self.check_follow_up(owner, step) {
            Ok(()) => {
                let phase = PhaseTracker::new();
                let start = Arc::new(FollowUpStart { watchers: Arc::clone(self), live: Arc::clone(live) });
                let acting = services.perform(owner, &step.action, key, cancel, &phase, start);
                let acting = tokio::time::timeout(MAX_ACTION_TIME, acting);
                self.track_approval(live, &phase, acting).await.unwrap_or_else(|_| {
                    let message = format!("it has not ended within {} s", MAX_ACTION_TIME.as_secs());
                    Err(ToolError::new(ErrorKind::OutcomeUnknown, message))
                })
            }
            Err(error) => Err(error),
        };
        let notification = match (&done, &step.action) {
            (Err(_), _) if self.is_over(cancel) => return false,
            (Err(error), action) => Some(format!("{title} was to {}: {}", what(action), error_text(error))),
            (Ok(result), Action::ToolCall { tool, .. }) => Some(format!(
                "{title} has called `{tool}`: {}",
                ellipsize_bytes(&result.to_string(), MAX_NOTIFIED_BYTES)
            )),
            // These actions send their own notifications.
            (Ok(_), Action::Notification { .. } | Action::LlmPrompt { .. }) => None,
        };
        if let Some(text) = notification {
            services.tell(owner, &text).await;
        }
        true
    }

    /// Checks the tool of an action again, since its name may have been reassigned after the watcher was started.
    fn check_follow_up(&self, owner: &Owner, step: &FollowUp) -> Result<(), ToolError> {
        match &step.action {
            Action::ToolCall { tool, .. } if step.is_filled => {
                check_takes_values(tool, self.ledger.services.tool_caller()?.catalogue(), &owner.context())
            }
            _ => Ok(()),
        }
    }

    /// Sends a notification by a channel, or in the conversation if the channel fails.
    async fn notify(&self, owner: &Owner, channel: Option<&str>, text: &str, key: &str) {
        let services = &self.ledger.services;
        let Some(channel) = channel else { return services.tell(owner, text).await };
        if let Err(error) = services.notify(owner, Some(channel), text, Some(key)).await {
            let reason = error_text(&error);
            let text = format!("{text} (the channel `{channel}` did not deliver this: {reason})");
            services.tell(owner, &text).await;
        }
    }
}

/// The journal of a follow-up action whose call may be made again only while it has not begun.
struct FollowUpStart {
    watchers: Arc<WatchersInner>,
    live: Arc<LiveWatcher>,
}

#[async_trait]
impl CallJournal for FollowUpStart {
    async fn record_start(&self) -> Result<(), ToolError> {
        change_firing(&self.live, |firing| firing.is_under_way = true);
        self.watchers.ledger.save(&self.live).await.map_err(|error| unrecorded_start(&error))
    }
}

fn change_firing(live: &LiveWatcher, change: impl FnOnce(&mut Firing)) {
    live.update(|watcher| watcher.firing.as_mut().map(change));
}

/// Returns a description of an action that continues a sentence after `to`.
fn what(action: &Action) -> String {
    match action {
        Action::Notification { channel: Some(channel), .. } => format!("send a message to `{channel}`"),
        Action::Notification { channel: None, .. } => "tell something".to_owned(),
        Action::ToolCall { tool, .. } => format!("call `{tool}`"),
        Action::LlmPrompt { .. } => "prompt its agent".to_owned(),
    }
}
