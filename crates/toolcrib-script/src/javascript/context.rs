//! The JavaScript context of a script: what it can reach, and its run between pauses.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::function::{Opt, Rest};
use rquickjs::promise::PromiseState;
use rquickjs::{Coerced, Context, Ctx, Error, Exception, Function, Object, Promise, Runtime, Value};
use toolcrib_io::process::cpu_time;
use toolcrib_model::JsonObject;

use super::protocol::MAX_ARGUMENTS_BYTES;
use crate::ScriptError;
use crate::engine::{CONSOLE_FULL, CallReply, Pause, Script, ScriptCall, ScriptLimits};

/// The stack of a script, in bytes; deeper recursion is an error that the script can catch.
const STACK_BYTES: usize = 512 * 1024;

/// The longest name of a tool, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The longest message of an error, in characters.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// The name of the script in stack traces.
const FILE_NAME: &str = "script.js";

/// The built-in objects of a script. Without `WeakRef`, whose behavior depends on the garbage collector, and
/// `performance`, which tells the time. `eval` remains: code that a script makes can reach nothing that the script
/// cannot.
type Intrinsics = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

/// The state of a run that the functions of the context share.
#[derive(Default)]
struct RunState {
    calls: RefCell<Vec<ScriptCall>>,
    /// The size of the arguments of these calls.
    arguments_bytes: Cell<usize>,
    console: RefCell<String>,
    /// The bytes that the console still takes.
    console_left: Cell<usize>,
    next_call: Cell<u32>,
    limits: Cell<Option<ScriptLimits>>,
    clock_ms: Cell<f64>,
    random: RefCell<Option<ChaCha8Rng>>,
    /// The processor time at which the script is interrupted.
    cpu_end: Cell<Option<Duration>>,
    interrupted: Cell<bool>,
}

impl RunState {
    fn limits(&self) -> ScriptLimits {
        self.limits.get().unwrap_or_default()
    }

    /// Records a call, and returns its number.
    fn call<'js>(&self, ctx: &Ctx<'js>, tool: &str, arguments: Option<Value<'js>>) -> rquickjs::Result<u32> {
        let limits = self.limits();
        if tool.is_empty() || tool.len() > MAX_NAME_BYTES {
            return Err(Exception::throw_type(ctx, "call a tool as `tools.namespace.name({…})`"));
        }
        let id = self.next_call.get();
        if id >= limits.calls {
            let message = format!("a script may make at most {} calls", limits.calls);
            return Err(Exception::throw_range(ctx, &message));
        }
        let arguments = match arguments.filter(|value| !value.is_undefined()) {
            None => JsonObject::new(),
            Some(value) => {
                let json =
                    ctx.json_stringify(value)?.map(|json| json.to_string()).transpose()?.unwrap_or_default();
                if json.len() > limits.value_bytes {
                    let message =
                        format!("the arguments of a call have at most {} bytes", limits.value_bytes);
                    return Err(Exception::throw_range(ctx, &message));
                }
                let total = self.arguments_bytes.get() + json.len();
                if total > MAX_ARGUMENTS_BYTES {
                    let message = "the arguments of calls that are made at once are too large; await some of them first";
                    return Err(Exception::throw_range(ctx, message));
                }
                self.arguments_bytes.set(total);
                serde_json::from_str(&json).map_err(|_| {
                    let message = format!("`{tool}` takes one object: `tools.{tool}({{…}})`");
                    Exception::throw_type(ctx, &message)
                })?
            }
        };
        self.next_call.set(id + 1);
        self.calls.borrow_mut().push(ScriptCall { id, tool: tool.to_owned(), arguments });
        Ok(id)
    }

    /// Appends a line to the console, up to its limit.
    fn log<'js>(&self, ctx: &Ctx<'js>, values: &[Value<'js>]) {
        let left = self.console_left.get();
        if left == 0 {
            return;
        }
        let mut line = values.iter().map(|value| shown(ctx, value)).collect::<Vec<_>>().join(" ");
        line.push('\n');
        if line.len() > left {
            line.truncate(line.floor_char_boundary(left));
            line.push_str(CONSOLE_FULL);
            self.console_left.set(0);
        } else {
            self.console_left.set(left - line.len());
        }
        self.console.borrow_mut().push_str(&line);
    }

    /// Returns true once the script has used up its processor time.
    fn check_time(&self) -> bool {
        if self.cpu_end.get().is_some_and(|end| cpu_time() >= end) {
            self.interrupted.set(true);
        }
        self.interrupted.get()
    }

    /// Returns a random number in [0, 1), of 53 bits.
    fn random(&self) -> f64 {
        let bits = self.random.borrow_mut().as_mut().map_or(0, |random| random.next_u64() >> 11);
        #[expect(clippy::cast_precision_loss, reason = "it has 53 bits")]
        let number = bits as f64;
        number / 9_007_199_254_740_992.0
    }
}

/// A context that is ready for a script.
pub(super) struct ScriptContext {
    context: Context,
    state: Rc<RunState>,
}

impl ScriptContext {
    /// Creates the context.
    pub(super) fn new() -> io::Result<Self> {
        let failed = |error: Error| io::Error::other(error.to_string());
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_max_stack_size(STACK_BYTES);
        let state = Rc::new(RunState::default());
        let checked = Rc::clone(&state);
        runtime.set_interrupt_handler(Some(Box::new(move || checked.check_time())));
        let context = Context::custom::<Intrinsics>(&runtime).map_err(failed)?;
        Ok(Self { context, state })
    }
}

/// Runs a script to its end. `exchange` sends a pause and returns the replies, or `None` if the host has gone.
///
/// # Errors
///
/// Fails if the host cannot be reached.
pub(super) fn run_in(
    prepared: &ScriptContext,
    script: &Script,
    limits: &ScriptLimits,
    mut exchange: impl FnMut(Pause) -> io::Result<Option<CallReply>>,
) -> io::Result<()> {
    let state = &prepared.state;
    state.limits.set(Some(*limits));
    state.console_left.set(limits.console_bytes);
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 have less than 53 bits")]
    state.clock_ms.set(script.clock_ms as f64);
    *state.random.borrow_mut() = Some(ChaCha8Rng::seed_from_u64(script.seed));
    prepared.context.runtime().set_memory_limit(limits.heap_bytes);
    state.cpu_end.set(Some(cpu_time().saturating_add(Duration::from_millis(limits.cpu_ms))));
    let throws = ["throw", "reject"].iter().any(|word| script.source.contains(word));
    prepared.context.with(|ctx| {
        let mut run = JavaScriptRun {
            ctx,
            state: Rc::clone(state),
            limits: *limits,
            ended: None,
            settle: None,
            throws,
        };
        let mut paused = run.start(&script.source);
        loop {
            let console = std::mem::take(&mut *state.console.borrow_mut());
            let calls = std::mem::take(&mut *state.calls.borrow_mut());
            let result = paused.transpose();
            let is_last = result.is_some();
            state.arguments_bytes.set(0);
            let reply = exchange(Pause { calls, console, result })?;
            match reply {
                Some(reply) if !is_last => paused = run.deliver(reply),
                _ => return Ok(()),
            }
        }
    })
}

/// A script in its context.
struct JavaScriptRun<'js> {
    ctx: Ctx<'js>,
    state: Rc<RunState>,
    limits: ScriptLimits,
    /// The promise of the script's end.
    ended: Option<Promise<'js>>,
    /// The function that settles a call.
    settle: Option<Function<'js>>,
    /// True if the script may throw a value that it chose: it has the words for that.
    throws: bool,
}

impl<'js> JavaScriptRun<'js> {
    /// Runs the first part of the script. Returns its result if it has ended.
    fn start(&mut self, source: &str) -> Result<Option<serde_json::Value>, ScriptError> {
        let settle = self.prepare().map_err(|error| self.failure(&error))?;
        self.settle = Some(settle);
        let mut options = EvalOptions::default();
        options.filename = Some(FILE_NAME.into());
        // The line break keeps a comment on the last line from hiding the end.
        let program = format!("(async () => {{\n{source}\n}})()");
        let ended = self.ctx.eval_with_options::<Value<'js>, _>(program, options);
        let ended = ended.map_err(|error| self.failure(&error))?;
        let Some(ended) = ended.into_promise() else {
            let problem = "it is no list of statements: its braces do not match".to_owned();
            return Err(ScriptError::Result { problem });
        };
        self.ended = Some(ended);
        self.advance()
    }

    /// Creates the globals of the script. Returns the function that settles a call.
    fn prepare(&self) -> rquickjs::Result<Function<'js>> {
        let ctx = &self.ctx;
        let state = || Rc::clone(&self.state);
        let (called, logged, random, clock) = (state(), state(), state(), state());
        let call =
            Function::new(ctx.clone(), move |ctx: Ctx<'js>, tool: String, arguments: Opt<Value<'js>>| {
                called.call(&ctx, &tool, arguments.0)
            })?;
        let log = Function::new(ctx.clone(), move |ctx: Ctx<'js>, values: Rest<Value<'js>>| {
            logged.log(&ctx, &values.0);
        })?;
        let random = Function::new(ctx.clone(), move || random.random())?;
        let clock = Function::new(ctx.clone(), move || clock.clock_ms.get())?;
        let prelude: Function<'js> = ctx.eval(include_str!("prelude.js"))?;
        prelude.call((call, log, random, clock))
    }

    /// Delivers a reply. Returns the result if the script has ended.
    fn deliver(&mut self, reply: CallReply) -> Result<Option<serde_json::Value>, ScriptError> {
        self.settle(reply).map_err(|error| self.failure(&error))?;
        self.advance()
    }

    fn settle(&self, reply: CallReply) -> rquickjs::Result<()> {
        let Some(settle) = &self.settle else { return Ok(()) };
        match reply.outcome {
            Ok(value) => settle.call((reply.id, self.ctx.json_parse(value.to_string())?)),
            Err(error) => {
                let error = serde_json::json!({
                    "kind": error.kind,
                    "message": error.message,
                    "hint": error.hint,
                    "retryable": error.retryable,
                });
                let undefined = Value::new_undefined(self.ctx.clone());
                settle.call((reply.id, undefined, self.ctx.json_parse(error.to_string())?))
            }
        }
    }

    /// Runs pending jobs until none is left.
    fn run_jobs(&self) -> Result<(), ScriptError> {
        while self.ctx.execute_pending_job() {
            self.check_time()?;
        }
        self.check_time()
    }

    /// Returns an error once the script has used up its processor time.
    fn check_time(&self) -> Result<(), ScriptError> {
        if self.state.check_time() {
            return Err(ScriptError::CpuTime { limit_ms: self.limits.cpu_ms });
        }
        Ok(())
    }

    /// Runs the script until it waits for replies. Returns its result if it has ended.
    fn advance(&mut self) -> Result<Option<serde_json::Value>, ScriptError> {
        self.run_jobs()?;
        let Some(ended) = &self.ended else { return Ok(None) };
        match ended.state() {
            PromiseState::Pending => Ok(None),
            PromiseState::Resolved | PromiseState::Rejected => match ended.result::<Value<'js>>() {
                Some(Ok(value)) => self.json_of(value).map(Some),
                Some(Err(error)) => Err(self.failure(&error)),
                None => Ok(None),
            },
        }
    }

    /// Returns the result of the script as JSON.
    fn json_of(&self, value: Value<'js>) -> Result<serde_json::Value, ScriptError> {
        let json =
            self.ctx.json_stringify(value).and_then(|json| json.map(|json| json.to_string()).transpose());
        let json = match json {
            Ok(None) => return Ok(serde_json::Value::Null),
            Ok(Some(json)) => json,
            Err(error) => {
                return Err(match self.failure(&error) {
                    ScriptError::Thrown { message, .. } => ScriptError::Result { problem: message },
                    other => other,
                });
            }
        };
        if json.len() > self.limits.value_bytes {
            let problem =
                format!("it has {} bytes; at most {} are allowed", json.len(), self.limits.value_bytes);
            return Err(ScriptError::Result { problem });
        }
        serde_json::from_str(&json).map_err(|error| ScriptError::Result { problem: error.to_string() })
    }

    /// Returns the failure behind an error of the engine.
    fn failure(&self, error: &Error) -> ScriptError {
        if let Err(out_of_time) = self.check_time() {
            return out_of_time;
        }
        let out_of_memory = ScriptError::Memory { limit: self.limits.heap_bytes };
        match error {
            Error::Exception => {}
            Error::Allocation => return out_of_memory,
            other => {
                return ScriptError::Result { problem: cut(&other.to_string()) };
            }
        }
        let thrown = self.ctx.catch();
        let Some(object) = thrown.as_object().filter(|object| object.is_error()) else {
            // The engine throws null if it has no memory for an error.
            if thrown.is_null() && !self.throws {
                return out_of_memory;
            }
            let message = shown(&self.ctx, &thrown);
            return ScriptError::Thrown {
                name: "Error".into(),
                message,
                line: None,
                column: None,
                hint: None,
            };
        };
        let (name, message) = (text(object, "name"), text(object, "message").unwrap_or_default());
        if message == "out of memory" {
            return out_of_memory;
        }
        let (line, column) = text(object, "stack").as_deref().and_then(position).unzip();
        let hint = text(object, "hint").filter(|_| name.as_deref() == Some("ToolError"));
        ScriptError::Thrown { name: name.unwrap_or_else(|| "Error".into()), message, line, column, hint }
    }
}

/// Returns a property as a text; `None` if it is undefined or cannot be read.
fn text(object: &Object<'_>, key: &str) -> Option<String> {
    let value: Option<Coerced<String>> = object.get(key).ok()?;
    value.map(|text| cut(&text.0))
}

/// Returns a value as the console shows it.
fn shown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    if let Some(text) = value.as_string() {
        return text.to_string().unwrap_or_default();
    }
    if let Some(error) = value.as_object().filter(|object| object.is_error()) {
        let name = text(error, "name").unwrap_or_else(|| "Error".into());
        return format!("{name}: {}", text(error, "message").unwrap_or_default());
    }
    match ctx.json_stringify(value.clone()) {
        Ok(Some(json)) => json.to_string().unwrap_or_default(),
        Ok(None) => value.type_name().to_owned(),
        Err(_) => {
            ctx.catch();
            format!("({})", value.type_name())
        }
    }
}

/// Returns the first position in the script that a stack trace names. The first line of the program is not the script's.
fn position(stack: &str) -> Option<(u32, u32)> {
    stack.lines().find_map(|frame| {
        let (_, place) = frame.rsplit_once(&format!("{FILE_NAME}:"))?;
        let mut numbers = place.split(|character: char| !character.is_ascii_digit());
        let line: u32 = numbers.next()?.parse().ok()?;
        let column = numbers.next()?.parse().ok()?;
        Some((line.checked_sub(1).filter(|line| *line > 0)?, column))
    })
}

fn cut(message: &str) -> String {
    message.chars().take(MAX_MESSAGE_CHARS).collect()
}
