//! jq programs that models write, within bounds.
//!
//! The interpreter has none of its own: `[range(1e9)]` takes all memory, `def f: 1 + f; f` all of the stack, and
//! `def f: f; f` goes on for ever. Here each step and each byte is paid for, on a thread of its own with a stack that is
//! watched, and a program that costs too much is ended by unwinding that thread. A program sees its input and nothing
//! else: no files, no variables of the environment, no clock, no further inputs.

use std::thread;

use jaq_core::load::{Arena, Error as LoadError, File, Loader, span};
use jaq_core::{Compiler, Ctx, DataT, Lut, Vars, data::HasLut};
use serde_json::Value;
use toolcrib_document::nearest;
use toolcrib_model::{ErrorKind, ToolError};

mod meter;
mod natives;
mod operators;
mod value;

#[cfg(test)]
mod tests;

use self::meter::{Exceeded, Limits};
use self::value::Val;
use super::jsonpath::MAX_MATCHES;
use super::seek::Asker;
use super::words::{grouped, head, tail};

/// The longest program, in bytes. Its reader takes stack for each of its characters at most.
const MAX_PROGRAM_BYTES: usize = 2_000;

/// The stack of the thread: what is not used takes no memory.
const STACK_BYTES: usize = 64 << 20;

/// The most bytes of what a program says is wrong.
const MAX_ERROR_BYTES: usize = 300;

/// The kind of data that programs work on.
struct Metered;

/// What a step asks for before it runs, so that all steps are seen.
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

/// Runs a program on a value, as long as somebody waits for it.
pub(super) fn run(program: &str, input: Value, asker: &Asker) -> Result<Vec<Value>, ToolError> {
    run_within(program, input, asker, Limits::default())
}

fn run_within(program: &str, input: Value, asker: &Asker, limits: Limits) -> Result<Vec<Value>, ToolError> {
    if program.len() > MAX_PROGRAM_BYTES {
        return Err(invalid(format!("`jq` is longer than {MAX_PROGRAM_BYTES} bytes")));
    }
    let ended = thread::scope(|scope| {
        let work = || {
            meter::start(asker.clone(), limits);
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
            || ToolError::new(ErrorKind::Internal, "the jq program broke off; this is a fault of Toolcrib");
        Err(cause.downcast_ref::<Exceeded>().map_or_else(fault, |exceeded| too_much(*exceeded, limits)))
    })
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
                    Err(_) => "it breaks out of nothing".to_owned(),
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
    let short = head(text, MAX_ERROR_BYTES);
    if short.len() < text.len() { format!("{short}…") } else { short.to_owned() }
}

/// Says where a text stops to be a program.
fn malformed(program: &str, error: Option<LoadError<&str>>) -> ToolError {
    let place = match error {
        Some(LoadError::Lex(errors)) => {
            errors.first().map(|(expected, found)| (expected.as_str().to_owned(), span(program, found).start))
        }
        Some(LoadError::Parse(errors)) => errors.first().map(|(expected, found)| {
            let at = if found.is_empty() { program.len() } else { span(program, found).start };
            (expected.as_str().to_owned(), at)
        }),
        Some(LoadError::Io(_)) => return invalid("`jq` can import nothing"),
        None => None,
    };
    let (expected, at) = place.unwrap_or_else(|| ("a program".to_owned(), program.len()));
    let (before, after) = program.split_at(program.floor_char_boundary(at.min(program.len())));
    let shown = format!("{}→{}", tail(before, 60), head(after, 60));
    invalid(format!("`jq` is no jq program: expected {expected} at the arrow: {shown}")).with_hint(
        "examples: .items | length, [.items[] | select(.stock < 2) | .sku], map(.qty * .price) | add",
    )
}

fn undefined(name: &str) -> ToolError {
    let message = format!("`jq` has no `{}` here", head(name, 80));
    let known = natives::names();
    match nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => invalid(format!("{message}, did you mean `{meant}`?")),
        None => {
            invalid(message).with_hint("files, the environment, the clock and further inputs are not there")
        }
    }
}

fn too_much(exceeded: Exceeded, limits: Limits) -> ToolError {
    let message = match exceeded {
        Exceeded::Steps => format!("`jq` takes more than {} steps", grouped(limits.steps)),
        Exceeded::Bytes => format!("`jq` makes more than {} bytes of values", grouped(limits.bytes)),
        Exceeded::Stack => "`jq` calls itself too deep".to_owned(),
        Exceeded::Depth => "`jq` makes a value that nests too deep".to_owned(),
        Exceeded::Asker => "nobody waits for `jq` any more".to_owned(),
    };
    ToolError::new(ErrorKind::LimitReached, message)
        .with_hint("take a part of the result first, as with .items[0:100]")
}
