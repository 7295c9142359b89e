//! `approvals.channels`: the channels that ask people about calls.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolcrib_document::Error as DocumentError;
use toolcrib_io::http::{HttpClient, is_private_url};
use toolcrib_model::Secret;
use toolcrib_policy::OPERATOR;
use toolcrib_tasks::channels::{Mailer, MailerError, WebPush, WebhookChannel};
use url::Url;

use crate::findings::Findings;
use crate::resolved::ResolvedEntry;
use crate::sections::values::{check_name, unknown};
use crate::{App, Error};

/// The most channels of an app.
const MAX_CHANNELS: usize = 64;

/// The types of channels.
const KINDS: [&str; 3] = ["email", "web_push", "webhook"];

/// The channels of an app that ask people about calls.
#[derive(Debug)]
#[non_exhaustive]
pub struct ApprovalChannels {
    /// The URL under which people reach the server.
    pub url: Url,
    /// The time for which links are valid: that which a person has to answer.
    pub lifetime: Duration,
    /// The channels by name.
    pub channels: BTreeMap<String, ApprovalChannel>,
}

/// A channel that asks people about calls.
#[derive(Debug)]
#[non_exhaustive]
pub struct ApprovalChannel {
    /// The people who are asked.
    pub people: Vec<String>,
    /// The means by which they are asked.
    pub transport: ApprovalTransport,
}

/// The means by which a channel asks people.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApprovalTransport {
    /// A request to a URL for each person.
    Webhook {
        /// The sender of requests.
        sender: WebhookChannel,
        /// The format of requests.
        format: WebhookFormat,
    },
    /// A mail to each person.
    Email {
        /// The sender of mail.
        mailer: Mailer,
        /// The addresses of the people, by name.
        addresses: BTreeMap<String, String>,
    },
    /// A push message to each browser with which a person has subscribed at the console.
    WebPush {
        /// The sender of push messages.
        sender: WebPush,
    },
}

/// The format of the requests of a webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WebhookFormat {
    /// The call and the links, for programs.
    #[default]
    Json,
    /// A message with buttons for an incoming webhook of Slack.
    Slack,
    /// An Adaptive Card for a workflow of Microsoft Teams.
    Teams,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalWebhookEntry {
    url: String,
    /// The secret of signatures, which the receiver checks.
    secret: Option<Secret>,
    #[serde(default)]
    format: WebhookFormat,
    people: Vec<String>,
    /// True if the address may be private; a URL that names a private address permits it too.
    allow_private: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmailEntry {
    /// `smtps://HOST` or `smtp://HOST`.
    server: String,
    /// The user of the server. Together with a password.
    user: Option<String>,
    password: Option<Secret>,
    /// The address of the sender.
    from: String,
    people: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebPushEntry {
    /// The URL by which push services contact the operator: `mailto:` or `https:`.
    subject: String,
    people: Vec<String>,
    /// True if push services may be at private addresses.
    #[serde(default)]
    allow_private: bool,
}

impl ApprovalChannels {
    /// Returns the channels of an app, or `None` if it has none.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is invalid, or a variable is not set.
    pub fn new(app: &App) -> Result<Option<Self>, Error> {
        let mut found = Findings::default();
        let built = build(app, &mut found);
        if found.errors.is_empty() { Ok(built) } else { Err(app.file.all_wrong(found.errors)) }
    }
}

/// Checks the channels. Nothing is sent.
pub(super) fn check(app: &App, found: &mut Findings) {
    let entries = &app.resolved.approval_channels;
    if entries.len() > MAX_CHANNELS {
        let message = format!("expected at most {MAX_CHANNELS} channels, found {}", entries.len());
        found.errors.push(app.file.error_at("/approvals/channels", message));
    }
    build(app, found);
}

fn build(app: &App, found: &mut Findings) -> Option<ApprovalChannels> {
    let entries = &app.resolved.approval_channels;
    if entries.is_empty() {
        return None;
    }
    let url = found.built(base_url(app));
    let mut channels = BTreeMap::new();
    for (name, entry) in entries {
        if let Some(channel) = found.built(channel(app, name, entry)) {
            channels.insert(name.clone(), channel);
        }
    }
    Some(ApprovalChannels { url: url?, lifetime: app.config.tools.limits.approval_wait(), channels })
}

/// Returns the URL that links begin with.
fn base_url(app: &App) -> Result<Url, DocumentError> {
    let Some(text) = &app.config.approvals.url else {
        let message = "channels need `approvals.url`, the URL under which people reach this server";
        return Err(app.file.error_at("/approvals/channels", message));
    };
    let wrong = |message: &str| app.file.error_at("/approvals/url", message);
    let url = Url::parse(text)
        .map_err(|error| wrong(&format!("expected a URL, such as `https://tools.example.com`: {error}")))?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !is_plain || url.path() != "/" {
        return Err(wrong("expected a URL of a scheme and a host only, such as `https://tools.example.com`"));
    }
    if url.scheme() == "http" && !is_private_url(text) {
        return Err(wrong("expected `https://`: anyone who reads a link on its way can answer the call"));
    }
    Ok(url)
}

fn channel(app: &App, name: &str, entry: &ResolvedEntry) -> Result<ApprovalChannel, DocumentError> {
    let place = &entry.pointer;
    check_name("a channel", name).map_err(|message| app.file.error_at(place, message))?;
    if let Some(unset) = &entry.unset {
        return Err(unset.clone());
    }
    match entry.kind.as_deref() {
        Some("email") => email(app, entry),
        Some("web_push") => web_push(app, entry),
        Some("webhook") => webhook(app, entry),
        Some(other) => {
            let message = unknown("channel type", other, &KINDS);
            Err(app.file.error_at(&format!("{place}/type"), message))
        }
        None => {
            let message = format!("the channel needs a `type`, one of: {}", KINDS.join(", "));
            Err(app.file.error_at(place, message))
        }
    }
}

fn webhook(app: &App, entry: &ResolvedEntry) -> Result<ApprovalChannel, DocumentError> {
    let settings: ApprovalWebhookEntry = typed(app, entry)?;
    let wrong = |key: &str, message: String| error_in(app, entry, key, message);
    let people = known_people(app, entry, settings.people, &[])?;
    if settings.format != WebhookFormat::Json && people.len() > 1 {
        let message =
            "all readers of a chat see the links of each other; give each person a separate channel";
        return Err(wrong("people", message.to_owned()));
    }
    let url = Url::parse(&settings.url)
        .map_err(|error| wrong("url", format!("it is no URL: {error}; write `https://…`")))?;
    let allow_private = settings.allow_private.unwrap_or_else(|| is_private_url(&settings.url));
    let http = HttpClient::new(WebhookChannel::http_policy(allow_private))
        .map_err(|error| wrong("url", error.to_string()))?
        .with_guard(app.resolved.access.clone()?.host_guard());
    http.check_url(&url).map_err(|error| wrong("url", error.to_string()))?;
    let sender = match &settings.secret {
        Some(secret) => {
            WebhookChannel::new(http, url, secret).map_err(|error| wrong("secret", error.to_string()))?
        }
        None => WebhookChannel::unsigned(http, url),
    };
    Ok(ApprovalChannel { people, transport: ApprovalTransport::Webhook { sender, format: settings.format } })
}

fn email(app: &App, entry: &ResolvedEntry) -> Result<ApprovalChannel, DocumentError> {
    let settings: EmailEntry = typed(app, entry)?;
    let wrong = |key: &str, message: String| error_in(app, entry, key, message);
    let people = known_people(app, entry, settings.people, &[])?;
    let mut addresses = BTreeMap::new();
    for (position, name) in people.iter().enumerate() {
        let person = app.config.approvals.people.get(name);
        let Some(address) = person.and_then(|person| person.email.clone()) else {
            let message = format!("the person `{name}` has no `email`; set `approvals.people.{name}.email`");
            return Err(wrong(&format!("people/{position}"), message));
        };
        addresses.insert(name.clone(), address);
    }
    let server = Url::parse(&settings.server)
        .map_err(|error| wrong("server", format!("it is no URL: {error}; write `smtps://HOST`")))?;
    let credentials = match (&settings.user, &settings.password) {
        (Some(user), Some(password)) => Some((user.as_str(), password)),
        (None, None) => None,
        (Some(_), None) => return Err(wrong("user", "expected a `password` with the `user`".to_owned())),
        (None, Some(_)) => return Err(wrong("password", "expected a `user` with the `password`".to_owned())),
    };
    let mailer = Mailer::new(&server, credentials, &settings.from).map_err(|error| {
        let key = if matches!(error, MailerError::From(_)) { "from" } else { "server" };
        wrong(key, error.to_string())
    })?;
    Ok(ApprovalChannel { people, transport: ApprovalTransport::Email { mailer, addresses } })
}

fn web_push(app: &App, entry: &ResolvedEntry) -> Result<ApprovalChannel, DocumentError> {
    let settings: WebPushEntry = typed(app, entry)?;
    let wrong = |key: &str, message: String| error_in(app, entry, key, message);
    // The operator signs in at the console too.
    let people = known_people(app, entry, settings.people, &[OPERATOR])?;
    for (position, name) in people.iter().enumerate() {
        if app.config.approvals.people.get(name).is_some_and(|person| person.key.is_none()) {
            let message = format!(
                "the person `{name}` has no `key`, without which no browser can subscribe at the console; set \
                 `approvals.people.{name}.key`"
            );
            return Err(wrong(&format!("people/{position}"), message));
        }
    }
    let is_contact = Url::parse(&settings.subject).is_ok_and(|url| match url.scheme() {
        "mailto" => url.path().contains('@'),
        scheme => scheme == "https",
    });
    if !is_contact {
        let message = "expected a contact for push services, such as `mailto:ops@example.com`".to_owned();
        return Err(wrong("subject", message));
    }
    let http = HttpClient::new(WebhookChannel::http_policy(settings.allow_private))
        .map_err(|error| wrong("subject", error.to_string()))?
        .with_guard(app.resolved.access.clone()?.host_guard());
    let sender = WebPush::new(http, settings.subject, settings.allow_private);
    Ok(ApprovalChannel { people, transport: ApprovalTransport::WebPush { sender } })
}

fn typed<T: DeserializeOwned>(app: &App, entry: &ResolvedEntry) -> Result<T, DocumentError> {
    let typed = app.file.document.deserialize_value(&entry.settings, &entry.pointer);
    typed.map_err(|error| app.file.readable(error, &entry.pointer))
}

fn error_in(app: &App, entry: &ResolvedEntry, key: &str, message: String) -> DocumentError {
    let place = format!("{}/{key}", entry.pointer);
    app.file.readable(app.file.error_at(&place, message), &place)
}

/// Returns the people of a channel, who have to be those of the app or one of some others.
fn known_people(
    app: &App,
    entry: &ResolvedEntry,
    people: Vec<String>,
    others: &[&str],
) -> Result<Vec<String>, DocumentError> {
    if people.is_empty() {
        let message = "the list is empty; name the people whom the channel reaches".to_owned();
        return Err(error_in(app, entry, "people", message));
    }
    let known = app.config.approvals.people.keys().map(String::as_str).chain(others.iter().copied());
    let known = known.collect::<Vec<_>>();
    match people.iter().enumerate().find(|(_, name)| !known.contains(&name.as_str())) {
        None => Ok(people),
        Some((position, name)) => {
            let message = unknown("person", name, &known);
            Err(error_in(app, entry, &format!("people/{position}"), message))
        }
    }
}
