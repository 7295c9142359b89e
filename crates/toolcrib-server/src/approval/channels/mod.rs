//! Channels that ask people about calls: each person gets a message with separate links.

mod message;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;
use jiff::Timestamp;
use toolcrib_app::sections::approvals::{ApprovalChannel, ApprovalChannels, ApprovalTransport};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::ApprovalRequirement;
use toolcrib_tasks::channels::Mail;

use self::message::ApprovalMessage;
use super::links::{LinkDecision, LinkSigner};
use super::push::PushSubscriptions;
use crate::console::whole_arguments;
use crate::operator::WaitingCall;

/// The path of the page that a link leads to, which the token follows.
pub(crate) const LINK_PATH: &str = "/approve/";

/// The channels of the served app.
pub(super) struct Messenger {
    app: String,
    channels: ApprovalChannels,
    signer: Arc<LinkSigner>,
    push: Arc<PushSubscriptions>,
}

impl Messenger {
    pub(super) fn new(
        app: &str,
        channels: ApprovalChannels,
        signer: Arc<LinkSigner>,
        push: Arc<PushSubscriptions>,
    ) -> Self {
        Self { app: app.to_owned(), channels, signer, push }
    }

    /// Returns the channels.
    pub(super) fn channels(&self) -> impl Iterator<Item = &ApprovalChannel> {
        self.channels.channels.values()
    }

    /// Asks people about a call, each by every channel that the rules name. Returns true if a message was delivered to
    /// someone.
    pub(super) async fn ask(&self, call: &WaitingCall) -> bool {
        let requirement = &call.requirement;
        let named =
            requirement.channels.iter().filter_map(|name| Some((name, self.channels.channels.get(name)?)));
        let messages: Vec<_> = named
            .flat_map(|(name, channel)| channel.people.iter().map(move |person| (name, channel, person)))
            .filter(|(_, _, person)| may_answer(requirement, person))
            .collect();
        if messages.is_empty() {
            tracing::warn!(tool = call.tool, "no channel reaches a person who may approve the call");
            return false;
        }
        let sending = messages.into_iter().map(async |(name, channel, person)| {
            let message = self.message(name, person, call);
            let sent = self.send(name, channel, &message).await;
            if let Err(error) = &sent {
                tracing::warn!(%error, channel = name, person, "a person could not be asked about a call");
            }
            sent.is_ok()
        });
        join_all(sending).await.contains(&true)
    }

    async fn send(
        &self,
        name: &str,
        channel: &ApprovalChannel,
        message: &ApprovalMessage<'_>,
    ) -> Result<(), ToolError> {
        match &channel.transport {
            ApprovalTransport::Webhook { sender, format } => {
                sender.post(name, &message.id, message.at, &message.body(*format)).await
            }
            ApprovalTransport::Email { mailer, addresses } => {
                let Some(to) = addresses.get(message.person) else {
                    let reason = format!("the person `{}` has no address", message.person);
                    return Err(ToolError::new(ErrorKind::Internal, reason));
                };
                let (subject, text) = (message.subject(), message.text());
                mailer.send(name, &Mail { id: &message.id, to, subject: &subject, text: &text }).await
            }
            ApprovalTransport::WebPush { sender } => {
                let text = message.push(&self.channels.url);
                self.push.send(sender, (name, message.person), (&text, message.lifetime)).await
            }
            _ => unreachable!("every transport is known"),
        }
    }

    fn message<'a>(
        &'a self,
        channel: &'a str,
        person: &'a str,
        call: &'a WaitingCall,
    ) -> ApprovalMessage<'a> {
        let lifetime = self.channels.lifetime;
        let link = |decision| {
            let link = self.signer.link(call.id, person, decision, lifetime);
            let mut url = self.channels.url.clone();
            url.set_path(&format!("{LINK_PATH}{}", self.signer.sign(&link)));
            url
        };
        let [allow, deny] = [LinkDecision::Allow, LinkDecision::Deny].map(link);
        let allow = whole_arguments(call).is_some().then_some(allow);
        let id = format!("approval_{}_{}_{channel}_{person}", self.signer.process(), call.id);
        let at = Timestamp::now();
        ApprovalMessage { id, at, app: &self.app, channel, person, call, allow, deny, lifetime }
    }
}

/// Returns true if a person may answer a call that no one has answered yet.
fn may_answer(requirement: &ApprovalRequirement, person: &str) -> bool {
    requirement.refusal(person, &BTreeSet::new()).is_none()
}
