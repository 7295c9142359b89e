//! What an operator may say of the module.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_model::Secret;

/// How long a program may run by default, in seconds.
pub const DEFAULT_TIMEOUT_SECONDS: u32 = 60;

/// How much of each stream of a program is told by default, in bytes.
pub const DEFAULT_MAX_OUTPUT_BYTES: u32 = 32 * 1024;

/// How many lines of each stream of a program are told by default.
pub const DEFAULT_MAX_OUTPUT_LINES: u32 = 1000;

/// How many tasks of a session run side by side by default.
pub const DEFAULT_MAX_TASKS: u32 = 8;

/// How long a task may run by default, in seconds.
pub const DEFAULT_MAX_TASK_SECONDS: u32 = 60 * 60;

/// What stands under `modules.shell.config`.
///
/// ```yaml
/// modules:
///   shell:
///     config:
///       allow_scripts: true
///       interpreters: [sh, python3]
///       # Variables of our own environment that programs find, beside the usual ones.
///       pass_environment: [CARGO_HOME]
///       # Variables that are set for them. The tool `env` tells their names, and nothing of their values.
///       environment: {REGISTRY_TOKEN: "{{secret.REGISTRY_TOKEN}}"}
/// ```
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether scripts may be run, and shells be started; not by default.
    pub allow_scripts: bool,
    /// The interpreters that scripts may be for, of those that are known: `sh`, `bash`, `dash`, `zsh`, `python3`,
    /// `python`, `node`, `perl`, `ruby`. By default `sh`, `bash` and `python3`.
    pub interpreters: Vec<String>,
    /// Names of variables of our own environment that programs find, beside the usual ones that are no secrets.
    pub pass_environment: Vec<String>,
    /// Variables that are set for programs.
    #[schemars(with = "BTreeMap<String, String>")]
    pub environment: BTreeMap<String, Secret>,
    /// How long a program may run unless its call says, in seconds; 60 by default.
    pub timeout_seconds: NonZeroU32,
    /// How much of each stream of a program is told, in bytes; 32 KiB by default: its beginning and its end.
    pub max_output_bytes: NonZeroU32,
    /// How many lines of each stream of a program are told; 1000 by default: the first and the last.
    pub max_output_lines: NonZeroU32,
    /// How many tasks of a session run side by side; 8 by default.
    pub max_tasks: NonZeroU32,
    /// How long a task may run, in seconds; an hour by default.
    pub max_task_seconds: NonZeroU32,
}

impl Default for Config {
    fn default() -> Self {
        let count = |count: u32| NonZeroU32::MIN.saturating_add(count - 1);
        Self {
            allow_scripts: false,
            interpreters: ["sh", "bash", "python3"].map(String::from).to_vec(),
            pass_environment: Vec::new(),
            environment: BTreeMap::new(),
            timeout_seconds: count(DEFAULT_TIMEOUT_SECONDS),
            max_output_bytes: count(DEFAULT_MAX_OUTPUT_BYTES),
            max_output_lines: count(DEFAULT_MAX_OUTPUT_LINES),
            max_tasks: count(DEFAULT_MAX_TASKS),
            max_task_seconds: count(DEFAULT_MAX_TASK_SECONDS),
        }
    }
}
