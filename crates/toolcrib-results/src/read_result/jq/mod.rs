//! jq programs that models write, with limits.
//!
//! The interpreter has no limits: `[range(1e9)]` takes all memory, `def f: 1 + f; f` all of the stack, and `def f: f;
//! f` never ends. Here each step and each byte has a cost, the program runs on a separate thread with a limited stack,
//! and a program that costs too much is ended by unwinding that thread. A program sees only its input: no files, no
//! environment variables, no clock, no further inputs.

use std::thread;

use jaq_core::load::{Arena, Error as LoadError, File, Loader, span};
use jaq_core::{Compiler, Ctx, DataT, Lut, Vars, data::HasLut};
use serde_json::Value;
use toolcrib_document::nearest;
use toolcrib_model::text::truncate_bytes;
use toolcrib_model::{ErrorKind, ToolError};

mod meter;
mod natives;
mod operators;
mod value;

#[cfg(test)]
mod tests;

use self::meter::{Limits, ProgramLimit};
use self::value::Val;
use crate::read_result::cancellable_search::CancelFlag;
use crate::read_result::jsonpath::MAX_MATCHES;
use crate::text::{grouped, tail};

/// The maximum length of a program in bytes. Its parser uses stack for at most each of its characters.
const MAX_PROGRAM_BYTES: usize = 2_000;

/// The stack size of the thread; unused stack takes no memory.
const STACK_BYTES: usize = 64 << 20;

/// The maximum length of an error of a program.
const MAX_ERROR_BYTES: usize = 300;

/// The kind of data that programs work on.
struct Metered;

/// The lookup table that each step reads, which counts the steps.
#[derive(Clone, Copy)]
struct Steps<'a>(&'a Lut<Metered>);

impl DataT for Metered {
    type V<'a> = Val;
    type Data<'a> = Steps<'a>;
}

impl<'a> HasLut<'a, Metered> for Steps<'a> {
    fn lut(&self) -> &'a Lut<Metered> {
        meter::step();
        self.0
    }
}

/// Runs a program on a value until it is cancelled.
pub(crate) fn run(program: &str, input: Value, cancel: &CancelFlag) -> Result<Vec<Value>, ToolError> {
    run_within(program, input, cancel, Limits::default())
}

fn run_within(
    program: &str,
    input: Value,
    cancel: &CancelFlag,
    limits: Limits,
) -> Result<Vec<Value>, ToolError> {
    if program.len() > MAX_PROGRAM_BYTES {
        return Err(invalid(format!("`jq` is longer than {MAX_PROGRAM_BYTES} bytes")));
    }
    let ended = thread::scope(|scope| {
        let work = || {
            meter::start(cancel.clone(), limits);
            evaluate(program, input)
        };
        let thread =
            thread::Builder::new().name("jq".into()).stack_size(STACK_BYTES).spawn_scoped(scope, work);
        thread.map(thread::ScopedJoinHandle::join)
    });
    let ended = ended.map_err(|error| {
        ToolError::new(ErrorKind::Unavailable, format!("no thread can be started: {error}"))
    })?;
    ended.unwrap_or_else(|cause| {
        let fault =
            || ToolError::new(ErrorKind::Internal, "the jq program crashed; this is a bug in Toolcrib");
        Err(cause.downcast_ref::<ProgramLimit>().map_or_else(fault, |exceeded| too_much(*exceeded, limits)))
    })
}

/// Checks the syntax and the names of a program.
pub(crate) fn check(program: &str) -> Result<(), ToolError> {
    // The input stops every program at its first step.
    let limits = Limits { steps: 0, ..Limits::default() };
    match run_within(program, Value::Null, &CancelFlag::default(), limits) {
        Err(error) if error.kind == ErrorKind::InvalidArgs => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn evaluate(program: &str, input: Value) -> Result<Vec<Value>, ToolError> {
    let arena = Arena::default();
    let loader = Loader::new(natives::definitions());
    let modules = loader.load(&arena, File { code: program, path: () }).map_err(|errors| {
        let error = errors.into_iter().next().map(|(_, error)| error);
        malformed(program, error)
    })?;
    let filter = Compiler::default().with_funs(natives::functions()).compile(modules).map_err(|errors| {
        let name = errors.first().and_then(|(_, undefined)| undefined.first());
        undefined(name.map_or("", |(name, _)| name))
    })?;
    let context = Ctx::<Metered>::new(Steps(&filter.lut), Vars::new([]));
    let mut outputs = Vec::new();
    for output in filter.id.run((context, Val::from_json(input))) {
        match output {
            Ok(output) => outputs.push(output.into_json()),
            Err(exception) => {
                let message = match exception.get_err() {
                    Ok(error) => error.to_string(),
                    Err(_) => "`break` without a label".to_owned(),
                };
                return Err(invalid(format!("`jq` failed: {}", shortened(&message))));
            }
        }
        if outputs.len() > MAX_MATCHES {
            let message = format!("`jq` gives more than {} values", grouped(MAX_MATCHES));
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("take a part, as with limit(10; …), or count them with [ … ] | length"));
        }
    }
    Ok(outputs)
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}

fn shortened(text: &str) -> String {
    let short = truncate_bytes(text, MAX_ERROR_BYTES);
    if short.len() < text.len() { format!("{short}…") } else { short.to_owned() }
}

/// Returns the error for the syntax error of a program.
fn malformed(program: &str, error: Option<LoadError<&str>>) -> ToolError {
    let place = match error {
        Some(LoadError::Lex(errors)) => {
            errors.first().map(|(expected, found)| (expected.as_str().to_owned(), span(program, found).start))
        }
        Some(LoadError::Parse(errors)) => errors.first().map(|(expected, found)| {
            let at = if found.is_empty() { program.len() } else { span(program, found).start };
            (expected.as_str().to_owned(), at)
        }),
        Some(LoadError::Io(_)) => return invalid("`jq` cannot import modules"),
        None => None,
    };
    let (expected, at) = place.unwrap_or_else(|| ("a program".to_owned(), program.len()));
    let (before, after) = program.split_at(program.floor_char_boundary(at.min(program.len())));
    let shown = format!("{}→{}", tail(before, 60), truncate_bytes(after, 60));
    invalid(format!("`jq` is not a valid jq program: expected {expected} at the arrow: {shown}")).with_hint(
        "examples: .items | length, [.items[] | select(.stock < 2) | .sku], map(.qty * .price) | add",
    )
}

fn undefined(name: &str) -> ToolError {
    let message = format!("`jq` has no filter `{}` here", truncate_bytes(name, 80));
    let known = natives::names();
    match nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => invalid(format!("{message}, did you mean `{meant}`?")),
        None => invalid(message)
            .with_hint("files, the environment, the clock and further inputs are not available"),
    }
}

fn too_much(exceeded: ProgramLimit, limits: Limits) -> ToolError {
    let message = match exceeded {
        ProgramLimit::Steps => format!("`jq` takes more than {} steps", grouped(limits.steps)),
        ProgramLimit::Bytes => format!("`jq` makes more than {} bytes of values", grouped(limits.bytes)),
        ProgramLimit::Stack => "`jq` recurses too deep".to_owned(),
        ProgramLimit::Depth => "`jq` makes a value that nests too deep".to_owned(),
        ProgramLimit::CancelFlag => "the request for `jq` was cancelled".to_owned(),
    };
    ToolError::new(ErrorKind::LimitReached, message)
        .with_hint("take a part of the result first, as with .items[0:100]")
}
