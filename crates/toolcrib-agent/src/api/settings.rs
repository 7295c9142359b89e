//! The settings of a server.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_model::Secret;

use super::keys::KeySource;
use super::tool_options::ToolOptions;
use crate::Provider;
use crate::chat::{RequestOptions, Usage};

/// The default idle timeout of a stream. Models that reason before they write need more than a minute.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_mins(2);

/// The default timeout of a reply that is not streamed, and therefore silent until it is complete.
pub const DEFAULT_REPLY_TIMEOUT: Duration = Duration::from_mins(10);

/// The default number of attempts of a request.
pub const DEFAULT_ATTEMPTS: u32 = 4;

/// The pause before the second attempt by default; each later one is twice as long.
pub const DEFAULT_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The longest pause before another attempt. A server that wants to be left alone for longer has refused.
pub(crate) const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// The prices of a million tokens of each kind, in any currency.
///
/// ```
/// use toolcrib_agent::api::Prices;
/// use toolcrib_agent::chat::Usage;
/// let prices = Prices { input: 4.0, cached_input: Some(0.4), cache_write: Some(5.0), output: 20.0 };
/// let mut usage = Usage { prompt_tokens: 1000, completion_tokens: 100, ..Usage::default() };
/// (usage.cached_tokens, usage.cache_write_tokens) = (700, 200);
/// // In millionths: 100 × 4 + 700 × 0.4 + 200 × 5 + 100 × 20.
/// assert_eq!(prices.cost(&usage), 3680);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Tokens read.
    pub input: f64,
    /// Tokens read that the server had kept from an earlier request; as all others when absent.
    pub cached_input: Option<f64>,
    /// Tokens read that the server wrote to its cache; as all others when absent.
    pub cache_write: Option<f64>,
    /// Tokens written.
    pub output: f64,
}

impl Prices {
    /// Returns the cost of the usage, in millionths.
    pub fn cost(&self, usage: &Usage) -> u64 {
        let cached = usage.cached_tokens.min(usage.prompt_tokens);
        let kept = usage.cache_write_tokens.min(usage.prompt_tokens - cached);
        let fresh = usage.prompt_tokens - cached - kept;
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 tokens")]
        let [fresh, cached, kept, written] =
            [fresh, cached, kept, usage.completion_tokens].map(|tokens| tokens as f64);
        let cost = fresh * self.input
            + cached * self.cached_input.unwrap_or(self.input)
            + kept * self.cache_write.unwrap_or(self.input)
            + written * self.output;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it saturates, also at zero"
        )]
        let cost = cost.ceil() as u64;
        cost
    }

    /// Returns the maximum cost of a number of tokens, in millionths.
    pub(super) fn most_cost(&self, tokens: u64) -> u64 {
        let read = Usage { prompt_tokens: tokens, ..Usage::default() };
        let cached = Usage { cached_tokens: tokens, ..read };
        let kept = Usage { cache_write_tokens: tokens, ..read };
        let written = Usage { completion_tokens: tokens, ..Usage::default() };
        [read, cached, kept, written].iter().map(|usage| self.cost(usage)).max().unwrap_or_default()
    }
}

/// The settings of a server with models.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiSettings {
    /// The provider, or the kind of server.
    pub provider: Provider,
    /// The base URL of the API instead of the provider's own: `https://host/v1`.
    pub base_url: Option<String>,
    /// The key. The provider's own server may need one; another one is asked without.
    pub api_key: Option<Secret>,
    /// The source of a key that changes, in place of [`api_key`](Self::api_key).
    pub key_source: Option<Arc<dyn KeySource>>,
    /// True to send the key as a bearer token in the header `Authorization`, as Vertex AI and Bedrock want it; by
    /// default it is sent in the header that the provider has for it.
    pub bearer: bool,
    /// True to stream the reply; `true` by default.
    pub stream: bool,
    /// The idle timeout of a stream, from one piece to the next; [`DEFAULT_IDLE_TIMEOUT`] by default.
    pub idle_timeout: Duration,
    /// The timeout of a reply that is not streamed; [`DEFAULT_REPLY_TIMEOUT`] by default.
    pub reply_timeout: Duration,
    /// The number of attempts of a request; [`DEFAULT_ATTEMPTS`] by default.
    pub attempts: u32,
    /// The pause before the second attempt; [`DEFAULT_RETRY_DELAY`] by default.
    pub retry_delay: Duration,
    /// The prices of its tokens, if known.
    pub prices: Option<Prices>,
    /// The sampling parameters; the server decides by default.
    pub parameters: RequestOptions,
    /// The forms in which tools are sent.
    pub tool_options: ToolOptions,
}

impl ApiSettings {
    /// Creates the provider's own server, without a key.
    pub fn new(provider: Provider) -> Self {
        Self {
            provider,
            base_url: None,
            api_key: None,
            key_source: None,
            bearer: false,
            stream: true,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            reply_timeout: DEFAULT_REPLY_TIMEOUT,
            attempts: DEFAULT_ATTEMPTS,
            retry_delay: DEFAULT_RETRY_DELAY,
            prices: None,
            parameters: RequestOptions::default(),
            tool_options: ToolOptions::default(),
        }
    }

    /// Sets the base URL of another server.
    pub fn with_base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Sets the key.
    pub fn with_api_key(mut self, api_key: Secret) -> Self {
        self.api_key = Some(api_key);
        self
    }

    /// Sets the source of a key that changes.
    pub fn with_key_source(mut self, source: Arc<dyn KeySource>) -> Self {
        self.key_source = Some(source);
        self
    }

    /// Says whether the key is sent as a bearer token.
    pub fn with_bearer(mut self, bearer: bool) -> Self {
        self.bearer = bearer;
        self
    }

    /// Says whether the reply comes piece by piece.
    pub fn with_stream(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }

    /// Sets how long a stream may be silent.
    pub fn with_idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    /// Sets how long the server may be silent, whether it streams or not.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self.reply_timeout = timeout;
        self
    }

    /// Sets what tokens cost.
    pub fn with_prices(mut self, prices: Prices) -> Self {
        self.prices = Some(prices);
        self
    }

    /// Sets how the model is to write.
    pub fn with_parameters(mut self, parameters: RequestOptions) -> Self {
        self.parameters = parameters;
        self
    }

    /// Sets the forms in which tools are sent.
    pub fn with_tool_options(mut self, tool_options: ToolOptions) -> Self {
        self.tool_options = tool_options;
        self
    }

    /// Sets how often a request is sent at most, and the pause before the second time.
    pub fn with_retries(mut self, attempts: u32, delay: Duration) -> Self {
        self.attempts = attempts;
        self.retry_delay = delay;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Prices;

    #[test]
    fn the_most_that_tokens_cost_is_by_the_highest_price() {
        for prices in [
            Prices { input: 2.0, cached_input: None, cache_write: None, output: 10.0 },
            Prices { input: 10.0, cached_input: Some(1.0), cache_write: None, output: 2.0 },
            Prices { input: 1.0, cached_input: Some(10.0), cache_write: None, output: 2.0 },
            Prices { input: 8.0, cached_input: Some(0.8), cache_write: Some(10.0), output: 2.0 },
        ] {
            assert_eq!(prices.most_cost(1_000), 10_000);
        }
    }
}
