//! From the arguments of the process to its exit code.

use std::env::VarError;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use futures::future::LocalBoxFuture;
use toolcrib_app::Extensions;
use toolcrib_io::process::run_launcher;
use toolcrib_script::{WORKER_ARGUMENT, run_worker};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, fmt};

use crate::arguments::{Arguments, command_line};
use crate::exit::{Exit, Failure};
use crate::terminal::{output_error, screen};
use crate::ui::{output, style};
use crate::{allocator, commands, extensions, secrets, telemetry};

/// The variable that sets what is logged, as `toolcrib=debug`.
const LOG_VARIABLE: &str = "TOOLCRIB_LOG";

/// The filter of the log where the variable does not set it. The errors of MCP connections are reported by Toolcrib itself.
const DEFAULT_LOG: &str = "warn,rmcp=off";

/// The variable that sets the form of the log: `text`, or `json` for an object on each line.
const LOG_FORMAT_VARIABLE: &str = "TOOLCRIB_LOG_FORMAT";

/// Runs the command that the arguments of this process name, to its exit code.
pub fn main() -> ExitCode {
    main_with(Extensions::default())
}

/// Runs the command line with extensions that app files may name. To be called once, as the whole of `main`.
pub fn main_with(extensions: Extensions) -> ExitCode {
    if let Some(code) = run_launcher() {
        return code;
    }
    if std::env::args_os().nth(1).is_some_and(|argument| argument == WORKER_ARGUMENT) {
        return run_worker();
    }
    let matches = command_line().try_get_matches();
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
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
    let extensions = extensions::of_process(if arguments.strict { extensions.strict() } else { extensions });
    allocator::configure();
    let telemetry = match telemetry_of(&arguments) {
        Ok(settings) => settings.map(telemetry::prepare),
        Err(failure) => {
            if arguments.json {
                output::json(&failure.json());
            }
            output::tell(&format!("error: {}", failure.message));
            return failure.exit.into();
        }
    };
    let (spans, queue) = telemetry.unzip();
    let extensions = match queue.as_ref().and_then(telemetry::audit_log) {
        Some(log) => extensions.with_observer(log),
        None => extensions,
    };
    let log = log().with_filter(log_filter());
    let spans = spans.map(|spans| spans.with_filter(filter_fn(telemetry::is_ours)));
    tracing_subscriber::registry().with(log).with(spans).init();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if arguments.command.has_one_client() {
        // A message takes longer that goes from thread to thread on its way through, and one client has few at once.
        runtime.worker_threads(1);
    }
    let runtime = match runtime.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::tell(&format!("error: cannot start: {error}"));
            return Exit::Failed.into();
        }
    };
    // Behind a pointer, since `block_on` is compiled once for each kind of runtime, with all commands inside.
    let command: LocalBoxFuture<'_, ExitCode> = Box::pin(async {
        let telemetry = queue.and_then(|queue| queue.start().map_err(|error| tell_unsent(&error)).ok());
        let code = commands::run(arguments, extensions).await;
        if let Some(telemetry) = telemetry
            && let Some(unsent) = telemetry.finish().await
        {
            tell_unsent(&unsent);
        }
        code
    });
    let code = runtime.block_on(command);
    // Output that was held back for a question that is not answered any more.
    screen().end_dialogue();
    let code = match output_error() {
        Some(error) => {
            output::tell(&format!("error: standard output is incomplete: {error}"));
            Exit::Failed.into()
        }
        None => code,
    };
    // Threads that wait for standard input cannot be ended; the process does not wait for them.
    runtime.shutdown_background();
    code
}

/// Returns what is logged. An invalid variable does not end the command, as with the format of the log.
fn log_filter() -> EnvFilter {
    match std::env::var(LOG_VARIABLE) {
        Ok(directives) if !directives.is_empty() => EnvFilter::try_new(&directives).unwrap_or_else(|error| {
            output::tell(&format!(
                "warning: `{LOG_VARIABLE}`: {error}; logging `{DEFAULT_LOG}`, write it as `toolcrib=debug`"
            ));
            EnvFilter::new(DEFAULT_LOG)
        }),
        _ => EnvFilter::new(DEFAULT_LOG),
    }
}

/// Returns the writer of the log, in the configured format.
fn log() -> Box<dyn Layer<Registry> + Send + Sync> {
    let log = fmt::layer()
        .with_writer(|| secrets::secrets().writer(output::LogWriter))
        .with_ansi(style::is_colourful())
        // It would say so on standard error, and panic when that is what failed.
        .log_internal_errors(false);
    match std::env::var(LOG_FORMAT_VARIABLE).as_deref() {
        Ok("json") => return log.json().boxed(),
        Err(VarError::NotPresent) | Ok("" | "text") => {}
        _ => output::tell(&format!(
            "warning: `{LOG_FORMAT_VARIABLE}` is neither `text` nor `json`: the log is text"
        )),
    }
    log.boxed()
}

/// Returns the destination of spans. An invalid variable does not end the command, since other programs read it too.
fn telemetry_of(arguments: &Arguments) -> Result<Option<telemetry::Settings>, Failure> {
    let Some(wanted) = arguments.command.otlp() else { return Ok(None) };
    let flag = wanted.otlp.as_deref();
    telemetry::Settings::read(flag, |name| std::env::var(name).ok()).or_else(|message| {
        if flag.is_some() {
            return Err(Failure::bad_input(message));
        }
        tell_unsent(&format!("no spans are sent: {message}"));
        Ok(None)
    })
}

fn tell_unsent(why: &(impl std::fmt::Display + ?Sized)) {
    output::tell(&format!("warning: {why}"));
}
