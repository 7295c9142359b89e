//! The settings of flow control, as in an app file.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::{QualifiedName, Tool};

use super::circuit_breaker::BreakerSettings;
use crate::limits::{DEFAULT_DEADLINE, MAX_DEADLINE};

/// The default number of concurrent calls of one source.
const DEFAULT_SOURCE_CONCURRENCY: u32 = 32;

/// The default number of concurrent calls of one tool: a quarter of that of its source, so that a hanging tool leaves
/// room for the others.
const DEFAULT_TOOL_CONCURRENCY: u32 = 8;

/// The default number of calls that wait for one source, and for one tool, before further calls are refused.
const DEFAULT_QUEUE: u32 = 10_000;

/// The default number of retries of an idempotent call.
const DEFAULT_RETRIES: u32 = 2;

/// The maximum number of retries.
const MAX_RETRIES: u32 = 10;

/// The default number of consecutive failures that open the circuit of a source.
const DEFAULT_BREAKER_FAILURES: u32 = 5;

/// The default time that a circuit is open before one call probes the source. It doubles with each failed probe.
const DEFAULT_OPEN: Duration = Duration::from_secs(5);

/// The default maximum time that a circuit is open before one call probes the source.
const DEFAULT_MAX_OPEN: Duration = Duration::from_mins(1);

/// The default period of a rate limit.
const DEFAULT_RATE_PERIOD: Duration = Duration::from_mins(1);

/// The default time that results are cached for a tool that declares `cacheable: true`.
const DEFAULT_TTL: Duration = Duration::from_mins(1);

/// The maximum time that a tool may ask its results to be cached.
pub(crate) const MAX_TTL: Duration = Duration::from_hours(1);

/// The default number of cached results.
const DEFAULT_CACHE_ENTRIES: usize = 1_000;

/// The default memory of cached results in bytes, estimated.
const DEFAULT_CACHE_BYTES: usize = 32 * 1024 * 1024;

/// The default maximum memory of one cached result in bytes, estimated. A larger result is neither cached nor shared.
const DEFAULT_CACHE_ENTRY_BYTES: usize = 1024 * 1024;

/// The maximum duration of a setting.
const MAX_SECONDS: f64 = 24.0 * 60.0 * 60.0;

/// The settings of flow control. An unset field has the default that its documentation names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FlowSettings {
    /// The limits of every source, where its own entry sets no other. For engines that run [in this
    /// process](toolcrib_port::ToolEngine::is_in_process), only the timeout and the retries apply: their calls are
    /// neither limited nor counted unless an entry of their source or tool says so. They have no connection that could
    /// fail, and such a call costs less than the bookkeeping of a queue.
    pub source: SourceLimits,
    /// The limits of single sources, by the name under which their tools are registered.
    pub sources: HashMap<String, SourceLimits>,
    /// The limits of single tools; `namespace::name` in data.
    pub tools: HashMap<QualifiedName, ToolLimits>,
    /// The cache for results of `cacheable` tools.
    pub cache: CacheLimits,
}

/// The limits of a source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SourceLimits {
    /// The time limit of a call, including waiting. By default 60 seconds, at most 600.
    #[serde(rename = "timeout_seconds", with = "seconds::optional")]
    #[schemars(with = "Option<f64>")]
    pub timeout: Option<Duration>,
    /// The maximum number of concurrent calls of the source. By default 32, and unlimited for tools in this process.
    pub max_concurrency: Option<NonZeroU32>,
    /// The maximum number of concurrent calls of each tool. By default 8, and unlimited for tools in this process.
    pub max_concurrency_per_tool: Option<NonZeroU32>,
    /// The maximum number of waiting calls, for the source and for each of its tools. The default is 10,000; 0
    /// means none.
    pub queue: Option<u32>,
    /// The rate limit. By default none.
    pub rate: Option<RateLimit>,
    /// The circuit breaker.
    pub breaker: Option<BreakerLimits>,
    /// The number of retries of an idempotent tool. The default is 2, the maximum 10.
    pub retries: Option<u32>,
}

/// The limits of a tool. By default those of its source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolLimits {
    /// The time limit of a call, at most 600 seconds.
    #[serde(rename = "timeout_seconds", with = "seconds::optional")]
    #[schemars(with = "Option<f64>")]
    pub timeout: Option<Duration>,
    /// The maximum number of concurrent calls.
    pub max_concurrency: Option<NonZeroU32>,
    /// The maximum number of waiting calls.
    pub queue: Option<u32>,
    /// The rate limit, within that of the source.
    pub rate: Option<RateLimit>,
    /// The number of retries if the tool is idempotent.
    pub retries: Option<u32>,
}

/// A rate limit. Calls are spread evenly, with a burst at the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// The number of calls per period.
    pub calls: NonZeroU32,
    /// The length of the period. By default one minute.
    #[serde(rename = "per_seconds", default = "default_rate_period", with = "seconds")]
    #[schemars(with = "f64")]
    pub per: Duration,
    /// The maximum burst after a pause. By default `calls`. A burst and the calls after it can reach twice the calls
    /// of a period.
    #[serde(default)]
    pub burst: Option<NonZeroU32>,
    /// True if the processes that share a store in PostgreSQL count each call there, so that they keep to the rate
    /// together at any time. A call then takes a query, and is refused while the store is away. Otherwise each process
    /// admits an equal share.
    #[serde(default)]
    pub exact: bool,
}

/// A circuit breaker, which pauses a source after repeated failures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BreakerLimits {
    /// The number of failures in a row that open the breaker. The default is 5; 0 disables it.
    pub failures: u32,
    /// The first pause. The default is 5 seconds.
    #[serde(rename = "open_seconds", with = "seconds")]
    #[schemars(with = "f64")]
    pub open: Duration,
    /// The longest pause after repeated failures. The default is one minute.
    #[serde(rename = "max_open_seconds", with = "seconds")]
    #[schemars(with = "f64")]
    pub max_open: Duration,
}

/// The limits of the result cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CacheLimits {
    /// The maximum number of entries. The default is 1,000; 0 disables the cache.
    pub max_entries: usize,
    /// The maximum size in bytes. The default is 32 MiB.
    pub max_bytes: usize,
    /// The maximum size of an entry in bytes. The default is 1 MiB.
    pub max_entry_bytes: usize,
    /// The lifetime of an entry if the tool does not set one. The default is one minute.
    #[serde(rename = "ttl_seconds", with = "seconds")]
    #[schemars(with = "f64")]
    pub ttl: Duration,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        Self { failures: DEFAULT_BREAKER_FAILURES, open: DEFAULT_OPEN, max_open: DEFAULT_MAX_OPEN }
    }
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            max_entries: DEFAULT_CACHE_ENTRIES,
            max_bytes: DEFAULT_CACHE_BYTES,
            max_entry_bytes: DEFAULT_CACHE_ENTRY_BYTES,
            ttl: DEFAULT_TTL,
        }
    }
}

fn default_rate_period() -> Duration {
    DEFAULT_RATE_PERIOD
}

/// The settings of one concurrency limit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LimitSettings {
    /// The number of concurrent calls; `None` for no limit.
    pub(super) permits: Option<u32>,
    pub(super) rate: Option<RateLimit>,
    pub(super) queue: u32,
}

impl LimitSettings {
    /// Returns true if it limits nothing.
    pub(super) fn is_unlimited(&self) -> bool {
        self.permits.is_none() && self.rate.is_none()
    }
}

impl FlowSettings {
    /// Returns the settings of a source, and those of all sources unless its calls are unlimited by default.
    fn rows(&self, source: &str, in_process: bool) -> (Option<&SourceLimits>, Option<&SourceLimits>) {
        let own = self.sources.get(source);
        let all = (!in_process).then_some(&self.source);
        (own, all)
    }

    /// Returns true if the calls of this in-process tool are unlimited, as they mostly are.
    pub(super) fn is_unbounded(&self, source: &str, tool: &Tool) -> bool {
        tool.traits().max_concurrency.is_none()
            && (self.sources.is_empty() || !self.sources.contains_key(source))
            && (self.tools.is_empty() || !self.tools.contains_key(&tool.name))
    }

    /// Returns the limits of a source.
    pub(super) fn source_limit(&self, source: &str, in_process: bool) -> LimitSettings {
        let (own, all) = self.rows(source, in_process);
        let default = all.map(|_| DEFAULT_SOURCE_CONCURRENCY);
        LimitSettings {
            permits: first(own, all, |row| row.max_concurrency).map(NonZeroU32::get).or(default),
            rate: first(own, all, |row| row.rate.clone()),
            queue: first(own, all, |row| row.queue).unwrap_or(DEFAULT_QUEUE),
        }
    }

    /// Returns the limits of a tool. Its own `max_concurrency`, which its author wrote, can only lower what the
    /// operator allows.
    pub(super) fn tool_limit(&self, source: &str, tool: &Tool, in_process: bool) -> LimitSettings {
        let (own, all) = self.rows(source, in_process);
        let set = self.tools.get(&tool.name);
        let default = all.map(|_| DEFAULT_TOOL_CONCURRENCY);
        let of_source = first(own, all, |row| row.max_concurrency_per_tool).map(NonZeroU32::get).or(default);
        let declared = tool.traits().max_concurrency.map(NonZeroU32::get);
        let of_tool = match (of_source, declared) {
            (Some(of_source), Some(declared)) => Some(of_source.min(declared)),
            (of_source, declared) => of_source.or(declared),
        };
        LimitSettings {
            permits: set.and_then(|set| set.max_concurrency).map(NonZeroU32::get).or(of_tool),
            rate: set.and_then(|set| set.rate.clone()),
            queue: set
                .and_then(|set| set.queue)
                .or_else(|| first(own, all, |row| row.queue))
                .unwrap_or(DEFAULT_QUEUE),
        }
    }

    /// Returns the circuit breaker settings of a source; `None` without a breaker.
    pub(super) fn breaker(&self, source: &str, in_process: bool) -> Option<BreakerSettings> {
        let (own, all) = self.rows(source, in_process);
        let set =
            first(own, all, |row| row.breaker.clone()).or_else(|| all.map(|_| BreakerLimits::default()))?;
        Some(BreakerSettings {
            failures: NonZeroU32::new(set.failures)?,
            open: set.open,
            max_open: set.max_open.max(set.open),
        })
    }

    /// Returns the time limit of a call: the operator's setting for the tool, else the tool's own `timeout_seconds`,
    /// else the operator's setting for the source.
    pub(crate) fn timeout(&self, source: &str, tool: &Tool) -> Duration {
        let set = self.tools.get(&tool.name).and_then(|set| set.timeout);
        let of_source = || first(self.sources.get(source), Some(&self.source), |row| row.timeout);
        set.or(tool.traits().timeout).or_else(of_source).unwrap_or(DEFAULT_DEADLINE).min(MAX_DEADLINE)
    }

    /// Returns the number of retries of an idempotent call.
    pub(super) fn retries(&self, source: &str, tool: &Tool) -> u32 {
        let set = self.tools.get(&tool.name).and_then(|set| set.retries);
        let own = self.sources.get(source).and_then(|row| row.retries);
        set.or(own).or(self.source.retries).unwrap_or(DEFAULT_RETRIES).min(MAX_RETRIES)
    }
}

/// Returns the setting of the source, or else that of all sources.
fn first<T>(
    own: Option<&SourceLimits>,
    all: Option<&SourceLimits>,
    read: impl Fn(&SourceLimits) -> Option<T>,
) -> Option<T> {
    own.and_then(&read).or_else(|| all.and_then(read))
}

/// Durations as numbers of seconds.
mod seconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::MAX_SECONDS;

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        if (0.0..=MAX_SECONDS).contains(&seconds) {
            Ok(Duration::from_secs_f64(seconds))
        } else {
            Err(D::Error::custom(format!("{seconds} is not a number of seconds between 0 and {MAX_SECONDS}")))
        }
    }

    /// Optional durations as numbers of seconds.
    pub(super) mod optional {
        use std::time::Duration;

        use serde::de::IntoDeserializer as _;
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        #[expect(clippy::ref_option, reason = "this is how serde calls it")]
        pub(in super::super) fn serialize<S: Serializer>(
            duration: &Option<Duration>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            duration.map(|duration| duration.as_secs_f64()).serialize(serializer)
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Duration>, D::Error> {
            let Some(seconds) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
            super::deserialize(seconds.into_deserializer()).map(Some)
        }
    }
}
