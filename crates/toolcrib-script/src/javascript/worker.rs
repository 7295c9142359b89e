//! The worker process: runs one script, and exchanges messages with the host over its pipes.

use std::io::{self, BufRead, Read as _, Write};
use std::process::ExitCode;
use std::time::Duration;

use toolcrib_io::process::{ProcessLimits, cpu_time};

use super::context::{ScriptContext, run_in};
use super::protocol::{HostMessage, MAX_MESSAGE_BYTES, WorkerMessage};

/// The address space of a worker, in bytes, in addition to the heap of its script: the program itself and its stack.
const BASE_ADDRESS_SPACE: u64 = 1024 * 1024 * 1024;

/// The processor time in seconds that a worker has in addition to the limit of its script. Loops inside the engine that
/// never check the script's limit end by the signal of the system.
const GRACE_SECONDS: u64 = 1;

/// Runs the worker process until its script has ended: reads messages from standard input, and writes messages to
/// standard output. The program that [`JavaScriptEngine`](super::JavaScriptEngine) starts calls it first, before it
/// opens files or starts threads.
pub fn run_worker() -> ExitCode {
    let (stdin, stdout) = (io::stdin().lock(), io::stdout().lock());
    match serve_worker(stdin, stdout, ProcessLimits::apply) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without standard error there is no reader for it.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a script that comes as messages from `input`, and writes messages to `output`. Calls `limit` with the limits of
/// its process before the script starts.
///
/// # Errors
///
/// Returns an error if a message is invalid, or cannot be read or written.
pub fn serve_worker(
    mut input: impl BufRead,
    mut output: impl Write,
    limit: impl FnOnce(&ProcessLimits) -> io::Result<()>,
) -> io::Result<()> {
    let context = ScriptContext::new()?;
    send(&mut output, &WorkerMessage::Ready)?;
    let (script, limits) = match receive(&mut input)? {
        None => return Ok(()),
        Some(HostMessage::Start { script, limits }) => (script, limits),
        Some(HostMessage::Resume(_)) => return Err(io::Error::other("expected a script, found a reply")),
    };
    let seconds = cpu_time().saturating_add(Duration::from_millis(limits.cpu_ms)).as_secs();
    limit(&ProcessLimits {
        cpu_seconds: seconds.saturating_add(1 + GRACE_SECONDS),
        address_space: BASE_ADDRESS_SPACE.saturating_add(limits.heap_bytes as u64),
    })?;
    run_in(&context, &script, &limits, |pause| {
        send(&mut output, &WorkerMessage::Pause(pause))?;
        match receive(&mut input)? {
            None => Ok(None),
            Some(HostMessage::Resume(reply)) => Ok(Some(reply.into_owned())),
            Some(HostMessage::Start { .. }) => Err(io::Error::other("expected a reply, found a script")),
        }
    })
}

fn send(output: &mut impl Write, message: &WorkerMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Reads a message; `None` at the end of the input.
fn receive(input: &mut impl BufRead) -> io::Result<Option<HostMessage<'static>>> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_MESSAGE_BYTES).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) => Err(io::Error::other("expected a line, found the end of the input")),
    }
}
