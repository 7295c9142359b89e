//! The tools `shell.run` and `shell.script`, which run a program to its end.

use std::num::NonZeroU32;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::process::{Command, FollowedExit, Pipe, follow};
use toolcrib_model::ToolError;
use toolcrib_port::Progress;
use toolcrib_sdk::CallContext;

use super::errors::tool_error;
use super::output_buffer::{HeadTailBuffer, last_line};

/// The maximum time limit of a program in a call, in seconds: the limit of any call. Tasks may run longer.
pub const MAX_TIMEOUT_SECONDS: u32 = 590;

/// The time between asking a program to end and killing it.
pub const TERM_GRACE: Duration = Duration::from_secs(2);

/// The time before the deadline of its call at which a program is asked to end, so that the call can return its output.
const DEADLINE_MARGIN: Duration = Duration::from_secs(4);

/// The minimum interval of progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// The program, then each of its arguments as a separate word. No shell reads them: `*`, `|`, `>` and `$` mean
    /// nothing.
    #[schemars(length(min = 1))]
    pub(super) argv: Vec<String>,
    /// The directory to run in, relative to the workspace; the workspace by default.
    pub(super) cwd: Option<String>,
    /// The text for standard input.
    pub(super) stdin: Option<String>,
    /// The time limit, in seconds.
    #[schemars(range(max = MAX_TIMEOUT_SECONDS))]
    pub(super) timeout_seconds: Option<NonZeroU32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunScript {
    /// The interpreter of the script, such as `sh` or `python3`.
    pub(super) interpreter: String,
    /// The text of the script.
    pub(super) script: String,
    /// Its arguments.
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    /// The directory to run in, relative to the workspace; the workspace by default.
    pub(super) cwd: Option<String>,
    /// The text for standard input.
    pub(super) stdin: Option<String>,
    /// The time limit, in seconds.
    #[schemars(range(max = MAX_TIMEOUT_SECONDS))]
    pub(super) timeout_seconds: Option<NonZeroU32>,
}

/// The exit of a program, and its output.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunOutput {
    #[serde(flatten)]
    pub(super) end: ExitInfo,
    /// Its standard output.
    pub(super) stdout: String,
    /// Its standard error.
    pub(super) stderr: String,
}

/// The exit of a program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ExitInfo {
    /// Its exit code: 0 is success. Null when a signal ended it.
    pub(super) exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signal: Option<String>,
    /// True if it was ended because of its time limit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub(super) timed_out: bool,
    /// Its run time.
    pub(super) seconds: f64,
}

/// The limits of a program and its output.
pub(super) struct RunLimits {
    pub(super) bytes: usize,
    pub(super) lines: usize,
    pub(super) default_timeout: Duration,
}

impl RunLimits {
    /// Returns the time limit of a program, for the limit that its call requests.
    fn timeout(&self, wanted: Option<NonZeroU32>, context: &CallContext) -> Duration {
        let wanted = wanted.map(|wanted| Duration::from_secs(wanted.get().min(MAX_TIMEOUT_SECONDS).into()));
        let wanted = wanted.unwrap_or(self.default_timeout);
        let left =
            context.deadline.map(|deadline| deadline.saturating_duration_since(tokio::time::Instant::now()));
        // Of a short time, the program gets half.
        let left = left.map(|left| left.saturating_sub(DEADLINE_MARGIN).max(left / 2));
        left.map_or(wanted, |left| left.min(wanted))
    }
}

/// Runs a command to its end, or to its time limit.
pub(super) async fn run(
    command: &Command,
    stdin: Option<Bytes>,
    timeout: Option<NonZeroU32>,
    limits: &RunLimits,
    context: &CallContext,
) -> Result<RunOutput, ToolError> {
    let (mut stdout, mut stderr) = (HeadTailBuffer::new(limits.bytes), HeadTailBuffer::new(limits.bytes));
    let mut progress = ProgressReporter::new(context);
    let take = |pipe, bytes: &[u8]| {
        match pipe {
            Pipe::Stdout => stdout.add(bytes),
            Pipe::Stderr => stderr.add(bytes),
        }
        progress.report(stdout.bytes() + stderr.bytes(), bytes);
    };
    let time_is_over = tokio::time::sleep(limits.timeout(timeout, context));
    let ended = follow(command, stdin, take, time_is_over, TERM_GRACE).await;
    let ended = ended.map_err(|error| tool_error(&error))?;
    Ok(RunOutput {
        end: ExitInfo::of(&ended, ended.stopped),
        stdout: stdout.text(limits.lines),
        stderr: stderr.text(limits.lines),
    })
}

impl ExitInfo {
    pub(super) fn of(ended: &FollowedExit, timed_out: bool) -> Self {
        Self {
            exit_code: ended.status.code(),
            signal: signal(ended.status),
            timed_out,
            seconds: (ended.elapsed.as_secs_f64() * 1000.0).round() / 1000.0,
        }
    }
}

/// Reports the output of a program as progress of its call, at most once per [`PROGRESS_INTERVAL`].
struct ProgressReporter<'a> {
    context: &'a CallContext,
    reported: Option<Instant>,
}

impl<'a> ProgressReporter<'a> {
    fn new(context: &'a CallContext) -> Self {
        Self { context, reported: None }
    }

    #[expect(clippy::cast_precision_loss, reason = "progress need not be exact")]
    fn report(&mut self, bytes: u64, last: &[u8]) {
        let Some(listener) = &self.context.progress else { return };
        if self.reported.is_some_and(|reported| reported.elapsed() < PROGRESS_INTERVAL) {
            return;
        }
        self.reported = Some(Instant::now());
        listener.progress(&Progress { done: bytes as f64, total: None, message: last_line(last) });
    }
}

/// Returns the name of the signal that ended a program.
#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<String> {
    use std::os::unix::process::ExitStatusExt as _;
    const NAMES: [(i32, &str); 12] = [
        (1, "HUP"),
        (2, "INT"),
        (3, "QUIT"),
        (4, "ILL"),
        (6, "ABRT"),
        (8, "FPE"),
        (9, "KILL"),
        (11, "SEGV"),
        (13, "PIPE"),
        (14, "ALRM"),
        (15, "TERM"),
        (24, "XCPU"),
    ];
    let number = status.signal()?;
    let name = NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned());
    Some(name.unwrap_or_else(|| number.to_string()))
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<String> {
    None
}
