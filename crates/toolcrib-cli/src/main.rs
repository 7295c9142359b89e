//! The `toolcrib` command.
//!
//! Each command is a file under `commands`; `arguments` says what may be written, `exit` what the exit codes mean. With
//! `--json` a command prints one JSON document on standard output and nothing else there; everything for people goes
//! to standard error when it is not the result itself.

mod arguments;
mod exit;

mod commands;

mod approver;
mod interrupt;
mod keyboard;
mod observer;
mod output;
mod printable;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::arguments::Arguments;
use crate::exit::{Exit, Failure};

/// The variable that sets what is logged, as `toolcrib=debug`.
const LOG_VARIABLE: &str = "TOOLCRIB_LOG";

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A reader that hung up wants no usage either.
            let _ = error.print();
            if !error.use_stderr() {
                return Exit::Ok.into();
            }
            // The arguments could not be read, so this is all that is known of what was wanted.
            if std::env::args_os().any(|argument| argument == "--json") {
                let message = error.kind().as_str().unwrap_or("the command line cannot be read");
                output::json(&Failure::bad_input(message).json());
            }
            return Exit::BadInput.into();
        }
    };
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new("off"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // It would say so on standard error, and panic when that is what failed.
        .log_internal_errors(false)
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::tell(&format!("error: cannot start: {error}"));
            return Exit::Failed.into();
        }
    };
    let code = runtime.block_on(commands::run(arguments));
    // Threads that wait for standard input cannot be ended; the process does not wait for them.
    runtime.shutdown_background();
    code
}
