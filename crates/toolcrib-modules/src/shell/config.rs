//! The configuration of the module.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_io::process::SandboxSettings;
use toolcrib_model::Secret;

/// The default of `timeout_seconds`.
pub const DEFAULT_TIMEOUT_SECONDS: u32 = 60;

/// The default of `max_output_bytes`.
const DEFAULT_MAX_OUTPUT_BYTES: u32 = 32 * 1024;

/// The default of `max_output_lines`.
const DEFAULT_MAX_OUTPUT_LINES: u32 = 1000;

/// The default of `max_tasks`.
const DEFAULT_MAX_TASKS: u32 = 8;

/// The default of `max_task_seconds`.
const DEFAULT_MAX_TASK_SECONDS: u32 = 60 * 60;

/// The configuration under `modules.shell.config`.
///
/// ```yaml
/// modules:
///   shell:
///     config:
///       allow_scripts: true
///       interpreters: [sh, python3]
///       # Variables of Toolcrib's own environment that programs inherit, in addition to the usual ones.
///       pass_environment: [CARGO_HOME]
///       # Variables that are set for programs. The tool `env` shows their names, and no values.
///       environment: {REGISTRY_TOKEN: "{{secret.REGISTRY_TOKEN}}"}
/// ```
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ShellConfig {
    /// True to allow scripts and shells; false by default.
    pub allow_scripts: bool,
    /// The interpreters for scripts, any of `sh`, `bash`, `dash`, `zsh`, `python3`, `python`, `node`, `perl`, `ruby`.
    /// By default `sh`, `bash` and `python3`.
    pub interpreters: Vec<String>,
    /// Names of variables of Toolcrib's own environment that programs inherit, in addition to the usual ones that
    /// contain no secrets.
    pub pass_environment: Vec<String>,
    /// Variables that are set for programs.
    #[schemars(with = "BTreeMap<String, String>")]
    pub environment: BTreeMap<String, Secret>,
    /// The files and the network that programs can reach: a profile, or a mapping with one. Without it, programs have the
    /// rights of their user.
    pub sandbox: Option<SandboxSettings>,
    /// The default time limit of a program, in seconds; 60 by default.
    pub timeout_seconds: NonZeroU32,
    /// The maximum size of each output stream in a result, in bytes; 32 KiB by default. The result has its beginning
    /// and its end.
    pub max_output_bytes: NonZeroU32,
    /// The maximum number of lines of each output stream in a result; 1000 by default. The result has the first and the
    /// last ones.
    pub max_output_lines: NonZeroU32,
    /// The maximum number of running tasks of a session; 8 by default.
    pub max_tasks: NonZeroU32,
    /// The maximum run time of a task, in seconds; an hour by default.
    pub max_task_seconds: NonZeroU32,
}

impl Default for ShellConfig {
    fn default() -> Self {
        let count = |count: u32| NonZeroU32::MIN.saturating_add(count - 1);
        Self {
            allow_scripts: false,
            interpreters: ["sh", "bash", "python3"].map(String::from).to_vec(),
            pass_environment: Vec::new(),
            environment: BTreeMap::new(),
            sandbox: None,
            timeout_seconds: count(DEFAULT_TIMEOUT_SECONDS),
            max_output_bytes: count(DEFAULT_MAX_OUTPUT_BYTES),
            max_output_lines: count(DEFAULT_MAX_OUTPUT_LINES),
            max_tasks: count(DEFAULT_MAX_TASKS),
            max_task_seconds: count(DEFAULT_MAX_TASK_SECONDS),
        }
    }
}
