//! Providers of models.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use toolcrib_document::nearest;
use toolcrib_prompt::Profile;
use toolcrib_prompt::injection::DEFAULT_CONTEXT_WINDOW;
use toolcrib_prompt::system_prompt::CallStyle;
use url::{Host, Url};

use crate::Error;
use crate::api::WireFormat;
use crate::chat::RequestOptions;

/// Tokens that a model takes in on a server that people run themselves, where neither they nor the server say.
pub(crate) const LOCAL_CONTEXT_WINDOW: u32 = 8_192;

/// Tokens that the models of Anthropic take in, without further options.
const ANTHROPIC_CONTEXT_WINDOW: u32 = 200_000;

/// A provider of models: the address of its server, the variable with its key, and the call style of its models.
///
/// ```
/// use toolcrib_agent::Provider;
/// use toolcrib_prompt::system_prompt::CallStyle;
/// let provider: Provider = "ollama".parse()?;
/// assert_eq!(provider.base_url(), Some("http://localhost:11434/v1"));
/// assert_eq!(provider.call_style(), CallStyle::Text);
/// # Ok::<(), toolcrib_agent::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// `OpenAI`, and any server that behaves as theirs does.
    OpenAi,
    /// `OpenAI` through its Responses API, and any server that speaks it.
    OpenAiResponses,
    /// Anthropic, and any server that speaks its Messages API.
    Anthropic,
    /// Gemini, and any server that speaks `generateContent`.
    Gemini,
    /// `DeepSeek`.
    DeepSeek,
    /// Groq.
    Groq,
    /// Mistral.
    Mistral,
    /// Together.
    Together,
    /// Ollama, on this machine unless told otherwise.
    Ollama,
    /// LM Studio, on this machine unless told otherwise.
    LmStudio,
    /// vLLM, on this machine unless told otherwise.
    Vllm,
    /// llama.cpp, on this machine unless told otherwise.
    LlamaCpp,
    /// `SGLang`, on this machine unless told otherwise.
    SgLang,
    /// No server: turns from a file.
    Recorded,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::DeepSeek,
        Self::Groq,
        Self::Mistral,
        Self::Together,
        Self::Ollama,
        Self::LmStudio,
        Self::Vllm,
        Self::LlamaCpp,
        Self::SgLang,
        Self::Recorded,
    ];

    /// Returns the name in an app file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::DeepSeek => "deepseek",
            Self::Groq => "groq",
            Self::Mistral => "mistral",
            Self::Together => "together",
            Self::Ollama => "ollama",
            Self::LmStudio => "lm_studio",
            Self::Vllm => "vllm",
            Self::LlamaCpp => "llama_cpp",
            Self::SgLang => "sglang",
            Self::Recorded => "recorded",
        }
    }

    /// Returns the name in traces, which has its own convention for some.
    pub(crate) fn trace_name(self) -> &'static str {
        match self {
            Self::OpenAiResponses => "openai",
            Self::Gemini => "gcp.gemini",
            Self::Mistral => "mistral_ai",
            other => other.as_str(),
        }
    }

    /// Returns the format that its API speaks.
    pub(crate) fn wire_format(self) -> WireFormat {
        match self {
            Self::OpenAiResponses => WireFormat::Responses,
            Self::Anthropic => WireFormat::Messages,
            Self::Gemini => WireFormat::GenerateContent,
            _ => WireFormat::ChatCompletions,
        }
    }

    /// Returns the base URL of its API, to which each request adds its path.
    pub fn base_url(self) -> Option<&'static str> {
        match self {
            Self::OpenAi | Self::OpenAiResponses => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com/v1"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com/v1beta"),
            Self::DeepSeek => Some("https://api.deepseek.com/v1"),
            Self::Groq => Some("https://api.groq.com/openai/v1"),
            Self::Mistral => Some("https://api.mistral.ai/v1"),
            Self::Together => Some("https://api.together.xyz/v1"),
            Self::Ollama => Some("http://localhost:11434/v1"),
            Self::LmStudio => Some("http://localhost:1234/v1"),
            Self::Vllm => Some("http://localhost:8000/v1"),
            Self::LlamaCpp => Some("http://localhost:8080/v1"),
            Self::SgLang => Some("http://localhost:30000/v1"),
            Self::Recorded => None,
        }
    }

    /// Returns the profile of tool schemas that its API accepts.
    pub fn profile(self) -> Profile {
        match self {
            Self::OpenAi | Self::OpenAiResponses => Profile::OpenAi,
            Self::Anthropic => Profile::Anthropic,
            Self::Gemini => Profile::Gemini,
            _ => Profile::Portable,
        }
    }

    /// Returns true if its API loads tools that a search finds (`tool_injection: native`). A recording does as well,
    /// since it calls what it called before.
    pub fn defers_tools(self) -> bool {
        self == Self::Recorded || self.wire_format().defers_tools()
    }

    /// Returns true if its API can keep calls to the schemas of tools.
    pub fn takes_strict_tools(self) -> bool {
        matches!(self, Self::Anthropic | Self::OpenAiResponses)
    }

    /// Returns true if its API can stream arguments before it has checked them.
    pub fn streams_eagerly(self) -> bool {
        self == Self::Anthropic
    }

    /// Returns true if its API has tools that take a text in place of arguments.
    pub fn takes_text_tools(self) -> bool {
        self == Self::OpenAiResponses
    }

    /// Returns true if a request can name several tools of which one has to be called.
    pub fn takes_tool_lists(self) -> bool {
        self.wire_format().takes_tool_lists()
    }

    /// Returns the environment variable that holds the key, where one is needed.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi | Self::OpenAiResponses => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::DeepSeek => Some("DEEPSEEK_API_KEY"),
            Self::Groq => Some("GROQ_API_KEY"),
            Self::Mistral => Some("MISTRAL_API_KEY"),
            Self::Together => Some("TOGETHER_API_KEY"),
            _ => None,
        }
    }

    /// Returns true if a server may have the key of [`key_variable`](Self::key_variable) without being told to: the
    /// provider's own, a regional one below that, or one on this machine.
    pub fn shares_key_with(self, base_url: &str) -> bool {
        let Ok(url) = Url::parse(base_url) else { return false };
        match url.host() {
            Some(Host::Ipv4(address)) if address.is_loopback() => return true,
            Some(Host::Ipv6(address)) if address.is_loopback() => return true,
            Some(Host::Domain("localhost")) => return true,
            _ => {}
        }
        let own = self.base_url().and_then(|own| Url::parse(own).ok());
        let (Some(own), Some(host)) = (own, url.host_str()) else { return false };
        let Some(own_host) = own.host_str() else { return false };
        let is_below = || host.strip_suffix(own_host).is_some_and(|below| below.ends_with('.'));
        url.scheme() == own.scheme()
            && url.port_or_known_default() == own.port_or_known_default()
            && (host == own_host || is_below())
    }

    /// Returns the context window to assume if none is configured or reported, in tokens. Self-hosted servers are often
    /// started with a small one.
    pub fn default_context_window(self) -> u32 {
        match self {
            local if local.is_local() => LOCAL_CONTEXT_WINDOW,
            Self::Anthropic => ANTHROPIC_CONTEXT_WINDOW,
            _ => DEFAULT_CONTEXT_WINDOW,
        }
    }

    /// Returns true if the provider's own server reports the context windows of its models.
    pub fn describes_models(self) -> bool {
        matches!(self, Self::Anthropic | Self::Gemini | Self::Groq | Self::Mistral | Self::Together)
    }

    /// Returns true for self-hosted servers, which run any model.
    pub fn is_local(self) -> bool {
        matches!(self, Self::Ollama | Self::LmStudio | Self::Vllm | Self::LlamaCpp | Self::SgLang)
    }

    /// Returns the default call style of its models. Servers that run any model are asked for text, since many of those
    /// models support nothing else.
    pub fn call_style(self) -> CallStyle {
        match self {
            local if local.is_local() => CallStyle::Text,
            _ => CallStyle::Native,
        }
    }

    /// Finds the first option that its API has no key for: the key, and what is wrong.
    pub fn option_problem(self, options: &RequestOptions) -> Option<(&'static str, String)> {
        self.wire_format().option_problem(options)
    }

    /// Returns true if the server refuses a conversation without the reasoning that preceded tool calls. Other servers
    /// ignore it or refuse it.
    pub fn wants_reasoning_back(self) -> bool {
        matches!(self, Self::DeepSeek)
    }

    /// Returns true if a stream reports its usage only on request; other servers refuse the option or do not need it.
    pub(crate) fn wants_stream_options(self) -> bool {
        !matches!(self, Self::Mistral)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.into_iter().map(Self::as_str).collect();
            Error::UnknownProvider {
                name: name.to_owned(),
                nearest: nearest(name, known.iter().copied()),
                known,
            }
        })
    }
}

impl JsonSchema for Provider {
    fn schema_name() -> Cow<'static, str> {
        "Provider".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": Self::ALL.map(Self::as_str)})
    }
}

impl<'de> Deserialize<'de> for Provider {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Provider;

    #[test]
    fn a_provider_shares_its_key_with_its_own_servers_and_this_machine_and_with_nothing_that_looks_like_them()
    {
        for own in [
            "https://api.openai.com/v1",
            "https://api.openai.com:443/v2/",
            "https://eu.api.openai.com/v1",
            "http://127.0.0.1:8080/v1",
            "http://localhost:8080/v1",
            "http://[::1]:8080/v1",
        ] {
            assert!(Provider::OpenAi.shares_key_with(own), "{own}");
        }
        for other in [
            "http://api.openai.com/v1",
            "https://api.openai.com:8443/v1",
            "https://evilapi.openai.com/v1",
            "https://api.openai.com.example/v1",
            "https://api.openai.com@example.com/v1",
            "https://example.com/api.openai.com",
            "http://localhost.example/v1",
            "http://127.0.0.1.example/v1",
            "http://0.0.0.0:8080/v1",
            "http://10.0.0.1/v1",
            "no URL",
        ] {
            assert!(!Provider::OpenAi.shares_key_with(other), "{other}");
        }
        assert!(!Provider::Groq.shares_key_with("https://api.openai.com/v1"));
    }
}
