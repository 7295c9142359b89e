//! `execution.scripts`: the limits of scripts.

use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error;
use toolcrib_tasks::scripts::{ScriptCallers, ScriptSettings};

use crate::AppFile;

/// The largest heap of a script, in MiB. Each running script has a separate heap.
const MAX_HEAP_MIB: u32 = 1_024;

/// The largest source, and the largest console, in bytes. Both are part of one message of a worker of 16 MiB.
const MAX_TEXT_BYTES: u32 = 1024 * 1024;

/// The largest value, in bytes of JSON. It is part of a message, too.
const MAX_VALUE_BYTES: u32 = 4 * 1024 * 1024;

/// The largest results of all calls, in bytes of JSON. The log of a script holds them.
const MAX_TOTAL_BYTES: u32 = 8 * 1024 * 1024;

/// The most calls of a script: its log holds each of them.
const MAX_CALLS: u32 = 10_000;

/// The most calls, and the most scripts, at once.
const MAX_CONCURRENT: u32 = 256;

/// `execution.scripts`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ScriptSection {
    /// The largest source, in bytes, up to 1 MiB. The default is 65,536.
    pub source_bytes: Option<NonZeroU32>,
    /// The largest heap, in MiB, up to 1,024. The default is 32.
    pub heap_mib: Option<NonZeroU32>,
    /// The seconds of processor time, without the time that a script waits for calls. The default is 5.
    pub cpu_seconds: Option<NonZeroU32>,
    /// The maximum number of calls of a script, up to 10,000. The default is 50.
    pub calls: Option<NonZeroU32>,
    /// The maximum number of concurrent calls of a script, up to 256. Others wait. The default is 8.
    pub concurrent_calls: Option<NonZeroU32>,
    /// The maximum number of bytes that are kept of the console, up to 1 MiB. The default is 65,536.
    pub console_bytes: Option<NonZeroU32>,
    /// The largest arguments of a call, result of a call, and result of a script, each in bytes of JSON, up to 4 MiB.
    /// The default is 1,048,576.
    pub value_bytes: Option<NonZeroU32>,
    /// The largest results of all calls of a script together, in bytes of JSON, up to 8 MiB, the default.
    pub total_bytes: Option<NonZeroU32>,
    /// The maximum number of scripts that run at once, up to 256. Others wait. The default is 16.
    pub concurrent_scripts: Option<NonZeroU32>,
    /// The hours after which a paused script expires. The default is 24.
    pub paused_hours: Option<NonZeroU32>,
}

impl ScriptSection {
    /// Checks the upper bounds.
    pub(super) fn check(&self, file: &AppFile, errors: &mut Vec<Error>) {
        let bounds = [
            ("source_bytes", self.source_bytes, MAX_TEXT_BYTES),
            ("heap_mib", self.heap_mib, MAX_HEAP_MIB),
            ("calls", self.calls, MAX_CALLS),
            ("concurrent_calls", self.concurrent_calls, MAX_CONCURRENT),
            ("console_bytes", self.console_bytes, MAX_TEXT_BYTES),
            ("value_bytes", self.value_bytes, MAX_VALUE_BYTES),
            ("total_bytes", self.total_bytes, MAX_TOTAL_BYTES),
            ("concurrent_scripts", self.concurrent_scripts, MAX_CONCURRENT),
        ];
        for (key, value, most) in bounds {
            if value.is_some_and(|value| value.get() > most) {
                let message = format!("`{key}` is at most {most}");
                errors.push(file.error_at(&format!("/execution/scripts/{key}"), message));
            }
        }
    }

    /// Returns the settings of scripts for these callers.
    pub(super) fn settings(&self, callers: ScriptCallers) -> ScriptSettings {
        let mut settings = ScriptSettings::new(callers);
        let size =
            |value: Option<NonZeroU32>, default: usize| value.map_or(default, |value| value.get() as usize);
        let limits = &mut settings.limits;
        limits.source_bytes = size(self.source_bytes, limits.source_bytes);
        limits.heap_bytes = self.heap_mib.map_or(limits.heap_bytes, |mib| mib.get() as usize * 1024 * 1024);
        limits.cpu_ms = self.cpu_seconds.map_or(limits.cpu_ms, |seconds| u64::from(seconds.get()) * 1_000);
        limits.calls = self.calls.map_or(limits.calls, NonZeroU32::get);
        limits.concurrent_calls = size(self.concurrent_calls, limits.concurrent_calls);
        limits.console_bytes = size(self.console_bytes, limits.console_bytes);
        limits.value_bytes = size(self.value_bytes, limits.value_bytes);
        limits.total_bytes = size(self.total_bytes, limits.total_bytes);
        settings.max_running = size(self.concurrent_scripts, settings.max_running);
        let retention = self.paused_hours.map(|hours| Duration::from_secs(u64::from(hours.get()) * 3_600));
        settings.retention = retention.unwrap_or(settings.retention);
        settings
    }
}
