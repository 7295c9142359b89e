//! Models behind the HTTP API of a provider.
//!
//! The requests are bodies of our own, so that their bytes stay the same from turn to turn. The replies are read as JSON
//! and put together leniently, since servers differ. One module writes and reads each format.
//! All of them share the transport within bounds, the retries, and the errors.

mod answer_format;
mod anthropic;
mod assembly;
mod body;
mod chat_completions;
mod context_overflow;
mod conversation;
mod error_response;
mod events;
mod gemini;
mod keys;
mod responses;
mod retry;
mod server_profile;
mod settings;
mod tool_options;
mod transport;
mod vertex;
mod wire_format;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;
use toolcrib_io::http::{HttpClient, display_url};
use toolcrib_model::Secret;
use url::Url;

use self::answer_format::with_answer_format;
use self::assembly::{Assemble, Fault};
use self::error_response::refusal_within;
use self::keys::RequestKey;
use self::retry::{Retries, chance};
use self::transport::{EventStream, Exchange, ServerAnswer};
use crate::chat::{ChatReply, ChatRequest, Piece, RequestOptions, ShownPieces, TextSink, ToolChoice};
use crate::{ChatModel, Error, Provider};

pub use self::keys::KeySource;
pub use self::server_profile::ServerProfile;
pub use self::settings::{
    ApiSettings, DEFAULT_ATTEMPTS, DEFAULT_IDLE_TIMEOUT, DEFAULT_REPLY_TIMEOUT, DEFAULT_RETRY_DELAY, Prices,
};
pub use self::tool_options::ToolOptions;
pub(crate) use self::wire_format::WireFormat;

/// The time to wait after the end of a reply for its usage and for the mark of the stream's end.
const AFTER_THE_END: Duration = Duration::from_secs(5);

/// The event with which servers of Chat Completions end a stream.
const END_MARK: &[u8] = b"[DONE]";

/// A model behind the HTTP API of a provider.
#[derive(Debug)]
pub struct ApiModel {
    endpoint: Endpoint,
    attempts: u32,
    retry_delay: Duration,
    prices: Option<Prices>,
}

/// The server and the facts known about it.
#[derive(Debug)]
struct Endpoint {
    provider: Provider,
    /// The base URL of the API.
    base: Url,
    /// True for the provider's own server.
    is_own_server: bool,
    client: reqwest::Client,
    /// True if the key is sent as a bearer token, whichever header the format has for it.
    bearer: bool,
    key: RequestKey,
    stream: bool,
    idle_timeout: Duration,
    reply_timeout: Duration,
    parameters: RequestOptions,
    tool_options: ToolOptions,
}

impl ApiModel {
    /// Creates a model at the server of the settings. The client's policy decides which addresses it may have. Nothing
    /// is sent yet.
    pub fn new(settings: ApiSettings, http: &HttpClient) -> Result<Self, Error> {
        let provider = settings.provider;
        let base = match (&settings.base_url, provider.base_url()) {
            (Some(base), _) => base.as_str(),
            (None, Some(base)) => base,
            (None, None) => {
                let advice = "give `base_url`, or play a recording";
                return Err(Error::NoServer { provider: provider.as_str(), advice });
            }
        };
        let has_key = settings.api_key.is_some() || settings.key_source.is_some();
        let own_variable = provider.key_variable().filter(|_| settings.base_url.is_none() && !has_key);
        if let Some(variable) = own_variable {
            return Err(Error::MissingKey { provider: provider.as_str(), variable });
        }
        let base = Url::parse(base)
            .map_err(|error| Error::InvalidBaseUrl { url: base.to_owned(), reason: error.to_string() })?;
        http.check_url(&base).map_err(|source| Error::Forbidden { url: display_url(&base), source })?;
        // Keys come with the line end of the file or the command that they were read from.
        let api_key = settings.api_key.map(|key| Secret::new(key.expose().trim()));
        let endpoint = Endpoint {
            provider,
            base,
            is_own_server: settings.base_url.is_none(),
            client: http.reqwest_client().clone(),
            bearer: settings.bearer,
            key: RequestKey::new(api_key, settings.key_source),
            stream: settings.stream,
            idle_timeout: settings.idle_timeout,
            reply_timeout: settings.reply_timeout,
            parameters: settings.parameters,
            tool_options: settings.tool_options,
        };
        // A key that no header takes is an error before anything is asked.
        provider.wire_format().headers(&endpoint, endpoint.key.last().as_ref())?;
        Ok(Self {
            attempts: settings.attempts.max(1),
            retry_delay: settings.retry_delay,
            prices: settings.prices,
            endpoint,
        })
    }
}

impl Endpoint {
    /// Returns the headers of a request, with the current key.
    async fn headers(&self) -> Result<HeaderMap, Error> {
        let key = self.key.current().await?;
        self.provider.wire_format().headers(self, key.as_ref())
    }
}

impl Exchange<'_> {
    /// Sends the request once, and reads the reply.
    async fn attempt(
        &self,
        body: Bytes,
        mut assembler: Box<dyn Assemble>,
        sink: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        let is_marked = match self.send(body).await? {
            ServerAnswer::Whole(body) => {
                let reply = self.parsed(&body)?;
                assembler.push(&reply, sink).map_err(|fault| self.fault(fault))?;
                true
            }
            ServerAnswer::Events(events) => self.read(*events, assembler.as_mut(), sink).await?,
        };
        assembler.finish(is_marked, sink).map_err(|fault| self.fault(fault))
    }

    /// Reads a stream, and returns true if the server marked its end.
    async fn read(
        &self,
        mut events: EventStream<'_>,
        assembler: &mut dyn Assemble,
        sink: &mut TextSink<'_>,
    ) -> Result<bool, Error> {
        loop {
            let next = if assembler.has_ended() {
                // Some servers never say that this was all, or break off. Nothing of the reply is missing.
                match tokio::time::timeout(AFTER_THE_END, events.next()).await {
                    Ok(Ok(next)) => next,
                    Ok(Err(_)) | Err(_) => None,
                }
            } else {
                events.next().await?
            };
            let Some((event, is_complete)) = next else { return Ok(false) };
            if event.trim_ascii() == END_MARK {
                return Ok(true);
            }
            match self.parsed(&event) {
                Ok(piece) => assembler.push(&piece, sink).map_err(|fault| self.fault(fault))?,
                // The stream ended in the middle of it, or with something else behind the reply.
                Err(_) if !is_complete || assembler.has_ended() => return Ok(false),
                Err(error) => return Err(error),
            }
            if assembler.is_over() {
                return Ok(true);
            }
        }
    }

    fn parsed(&self, json: &[u8]) -> Result<Value, Error> {
        serde_json::from_slice(json)
            .map_err(|error| self.not_a_reply(&format!("{error} in: {}", String::from_utf8_lossy(json))))
    }

    fn fault(&self, fault: Fault) -> Error {
        let url = self.shown.clone();
        match fault {
            Fault::Error(error) => refusal_within((self.endpoint, self.shown.clone()), &error),
            Fault::NotAReply(reason) => self.not_a_reply(&reason),
            Fault::Interrupted(reason) => Error::Interrupted { url, reason: reason.to_owned() },
            Fault::TooLarge { limit, unit } => Error::TooLarge { url, limit, unit },
        }
    }
}

#[async_trait]
impl ChatModel for ApiModel {
    async fn complete(&self, request: &ChatRequest<'_>, sink: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        if let Some((key, message)) = request.options.and_then(RequestOptions::problem) {
            return Err(Error::InvalidOption { key, message });
        }
        let endpoint = &self.endpoint;
        let options = match request.options {
            Some(options) => Cow::Owned(options.or(&endpoint.parameters)),
            None => Cow::Borrowed(&endpoint.parameters),
        };
        let format = endpoint.provider.wire_format();
        let (request, options) = &with_answer_format(endpoint, request, options);
        if let Some((key, message)) = format.option_problem(options) {
            return Err(Error::InvalidOption { key, message });
        }
        if request.deferred.is_some() && !format.defers_tools() {
            let message = format!("the API of `{}` loads no tools; set `discovery`", endpoint.provider);
            return Err(Error::InvalidOption { key: "tool_injection", message });
        }
        if matches!(request.tool_choice, ToolChoice::OneOf(_)) && !format.takes_tool_lists() {
            let message = "the Messages API takes no list of tools; name one tool".to_owned();
            return Err(Error::InvalidOption { key: "tool_choice", message });
        }
        let search = request.deferred.map(|deferred| deferred.search);
        let replies = options.n.unwrap_or(1);
        // The pieces of several replies would come in any order.
        let stream = endpoint.stream && replies == 1;
        let body = format.body(request, options, stream, endpoint)?;
        let exchange = Exchange::new(endpoint, format.url(&endpoint.base, request.model, stream), stream);
        let mut is_renewed = false;
        let mut retries = Retries::new(self.attempts, self.retry_delay);
        loop {
            let mut shown = ShownPieces::new(sink);
            let mut take = |piece: Piece<'_>| shown.take(piece);
            let error = match exchange
                .attempt(body.clone(), format.assembler(replies, search, endpoint), &mut take)
                .await
            {
                Ok(mut reply) => {
                    reply.usage.cost = self.prices.map_or(0, |prices| prices.cost(&reply.usage));
                    return Ok(reply);
                }
                Err(error) => error,
            };
            let is_key_refused = matches!(error, Error::Refused { status: 401, .. });
            if is_key_refused && !shown.anything && !is_renewed && endpoint.key.renew() {
                is_renewed = true;
                continue;
            }
            // What was shown cannot be taken back.
            let Some(pause) = retries.pause(&error, chance()).filter(|_| !shown.anything) else {
                return Err(error);
            };
            tracing::warn!(%error, ?pause, "asking the model again");
            sink(Piece::Notice(&format!("{error}; asking again in {:.1} s", pause.as_secs_f64())));
            tokio::time::sleep(pause).await;
        }
    }

    fn provider(&self) -> &'static str {
        self.endpoint.provider.trace_name()
    }

    fn most_cost(&self, tokens: u64) -> u64 {
        self.prices.map_or(0, |prices| prices.most_cost(tokens))
    }
}
