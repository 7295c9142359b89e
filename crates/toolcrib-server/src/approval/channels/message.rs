//! Messages that ask a person about a call.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_app::sections::approvals::WebhookFormat;
use toolcrib_model::text::truncate_chars;
use url::Url;

use super::super::form::{escaped, one_line};
use crate::console::shown_session;
use crate::operator::WaitingCall;

/// The maximum length of the arguments in a message for people, in characters. The page of a link shows all of them.
const MAX_ARGUMENTS_CHARS: usize = 2_000;

/// The maximum length of a text in a push message, in characters.
const MAX_PUSH_CHARS: usize = 120;

/// The end of a mail.
const MAIL_END: &str = "A link opens a page that shows the whole call and asks you to confirm. The links are for you \
                        alone: anyone who has them can answer in your name.\n";

/// The titles of the links.
const ALLOW: &str = "Allow…";
const DENY: &str = "Deny…";

/// A message that asks a person about a call.
pub(super) struct ApprovalMessage<'a> {
    /// The id by which its receiver recognizes a repetition.
    pub(super) id: String,
    pub(super) at: Timestamp,
    pub(super) app: &'a str,
    pub(super) channel: &'a str,
    pub(super) person: &'a str,
    pub(super) call: &'a WaitingCall,
    /// The link that allows the call. Absent if its arguments are too long to be shown whole.
    pub(super) allow: Option<Url>,
    pub(super) deny: Url,
    pub(super) lifetime: Duration,
}

impl ApprovalMessage<'_> {
    /// Returns the body of a request in this format.
    pub(super) fn body(&self, format: WebhookFormat) -> String {
        let body = match format {
            WebhookFormat::Json => self.json(),
            WebhookFormat::Slack => self.slack(),
            WebhookFormat::Teams => self.teams(),
            _ => unreachable!("every format is known"),
        };
        body.to_string()
    }

    /// Returns the question in one line.
    fn title(&self) -> String {
        format!("Allow {}?", one_line(&self.call.tool))
    }

    /// Returns what a person decides by, as labels and values of one line each.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let (call, requirement) = (self.call, &self.call.requirement);
        let caller = match &call.agent {
            Some(agent) => format!("{}, agent {agent}", call.requester),
            None => call.requester.clone(),
        };
        let mut facts = vec![
            ("App", self.app.to_owned()),
            ("Risk", call.risk.as_str().to_owned()),
            ("Called by", caller),
        ];
        if !call.side_effects.is_empty() {
            facts.push(("Changes", call.side_effects.join(", ")));
        }
        facts.push(("Asked by", call.rule.clone()));
        if requirement.approvers > 1 {
            facts.push(("Needs", format!("{} people", requirement.approvers)));
        }
        facts.push(("Until", self.expires().strftime("%Y-%m-%d %H:%M UTC").to_string()));
        facts.into_iter().map(|(label, value)| (label, one_line(&value))).collect()
    }

    /// Returns the arguments for people, truncated.
    fn arguments(&self) -> String {
        let arguments = self.call.arguments.as_ref();
        let Some(arguments) = arguments.and_then(|arguments| serde_json::to_string_pretty(arguments).ok())
        else {
            return "(too long to be shown)".to_owned();
        };
        let arguments = escaped(&arguments);
        let shown = truncate_chars(&arguments, MAX_ARGUMENTS_CHARS);
        if shown.len() == arguments.len() {
            arguments
        } else {
            format!("{shown}\n[…] The page shows the rest.")
        }
    }

    /// Returns the links with their titles.
    fn links(&self) -> impl Iterator<Item = (&'static str, &Url)> {
        self.allow.iter().map(|url| (ALLOW, url)).chain([(DENY, &self.deny)])
    }

    /// Returns the text of a push message: the question, and the link of the console. It has no arguments, since devices
    /// show it while they are locked.
    pub(super) fn push(&self, console: &Url) -> String {
        let mut page = console.clone();
        page.set_fragment(Some("approvals"));
        let cut = |text: &str| truncate_chars(text, MAX_PUSH_CHARS).to_owned();
        let message = json!({
            "title": cut(&self.title()),
            "body": cut(&format!("{}, {} risk", one_line(self.app), self.call.risk.as_str())),
            "tag": self.id,
            "url": page.as_str(),
        });
        message.to_string()
    }

    /// Returns the subject of a mail.
    pub(super) fn subject(&self) -> String {
        format!("{} ({})", self.title(), one_line(self.app))
    }

    /// Returns the text of a mail.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.title());
        for (label, value) in self.facts() {
            let _ = writeln!(text, "{label}: {value}");
        }
        let arguments = self.arguments();
        let arguments: Vec<String> = arguments.lines().map(|line| format!("    {line}")).collect();
        let _ = write!(text, "\nArguments:\n\n{}\n\n", arguments.join("\n"));
        for (title, url) in self.links() {
            let _ = write!(text, "{title}\n{url}\n\n");
        }
        text.push_str(MAIL_END);
        text
    }

    /// Returns a message for an incoming webhook of Slack. Texts are plain, so that nothing in them is a link or a mention.
    fn slack(&self) -> Value {
        let plain = |text: &str| json!({"type": "plain_text", "text": text, "emoji": false});
        let facts: Vec<String> =
            self.facts().iter().map(|(label, value)| format!("{label}: {value}")).collect();
        let arguments = json!([{"type": "text", "text": self.arguments()}]);
        let buttons = self.links().map(|(title, url)| {
            let style = if title == ALLOW { "primary" } else { "danger" };
            json!({"type": "button", "text": plain(title), "url": url.as_str(), "style": style})
        });
        json!({
            "text": slack_escaped(&self.title()),
            "blocks": [
                {"type": "section", "text": plain(&self.title())},
                {"type": "section", "text": plain(&facts.join("\n"))},
                {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": arguments}]},
                {"type": "actions", "elements": buttons.collect::<Vec<_>>()},
            ],
        })
    }

    /// Returns a message with an Adaptive Card for a workflow of Teams. Texts are runs, in which Markdown means nothing.
    fn teams(&self) -> Value {
        let text = |run: Value| json!({"type": "RichTextBlock", "inlines": [run]});
        let run = |text: &str| json!({"type": "TextRun", "text": text});
        let title = json!({"type": "TextRun", "text": self.title(), "size": "Medium", "weight": "Bolder"});
        let arguments = json!({"type": "TextRun", "text": self.arguments(), "fontType": "Monospace"});
        let facts = self.facts();
        let facts = facts.iter().map(|(label, value)| text(run(&format!("{label}: {value}"))));
        let body: Vec<Value> = [text(title)].into_iter().chain(facts).chain([text(arguments)]).collect();
        let actions = self
            .links()
            .map(|(title, url)| json!({"type": "Action.OpenUrl", "title": title, "url": url.as_str()}));
        json!({
            "type": "message",
            "attachments": [{
                "contentType": "application/vnd.microsoft.card.adaptive",
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "body": body,
                    "actions": actions.collect::<Vec<_>>(),
                },
            }],
        })
    }

    fn json(&self) -> Value {
        let call = self.call;
        json!({
            "type": "approval_request",
            "id": self.id,
            "at": self.at.to_string(),
            "expires": self.expires().to_string(),
            "app": self.app,
            "channel": self.channel,
            "person": self.person,
            "call": {
                "tool": call.tool,
                "arguments": call.arguments,
                "risk": call.risk,
                "side_effects": call.side_effects,
                "description": call.description,
                "rule": call.rule,
                "requester": call.requester,
                "session": shown_session(&call.session),
                "agent": call.agent,
                "approvers": call.requirement.approvers,
            },
            "links": {"allow": self.allow.as_ref().map(Url::as_str), "deny": self.deny.as_str()},
        })
    }

    /// Returns the time at which the links expire.
    fn expires(&self) -> Timestamp {
        self.at.checked_add(self.lifetime).unwrap_or(Timestamp::MAX)
    }
}

/// Escapes the characters that begin links and mentions in a text of Slack.
fn slack_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolcrib_model::{Risk, Tool};
    use toolcrib_policy::{
        ApprovalRule, Call, Capabilities, People, Policy, Principal, SettingLocation, Verdict,
    };

    use super::*;

    /// A call with hostile texts.
    fn call() -> WaitingCall {
        let rule: ApprovalRule = serde_json::from_value(json!({"module": "pay", "approvers": 2})).unwrap();
        let people = People::default().with_served_sessions("serve/", "serve/local/");
        let policy = Policy::new(&Capabilities::default(), []).unwrap();
        let policy = policy.with_approval_rules(&[rule], people, &SettingLocation::default()).unwrap();
        let tool = Tool::new("pay::send".parse().unwrap())
            .with_description("Sends money.")
            .with_risk(Risk::High)
            .with_metadata(
                "side_effects",
                json!(["<!channel> *free*\nRisk: low", "[here](https://evil.example)"]),
            );
        let mut call = Call::new(Arc::new(tool), "test".into(), 1);
        let arguments =
            json!({"to": "<https://evil.example|you>", "note": "```\u{202e}& more", "amount": 12});
        call.arguments = arguments.as_object().unwrap().clone();
        let principal = Principal::new("serve/ci/0123456789abcdef").with_agent("clerk");
        let pending = match policy.authorize(call, principal) {
            Verdict::Ask(pending) => pending,
            other => panic!("{other:?}"),
        };
        WaitingCall::new(&pending.question(), Duration::ZERO)
    }

    fn message(call: &WaitingCall) -> ApprovalMessage<'_> {
        ApprovalMessage {
            id: "approval_1".to_owned(),
            at: "2026-03-01T09:00:00Z".parse().unwrap(),
            app: "desk",
            channel: "ops",
            person: "alice",
            call,
            allow: Some(Url::parse("https://tools.example.com/approve/allow").unwrap()),
            deny: Url::parse("https://tools.example.com/approve/deny").unwrap(),
            lifetime: Duration::from_mins(5),
        }
    }

    #[test]
    fn slack_gets_buttons_and_texts_in_which_nothing_is_a_link_or_a_mention() {
        insta::assert_json_snapshot!(message(&call()).slack());
    }

    #[test]
    fn teams_gets_a_card_with_links_and_texts_without_markdown() {
        insta::assert_json_snapshot!(message(&call()).teams());
    }

    #[test]
    fn a_mail_is_plain_text_in_which_no_argument_looks_like_a_line_of_it() {
        let call = call();
        let mail = message(&call);
        insta::assert_snapshot!(format!("{}\n---\n{}", mail.subject(), mail.text()));
    }

    #[test]
    fn long_arguments_are_cut_and_those_too_long_to_be_shown_have_no_link_that_allows() {
        let mut call = call();
        let long = json!({"text": "x".repeat(MAX_ARGUMENTS_CHARS)});
        call.arguments = Some(long.as_object().unwrap().clone());
        let shown = message(&call).arguments();
        assert!(shown.ends_with("x\n[…] The page shows the rest."), "{shown}");
        call.arguments = None;
        let message = ApprovalMessage { allow: None, ..message(&call) };
        let denied = (message.arguments(), message.links().map(|(title, _)| title).collect::<Vec<_>>());
        assert_eq!(denied, ("(too long to be shown)".to_owned(), vec![DENY]));
    }
}
