//! The page of a signed link, on which a person answers one call.

use maud::{Markup, html};

use super::super::html::text;
use super::approvals::{arguments, people, sentence, whole_arguments};
use super::{document, session};
use crate::approval::{ApprovalLink, LinkDecision};
use crate::operator::WaitingCall;

/// The contents of the page.
pub(crate) enum LinkPage<'a> {
    /// The call that the link answers.
    Call { call: &'a WaitingCall, link: &'a ApprovalLink },
    /// A text, because the link does not answer a call, or did.
    Notice(&'a str),
}

/// Renders the page of a link.
pub(crate) fn link_page(app: &str, page: &LinkPage<'_>) -> String {
    let main = match page {
        LinkPage::Call { call, link } => call_to_answer(call, link),
        LinkPage::Notice(notice) => html! { p class="told" role="status" { (sentence(notice)) } },
    };
    document(app, &main)
}

fn call_to_answer(call: &WaitingCall, link: &ApprovalLink) -> Markup {
    let decision = link.decision;
    html! {
        p class="sum" { "you are " (text(&link.person)) }
        article {
            h2 { (text(&call.tool)) " " span class=(format!("risk {}", call.risk.as_str())) { (call.risk.as_str()) } }
            p {
                "Called by " (text(&call.requester))
                @if let Some(agent) = &call.agent { ", agent " (text(agent)) }
                " " span class="dim" { "(" (text(&session(&call.session))) ")" }
                ". Asked by " (text(&call.rule)) ", " (call.waiting_seconds) " s ago."
                @if !call.side_effects.is_empty() {
                    " It changes: " q { (text(&call.side_effects.join(", "))) } "."
                }
            }
            (people(call))
            (arguments(call))
            @if decision == LinkDecision::Allow && whole_arguments(call).is_none() {
                p { "The arguments are too long to be shown whole, so the call cannot be allowed here." }
            } @else {
                // The address of the page is that of the form.
                form method="post" {
                    @match decision {
                        LinkDecision::Allow => button class="allow" name="decision" value=(decision.as_str()) { "Allow this call" },
                        LinkDecision::Deny => {
                            button class="deny" name="decision" value=(decision.as_str()) { "Deny" }
                            " " input name="feedback" maxlength="1000" aria-label="What to tell the model" placeholder="what to tell the model";
                        }
                    }
                }
            }
            // The text of a server comes last, where it cannot pass for the text above it.
            @if !call.description.is_empty() {
                p class="dim" { "Its description: " q { (text(&call.description)) } }
            }
        }
    }
}
