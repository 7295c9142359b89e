//! A running worker: its start, its lines, its end.

use std::collections::{BTreeMap, HashMap};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};
use toolcrib_io::process::{
    Child, Command, DRAIN_GRACE, KILL_PATIENCE, StderrTail, StdinWriter, StdoutReader, spawn,
};
use toolcrib_model::{ErrorKind, Fingerprint, ToolError};

use super::protocol::{
    Envelope, Hello, MAX_WORKER_CALLS, Outgoing, ProgressMessage, RequestMessage, ResultMessage,
    WORKER_PROTOCOL, printable,
};
use super::supervisor::Slot;

/// How long a call that was cancelled may go on. A worker in which one goes on for longer gets no more calls, and is
/// killed as soon as its other calls have ended.
pub const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// How many lines wait to be written to a worker that does not read.
const MAX_WAITING_LINES: usize = 256;

/// How many requests and reports of progress of one call wait to be looked at.
const MAX_WAITING_EVENTS: usize = 64;

/// How much of a line is shown that cannot be read, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// How much of the last words of a worker is shown, in characters.
const MAX_LAST_WORDS_CHARS: usize = 2000;

/// What a worker has written of a call, before its result.
pub(super) enum Event {
    Progress(ProgressMessage),
    Request(RequestMessage),
}

/// What a message of a worker is answered with.
pub(super) enum Answer {
    /// There will be none: the worker had ended before it could read the message.
    NotRead,
    Result(Result<serde_json::Value, ToolError>),
    /// A list of tools, as it was written.
    Tools(Bytes),
}

/// A worker that runs. Dropping it kills its process group.
pub(super) struct Worker {
    /// What the worker calls its module.
    pub(super) name: String,
    pub(super) started: Instant,
    /// The tools that it has, with the digests of their schemas.
    pub(super) tools: Mutex<BTreeMap<String, Fingerprint>>,
    child: Mutex<Option<Child>>,
    tail: StderrTail,
    lines: Arc<Lines>,
    runtime: Handle,
    /// Where the worker stands for those that look for one.
    slot: Weak<Slot>,
    last_id: AtomicU64,
}

/// What is shared with the tasks that read and write.
struct Lines {
    outgoing: mpsc::Sender<Line>,
    state: Mutex<State>,
    /// Turns true when the state is that of a worker that is lost.
    is_lost: watch::Sender<bool>,
}

/// A line for the worker, and the number that its answer will have.
struct Line {
    id: Option<u64>,
    bytes: Bytes,
}

#[derive(Default)]
struct State {
    open: HashMap<u64, Open>,
    /// Why nothing is answered any more.
    lost: Option<Arc<str>>,
}

/// Something that the worker has not answered yet.
struct Open {
    /// There is no waiter any more where it was cancelled.
    waiter: Option<Waiter>,
}

struct Waiter {
    answer: oneshot::Sender<Answer>,
    events: mpsc::Sender<Event>,
}

/// Why a worker could not be started.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error(transparent)]
    NotStarted(#[from] toolcrib_io::Error),
    #[error("{0}")]
    Broken(String),
}

/// Something that was sent to a worker and has an answer. Dropping it before the answer cancels it.
pub(super) struct Running {
    worker: Arc<Worker>,
    id: u64,
    pub(super) answer: oneshot::Receiver<Answer>,
    pub(super) events: mpsc::Receiver<Event>,
    is_over: bool,
}

/// Why something cannot be sent.
pub(super) enum NotSent {
    Busy,
    Lost(Arc<str>),
}

impl Worker {
    /// Starts a worker and waits for its hello. `label` stands for it in the log.
    pub(super) async fn start(
        command: &Command,
        label: &str,
        slot: Weak<Slot>,
    ) -> Result<Arc<Self>, StartError> {
        let mut child = spawn(command, label)?;
        let pipes = child.take_stdin().zip(child.take_stdout());
        let (mut stdin, stdout) = pipes.ok_or_else(|| StartError::Broken("its pipes are missing".into()))?;
        let mut stdout = BufReader::new(stdout);
        let tail = child.stderr_tail();
        let hello = greet(&mut stdin, &mut stdout).await;
        let hello = match hello {
            Ok(hello) => hello,
            Err(reason) => {
                child.kill();
                let _ = timeout(KILL_PATIENCE, child.exited()).await;
                return Err(StartError::Broken(with_last_words(reason, &tail).await));
            }
        };
        let (outgoing, waiting) = mpsc::channel(MAX_WAITING_LINES);
        let lines = Arc::new(Lines { outgoing, state: Mutex::default(), is_lost: watch::Sender::new(false) });
        let exited = child.exited();
        let worker = Arc::new(Self {
            name: hello.name,
            started: Instant::now(),
            tools: Mutex::default(),
            child: Mutex::new(Some(child)),
            tail: tail.clone(),
            lines: Arc::clone(&lines),
            runtime: Handle::current(),
            slot,
            last_id: AtomicU64::new(0),
        });
        tokio::spawn(write(stdin, waiting, Arc::clone(&lines)));
        tokio::spawn(attend(Arc::downgrade(&worker), lines, stdout, exited, tail));
        Ok(worker)
    }

    /// Returns a number that nothing else of this worker has.
    pub(super) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether it can be given calls.
    pub(super) fn is_alive(&self) -> bool {
        !self.tail.has_ended() && self.lines.lock().lost.is_none()
    }

    /// Sends a message that has an answer. Nothing is sent where this future is dropped.
    pub(super) async fn send(self: &Arc<Self>, id: u64, line: Bytes) -> Result<Running, NotSent> {
        let room = self.lines.outgoing.reserve().await;
        let room = room.map_err(|_| NotSent::Lost(self.loss()))?;
        let (answer, answered) = oneshot::channel();
        let (events, happened) = mpsc::channel(MAX_WAITING_EVENTS);
        {
            let mut state = self.lines.lock();
            if let Some(reason) = &state.lost {
                return Err(NotSent::Lost(Arc::clone(reason)));
            }
            if state.open.len() >= MAX_WORKER_CALLS {
                return Err(NotSent::Busy);
            }
            state.open.insert(id, Open { waiter: Some(Waiter { answer, events }) });
        }
        room.send(Line { id: Some(id), bytes: line });
        Ok(Running { worker: Arc::clone(self), id, answer: answered, events: happened, is_over: false })
    }

    /// Sends a line that has no answer.
    pub(super) async fn tell(&self, line: Bytes) {
        // A worker that is gone needs no telling.
        let _ = self.lines.outgoing.send(Line { id: None, bytes: line }).await;
    }

    /// Why the worker answers no more.
    pub(super) fn loss(&self) -> Arc<str> {
        self.lines.lock().lost.clone().unwrap_or_else(|| "it is being ended".into())
    }

    /// Waits for the end of a worker that does not read its input any more, and returns why it ended.
    pub(super) async fn lost(&self) -> Arc<str> {
        self.kill();
        let mut lost = self.lines.is_lost.subscribe();
        let _ = timeout(KILL_PATIENCE, lost.wait_for(|is_lost| *is_lost)).await;
        self.loss()
    }

    /// Ends it: closes its input, waits, and kills what is left.
    pub(super) async fn close(&self, grace: Duration) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(child) = child
            && let Err(error) = child.close(grace).await
        {
            tracing::warn!("a worker did not end: {error}");
        }
    }

    fn kill(&self) {
        if let Some(child) = self.child.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            child.kill();
        }
    }

    /// Asks for the end of a call, and sees to it that a worker in which it goes on ends itself.
    fn cancel(self: &Arc<Self>, id: u64) {
        match self.lines.lock().open.get_mut(&id) {
            Some(open) => open.waiter = None,
            None => return,
        }
        let line = Outgoing::Cancel { id }.line().ok();
        let told = line.is_some_and(|bytes| self.lines.outgoing.try_send(Line { id: None, bytes }).is_ok());
        if !told {
            // It has not read its input for a long time.
            self.kill();
            return;
        }
        let (worker, lines) = (Arc::downgrade(self), Arc::clone(&self.lines));
        self.runtime.spawn(async move {
            tokio::time::sleep(CANCEL_GRACE).await;
            if let Some(worker) = worker.upgrade()
                && lines.lock().open.contains_key(&id)
            {
                worker.retire();
            }
        });
    }

    /// Gives it no more calls. It is killed when the last of its calls drops it.
    fn retire(self: &Arc<Self>) {
        tracing::warn!(module = self.name, "a cancelled call goes on, so its worker is replaced");
        if let Some(slot) = self.slot.upgrade() {
            slot.clear(self);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            self.worker.cancel(self.id);
        }
    }
}

impl Running {
    /// Returns what the answer is, once the receiver has it: an error says why there is none.
    pub(super) fn end(
        &mut self,
        answer: Result<Answer, oneshot::error::RecvError>,
    ) -> Result<Answer, Arc<str>> {
        self.is_over = true;
        answer.map_err(|_| self.worker.loss())
    }
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads lines until there are no more, or one that breaks the protocol; returns what is wrong with that one.
    async fn read(&self, mut stdout: BufReader<StdoutReader>) -> Option<String> {
        let mut line = Vec::new();
        loop {
            line.clear();
            match stdout.read_until(b'\n', &mut line).await {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(error.to_string()),
            }
            if let Err(reason) = self.take(&line) {
                return Some(reason);
            }
        }
    }

    fn take(&self, line: &[u8]) -> Result<(), String> {
        let wrong = |error: serde_json::Error| {
            let shown = printable(String::from_utf8_lossy(line).trim(), MAX_SHOWN_CHARS);
            format!("it wrote a line that is no message of the protocol: {error}: {shown}")
        };
        let envelope: Envelope<'_> = serde_json::from_slice(line).map_err(wrong)?;
        let id = || envelope.id.ok_or_else(|| format!("its message `{}` has no `id`", envelope.kind));
        match envelope.kind.as_ref() {
            "result" => {
                let result = serde_json::from_slice::<ResultMessage>(line).map_or_else(
                    |error| {
                        let message = format!("the worker's result cannot be read: {error}");
                        Err(ToolError::new(ErrorKind::ToolFailed, message))
                    },
                    ResultMessage::into_result,
                );
                self.answer(id()?, Answer::Result(result));
            }
            "tools" => self.answer(id()?, Answer::Tools(Bytes::copy_from_slice(line))),
            "progress" => {
                let progress = serde_json::from_slice::<ProgressMessage>(line).map_err(wrong)?;
                // Of too many, some are left out.
                self.event(id()?, Event::Progress(progress));
            }
            "request" => {
                let request = serde_json::from_slice::<RequestMessage>(line).map_err(wrong)?;
                let (call, request_id) = (request.call, request.id);
                if !self.event(call, Event::Request(request)) {
                    self.refuse(request_id)?;
                }
            }
            // A later version of the protocol may say more.
            _ => {}
        }
        Ok(())
    }

    fn answer(&self, id: u64, answer: Answer) {
        // What nobody waits for is dropped.
        if let Some(waiter) = self.lock().open.remove(&id).and_then(|open| open.waiter) {
            let _ = waiter.answer.send(answer);
        }
    }

    /// Hands on what happens in a call, and returns whether that was possible.
    fn event(&self, id: u64, event: Event) -> bool {
        let state = self.lock();
        let waiter = state.open.get(&id).and_then(|open| open.waiter.as_ref());
        waiter.is_some_and(|waiter| waiter.events.try_send(event).is_ok())
    }

    /// Answers a request of a call that is over, or has too many.
    fn refuse(&self, id: u64) -> Result<(), String> {
        let kind = ErrorKind::Overloaded;
        let error = ToolError::new(kind, "the call is over, or asks for too much at once");
        let bytes = Outgoing::Refusal { id, error: &error }.line().map_err(|error| error.to_string())?;
        self.outgoing
            .try_send(Line { id: None, bytes })
            .map_err(|_| "it asks for much, and does not read the answers".to_owned())
    }

    /// Fails everything that is not answered yet.
    fn lose(&self, reason: String) {
        let mut state = self.lock();
        state.lost = Some(reason.into());
        state.open.clear();
        drop(state);
        self.is_lost.send_replace(true);
    }
}

/// Exchanges the hellos.
async fn greet(stdin: &mut StdinWriter, stdout: &mut BufReader<StdoutReader>) -> Result<Hello, String> {
    let line = Outgoing::hello().line().map_err(|error| error.message)?;
    // One that ended already has said why, and its output ends too.
    let _ = stdin.write_all(&line).await;
    let mut line = Vec::new();
    let read = stdout.read_until(b'\n', &mut line).await.map_err(|error| error.to_string())?;
    if read == 0 {
        return Err("it ended before its hello".into());
    }
    let shown = || printable(String::from_utf8_lossy(&line).trim(), MAX_SHOWN_CHARS);
    let wrong = |error: &dyn std::fmt::Display| {
        format!("expected its hello, `{{\"type\": \"hello\", …}}`, found ({error}): {}", shown())
    };
    let envelope: Envelope<'_> = serde_json::from_slice(&line).map_err(|error| wrong(&error))?;
    if envelope.kind != "hello" {
        return Err(wrong(&"another message"));
    }
    let hello: Hello = serde_json::from_slice(&line).map_err(|error| wrong(&error))?;
    if hello.protocol != WORKER_PROTOCOL {
        let found = hello.protocol;
        return Err(format!(
            "it speaks version {found} of the protocol, and the runtime version {WORKER_PROTOCOL}; install a version of \
             the worker that matches"
        ));
    }
    Ok(hello)
}

/// Writes the lines until there are no more, or the pipe breaks. A line that could not be written whole was not read, and
/// neither were those behind it.
async fn write(mut stdin: StdinWriter, mut waiting: mpsc::Receiver<Line>, lines: Arc<Lines>) {
    while let Some(line) = waiting.recv().await {
        if stdin.write_all(&line.bytes).await.is_err() {
            waiting.close();
            let rest = std::iter::from_fn(|| waiting.try_recv().ok());
            for id in std::iter::once(line).chain(rest).filter_map(|line| line.id) {
                lines.answer(id, Answer::NotRead);
            }
            return;
        }
    }
}

/// Reads what a worker writes until it ends, and then fails what it has not answered.
async fn attend(
    worker: Weak<Worker>,
    lines: Arc<Lines>,
    stdout: BufReader<StdoutReader>,
    exited: impl Future<Output = Result<ExitStatus, toolcrib_io::Error>>,
    tail: StderrTail,
) {
    let reading = lines.read(stdout);
    tokio::pin!(reading, exited);
    let (wrong, status) = tokio::select! {
        wrong = &mut reading => (wrong, None),
        status = &mut exited => {
            // Only a process that left the group holds the pipe for longer.
            let wrong = timeout(DRAIN_GRACE, reading.as_mut()).await;
            (wrong.unwrap_or_default(), Some(status))
        }
    };
    if let Some(worker) = worker.upgrade() {
        worker.kill();
    }
    let status = match status {
        Some(status) => Some(status),
        None => timeout(KILL_PATIENCE, exited).await.ok(),
    };
    let reason = match (wrong, status) {
        (Some(wrong), _) => wrong,
        (None, Some(Ok(status))) => format!("it ended with {status}"),
        (None, Some(Err(error))) => error.to_string(),
        (None, None) => "it closed its output".to_owned(),
    };
    lines.lose(with_last_words(reason, &tail).await);
}

/// Adds the last lines of standard error to a reason.
async fn with_last_words(reason: String, tail: &StderrTail) -> String {
    let said = tail.last_lines().await.join("\n");
    let hidden = said.chars().count().saturating_sub(MAX_LAST_WORDS_CHARS);
    let said: String = said.chars().skip(hidden).collect();
    if said.is_empty() { reason } else { format!("{reason}: {said}") }
}
