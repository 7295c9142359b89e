//! Scripts whose tool calls pass the gate, run in worker processes.
//!
//! A model that needs loops, many similar calls or a small part of large results writes one program instead of twenty
//! calls. [`ScriptRunner`] runs it: a [`ScriptEngine`] executes the program up to its next calls, and the runner makes
//! each of them through a [`ToolCaller`](toolcrib_port::ToolCaller), as any other call. [`JavaScriptEngine`] is the
//! engine for JavaScript.
//!
//! A [`ScriptLog`] holds the calls of a script with their results. With it, the runner resumes a script that waits for
//! the approval of a call, or whose process has ended: it runs the script again, answers its earlier calls from the log
//! in the recorded order, and makes the others.
//!
//! A program that uses [`JavaScriptEngine::of_current_program`] calls [`run_worker`] if its first argument is
//! [`WORKER_ARGUMENT`]:
//!
//! ```
//! fn main() -> std::process::ExitCode {
//!     if std::env::args().nth(1).as_deref() == Some(toolcrib_script::WORKER_ARGUMENT) {
//!         return toolcrib_script::run_worker();
//!     }
//!     // The rest of the program.
//!     std::process::ExitCode::SUCCESS
//! }
//! ```

pub mod engine;
mod error;
mod javascript;
mod log;
mod runner;

pub use engine::{Script, ScriptEngine, ScriptLimits};
pub use error::ScriptError;
pub use javascript::{JavaScriptEngine, WORKER_ARGUMENT, run_worker, serve_worker};
pub use log::{CallState, LoggedCall, ScriptJournal, ScriptLog};
pub use runner::{CallTrace, Outcome, ScriptHost, ScriptReport, ScriptRunner};
