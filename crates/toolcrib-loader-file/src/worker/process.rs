//! A worker process: its start, its messages, its end.

use std::collections::{BTreeMap, HashMap};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
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

/// The time that a cancelled call may take to end. A worker whose call takes longer gets no more calls, and is killed
/// when its other calls have ended.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// The number of lines that may wait for a worker to read them.
const MAX_WAITING_LINES: usize = 256;

/// The number of requests and progress reports of one call that may wait to be processed.
const MAX_WAITING_EVENTS: usize = 64;

/// The largest number of characters of an invalid line that an error quotes.
const MAX_SHOWN_CHARS: usize = 200;

/// The largest number of characters of the last output of a worker that an error quotes.
const MAX_STDERR_CHARS: usize = 2000;

/// A message of a worker about a call, before its result.
pub(super) enum CallEvent {
    Progress(ProgressMessage),
    Request(RequestMessage),
}

/// The response of a worker to a message.
pub(super) enum WorkerResponse {
    /// No response: the worker ended before it could read the message.
    NotRead,
    Result(Result<serde_json::Value, ToolError>),
    /// A list of tools, unparsed.
    Tools(Bytes),
}

/// A running worker. Dropping it kills its process group.
pub(super) struct Worker {
    /// The name that the worker gives its module.
    pub(super) name: String,
    pub(super) started: Instant,
    /// The tools of the worker, with the digests of their schemas.
    pub(super) tools: Mutex<BTreeMap<String, Fingerprint>>,
    child: Mutex<Option<Child>>,
    tail: StderrTail,
    shared: Arc<SharedState>,
    runtime: Handle,
    /// The slot that holds the worker for its callers.
    slot: Weak<Slot>,
    last_id: AtomicU64,
}

/// The state that the reading and writing tasks share.
struct SharedState {
    outgoing: mpsc::Sender<OutgoingLine>,
    state: Mutex<RequestTable>,
    /// Becomes true when the worker is lost.
    is_lost: watch::Sender<bool>,
}

/// A line for the worker, with the id of its response.
struct OutgoingLine {
    id: Option<u64>,
    bytes: Bytes,
}

#[derive(Default)]
struct RequestTable {
    open: HashMap<u64, PendingRequest>,
    /// The reason that there are no more responses.
    lost: Option<Arc<str>>,
}

/// A request that the worker has not answered yet.
struct PendingRequest {
    /// `None` if the request was cancelled.
    waiter: Option<Waiter>,
}

struct Waiter {
    answer: oneshot::Sender<WorkerResponse>,
    events: mpsc::Sender<CallEvent>,
}

/// The error of a worker that could not be started.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error(transparent)]
    NotStarted(#[from] toolcrib_io::Error),
    #[error("{0}")]
    Broken(String),
}

/// A request to a worker that awaits its response. Dropping it earlier cancels the request.
pub(super) struct PendingResponse {
    worker: Arc<Worker>,
    id: u64,
    pub(super) answer: oneshot::Receiver<WorkerResponse>,
    pub(super) events: mpsc::Receiver<CallEvent>,
    is_over: bool,
}

/// The reason that a message cannot be sent.
pub(super) enum SendError {
    Busy,
    Lost(Arc<str>),
}

/// The current worker.
#[derive(Default)]
pub(super) struct Slot(pub(super) Mutex<Option<Arc<Worker>>>);

impl Slot {
    /// Removes the worker, if it is still this one.
    pub(super) fn clear(&self, worker: &Arc<Worker>) {
        let mut current = self.0.lock();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, worker)) {
            *current = None;
        }
    }
}

impl Worker {
    /// Starts a worker and waits for its hello. `label` names it in the log.
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
        let hello = exchange_hello(&mut stdin, &mut stdout).await;
        let hello = match hello {
            Ok(hello) => hello,
            Err(reason) => {
                child.kill();
                let _ = timeout(KILL_PATIENCE, child.exited()).await;
                return Err(StartError::Broken(with_stderr(reason, &tail).await));
            }
        };
        let (outgoing, waiting) = mpsc::channel(MAX_WAITING_LINES);
        let shared =
            Arc::new(SharedState { outgoing, state: Mutex::default(), is_lost: watch::Sender::new(false) });
        let exited = child.exited();
        let worker = Arc::new(Self {
            name: hello.name,
            started: Instant::now(),
            tools: Mutex::default(),
            child: Mutex::new(Some(child)),
            tail: tail.clone(),
            shared: Arc::clone(&shared),
            runtime: Handle::current(),
            slot,
            last_id: AtomicU64::new(0),
        });
        tokio::spawn(write(stdin, waiting, Arc::clone(&shared)));
        tokio::spawn(read_until_end(Arc::downgrade(&worker), shared, stdout, exited, tail));
        Ok(worker)
    }

    /// Returns an id that is unique for this worker.
    pub(super) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns true if the worker accepts calls.
    pub(super) fn is_alive(&self) -> bool {
        !self.tail.has_ended() && self.shared.state.lock().lost.is_none()
    }

    /// Sends a request. Nothing is sent if this future is dropped.
    pub(super) async fn send(self: &Arc<Self>, id: u64, line: Bytes) -> Result<PendingResponse, SendError> {
        let room = self.shared.outgoing.reserve().await;
        let room = room.map_err(|_| SendError::Lost(self.end_reason()))?;
        let (answer, answered) = oneshot::channel();
        let (events, happened) = mpsc::channel(MAX_WAITING_EVENTS);
        {
            let mut state = self.shared.state.lock();
            if let Some(reason) = &state.lost {
                return Err(SendError::Lost(Arc::clone(reason)));
            }
            if state.open.len() >= MAX_WORKER_CALLS {
                return Err(SendError::Busy);
            }
            state.open.insert(id, PendingRequest { waiter: Some(Waiter { answer, events }) });
        }
        room.send(OutgoingLine { id: Some(id), bytes: line });
        Ok(PendingResponse {
            worker: Arc::clone(self),
            id,
            answer: answered,
            events: happened,
            is_over: false,
        })
    }

    /// Sends a line that has no response.
    pub(super) async fn send_without_response(&self, line: Bytes) {
        // A worker that has ended does not need it.
        let _ = self.shared.outgoing.send(OutgoingLine { id: None, bytes: line }).await;
    }

    /// Returns the reason that there are no more responses.
    pub(super) fn end_reason(&self) -> Arc<str> {
        self.shared.state.lock().lost.clone().unwrap_or_else(|| "it is being ended".into())
    }

    /// Kills a worker that does not read its input any more, and returns the reason for its end.
    pub(super) async fn kill_and_wait(&self) -> Arc<str> {
        self.kill();
        let mut lost = self.shared.is_lost.subscribe();
        let _ = timeout(KILL_PATIENCE, lost.wait_for(|is_lost| *is_lost)).await;
        self.end_reason()
    }

    /// Ends the worker: closes its input, waits, and kills the remaining processes.
    pub(super) async fn close(&self, grace: Duration) {
        let child = self.child.lock().take();
        if let Some(child) = child
            && let Err(error) = child.close(grace).await
        {
            tracing::warn!("a worker did not end: {error}");
        }
    }

    fn kill(&self) {
        if let Some(child) = self.child.lock().as_ref() {
            child.kill();
        }
    }

    /// Requests the cancellation of a call, and replaces a worker that does not comply.
    fn cancel(self: &Arc<Self>, id: u64) {
        match self.shared.state.lock().open.get_mut(&id) {
            Some(open) => open.waiter = None,
            None => return,
        }
        let line = Outgoing::Cancel { id }.line().ok();
        let told =
            line.is_some_and(|bytes| self.shared.outgoing.try_send(OutgoingLine { id: None, bytes }).is_ok());
        if !told {
            // It has not read its input for a long time.
            self.kill();
            return;
        }
        let (worker, shared) = (Arc::downgrade(self), Arc::clone(&self.shared));
        self.runtime.spawn(async move {
            tokio::time::sleep(CANCEL_GRACE).await;
            if let Some(worker) = worker.upgrade()
                && shared.state.lock().open.contains_key(&id)
            {
                worker.retire();
            }
        });
    }

    /// Sends no more calls to the worker. It is killed when its last call drops it.
    fn retire(self: &Arc<Self>) {
        tracing::warn!(module = self.name, "a cancelled call continues, so its worker is replaced");
        if let Some(slot) = self.slot.upgrade() {
            slot.clear(self);
        }
    }
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        if !self.is_over {
            self.worker.cancel(self.id);
        }
    }
}

impl PendingResponse {
    /// Returns the response that the receiver has received. The error is the reason that it is missing.
    pub(super) fn end(
        &mut self,
        answer: Result<WorkerResponse, oneshot::error::RecvError>,
    ) -> Result<WorkerResponse, Arc<str>> {
        self.is_over = true;
        answer.map_err(|_| self.worker.end_reason())
    }
}

impl SharedState {
    /// Reads lines until the end, or until one violates the protocol. Returns the violation.
    async fn read(&self, mut stdout: BufReader<StdoutReader>) -> Option<String> {
        let mut line = Vec::new();
        loop {
            line.clear();
            match stdout.read_until(b'\n', &mut line).await {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(error.to_string()),
            }
            if let Err(reason) = self.handle_line(&line) {
                return Some(reason);
            }
        }
    }

    fn handle_line(&self, line: &[u8]) -> Result<(), String> {
        let wrong = |error: serde_json::Error| {
            let shown = printable(String::from_utf8_lossy(line).trim(), MAX_SHOWN_CHARS);
            format!("it wrote a line that is not a message of the protocol: {error}: {shown}")
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
                self.answer(id()?, WorkerResponse::Result(result));
            }
            "tools" => self.answer(id()?, WorkerResponse::Tools(Bytes::copy_from_slice(line))),
            "progress" => {
                let progress = serde_json::from_slice::<ProgressMessage>(line).map_err(wrong)?;
                // Reports beyond the limit are dropped.
                self.event(id()?, CallEvent::Progress(progress));
            }
            "request" => {
                let request = serde_json::from_slice::<RequestMessage>(line).map_err(wrong)?;
                let (call, request_id) = (request.call, request.id);
                if !self.event(call, CallEvent::Request(request)) {
                    self.refuse(request_id)?;
                }
            }
            // A later version of the protocol may add messages.
            _ => {}
        }
        Ok(())
    }

    fn answer(&self, id: u64, answer: WorkerResponse) {
        // Responses to cancelled requests are dropped.
        if let Some(waiter) = self.state.lock().open.remove(&id).and_then(|open| open.waiter) {
            let _ = waiter.answer.send(answer);
        }
    }

    /// Passes an event to its call. Returns false if that is not possible.
    fn event(&self, id: u64, event: CallEvent) -> bool {
        let state = self.state.lock();
        let waiter = state.open.get(&id).and_then(|open| open.waiter.as_ref());
        waiter.is_some_and(|waiter| waiter.events.try_send(event).is_ok())
    }

    /// Refuses a request of a call that has ended, or has too many requests.
    fn refuse(&self, id: u64) -> Result<(), String> {
        let kind = ErrorKind::Overloaded;
        let error = ToolError::new(kind, "the call is over, or asks for too much at once");
        let bytes = Outgoing::Refusal { id, error: &error }.line().map_err(|error| error.to_string())?;
        self.outgoing
            .try_send(OutgoingLine { id: None, bytes })
            .map_err(|_| "it asks for much, and does not read the answers".to_owned())
    }

    /// Fails all pending requests.
    fn fail_pending(&self, reason: String) {
        let mut state = self.state.lock();
        state.lost = Some(reason.into());
        state.open.clear();
        drop(state);
        self.is_lost.send_replace(true);
    }
}

/// Exchanges the hello messages.
async fn exchange_hello(
    stdin: &mut StdinWriter,
    stdout: &mut BufReader<StdoutReader>,
) -> Result<Hello, String> {
    let line = Outgoing::hello().line().map_err(|error| error.message)?;
    // A worker that has ended already has written the reason, and its output ends as well.
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

/// Writes the lines until the end, or until the pipe breaks. The worker has not read a partially written line, nor
/// those after it.
async fn write(mut stdin: StdinWriter, mut waiting: mpsc::Receiver<OutgoingLine>, shared: Arc<SharedState>) {
    while let Some(line) = waiting.recv().await {
        if stdin.write_all(&line.bytes).await.is_err() {
            waiting.close();
            let rest = std::iter::from_fn(|| waiting.try_recv().ok());
            for id in std::iter::once(line).chain(rest).filter_map(|line| line.id) {
                shared.answer(id, WorkerResponse::NotRead);
            }
            return;
        }
    }
}

/// Reads the messages of a worker until it ends, then fails the pending requests.
async fn read_until_end(
    worker: Weak<Worker>,
    shared: Arc<SharedState>,
    stdout: BufReader<StdoutReader>,
    exited: impl Future<Output = Result<ExitStatus, toolcrib_io::Error>>,
    tail: StderrTail,
) {
    let reading = shared.read(stdout);
    tokio::pin!(reading, exited);
    let (wrong, status) = tokio::select! {
        wrong = &mut reading => (wrong, None),
        status = &mut exited => {
            // Only a process outside of the group keeps the pipe open for longer.
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
    shared.fail_pending(with_stderr(reason, &tail).await);
}

/// Appends the last lines of standard error to a reason.
async fn with_stderr(reason: String, tail: &StderrTail) -> String {
    let text = tail.last_lines().await.join("\n");
    let hidden = text.chars().count().saturating_sub(MAX_STDERR_CHARS);
    let text: String = text.chars().skip(hidden).collect();
    if text.is_empty() { reason } else { format!("{reason}: {text}") }
}
