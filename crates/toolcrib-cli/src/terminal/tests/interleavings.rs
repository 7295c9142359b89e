//! Property: no call runs without a yes that was given after its own question was the last thing shown on that surface.
//!
//! Each case is a random interleaving of calls, model text, log lines, typing, timers, and answers at three surfaces: the
//! terminal, the operator's queue and a client. Gate, approvals, console and keyboard are the real ones; the terminal device
//! and the client are fakes that record what was shown and answered. An oracle that knows the record alone judges each run.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, yield_now};
use tokio_util::sync::CancellationToken;
use toolcrib_exec::Executor;
use toolcrib_exec::limits::MIN_APPROVAL_WAIT;
use toolcrib_model::{Risk, Tool, ToolCall, ToolResult};
use toolcrib_policy::{Authorized, Call, Capabilities, Policy};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext, ToolEngine};
use toolcrib_registry::ToolRegistry;
use toolcrib_server::approval::{OperatorAnswer, PendingApprovals};

use crate::approver::at_console;
use crate::terminal::keyboard::{Keyboard, Shared};
use crate::terminal::screen::Display;
use crate::terminal::tty::Input;
use crate::terminal::{Author, Console, Screen, ScreenRef, Stream};

/// The number of interleavings, in four tests that run side by side.
const CASES: u64 = 100_000;

/// The number of steps of each.
const STEPS: usize = 30;

/// The tool of all calls. Its arguments tell them apart.
const TOOL: &str = "files::erase";

/// A fault of the parts under test, planted to see the property fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Model text is written to the terminal while a question is open.
    OutputIsNotHeldBack,
    /// What was typed before a question stays.
    TypedAheadIsKept,
    /// A late answer of a client is taken for the question that is open now.
    LateAnswerIsReused,
}

/// A terminal without a person: what is typed and what is shown is a record.
pub(super) struct FakeTerminal {
    pub(super) console: Arc<Console>,
    screen: Arc<Screen>,
    device: Device,
    keyboard: Arc<Shared>,
}

#[derive(Clone)]
struct Device {
    record: Arc<Mutex<Record>>,
    fault: Fault,
}

#[derive(Default)]
struct Record {
    shown: String,
    /// The call whose question was shown last, if nothing else was shown since.
    asked: Option<u64>,
    /// What was typed and not read: each character with the call whose question was the last thing shown then.
    typed: Vec<(char, Option<u64>)>,
    /// The calls that were approved in accordance with the property.
    approved: HashSet<u64>,
}

impl FakeTerminal {
    pub(super) fn new() -> Self {
        Self::with_fault(Fault::None)
    }

    fn with_fault(fault: Fault) -> Self {
        let device = Device { record: Arc::default(), fault };
        let screen = Arc::new(Screen::new(Box::new(device.clone())));
        let keyboard = Keyboard::without_thread(Ok(Box::new(device.clone())));
        let shared = Arc::clone(keyboard.shared());
        let console = Console::new(ScreenRef::Own(Arc::clone(&screen)), keyboard);
        Self { console: Arc::new(console), screen, device, keyboard: shared }
    }

    pub(super) fn write(&self, stream: Stream, author: Author, text: &str) {
        if self.device.fault == Fault::OutputIsNotHeldBack {
            self.device.write(stream, text);
        } else {
            self.screen.write(stream, author, text);
        }
    }

    pub(super) fn show_status(&self, status: Option<&str>) {
        self.screen.show_status(status.map(str::to_owned));
    }

    pub(super) fn types(&self, text: &str) {
        let mut record = self.device.record.lock();
        let asked = record.asked;
        record.typed.extend(text.chars().map(|c| (c, asked)));
    }

    /// Reads a line, where one is typed and wanted.
    pub(super) fn pump(&self) {
        self.keyboard.read_some(&self.device).unwrap();
    }

    /// Returns all that was shown, without the sequences that switch modes of the terminal.
    pub(super) fn shown(&self) -> String {
        let shown = self.device.record.lock().shown.clone();
        shown.replace("\u{1b}[?2004h", "").replace("\u{1b}[?2004l", "")
    }
}

impl Display for Device {
    fn write(&self, _stream: Stream, text: &str) {
        let mut record = self.record.lock();
        record.shown.push_str(text);
        if let Some((_, number)) = text.split_once("number: ") {
            let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
            record.asked = digits.parse().ok();
        } else if !text.starts_with("run it?") {
            record.asked = None;
        }
    }

    fn is_terminal(&self, _stream: Stream) -> bool {
        true
    }
}

impl Input for Device {
    fn wait(&self) -> io::Result<()> {
        Ok(())
    }

    fn is_ready(&self) -> io::Result<bool> {
        Ok(self.record.lock().typed.iter().any(|(c, _)| *c == '\n'))
    }

    /// Reads a line, as a terminal in its canonical mode gives it.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut record = self.record.lock();
        let end = record.typed.iter().position(|(c, _)| *c == '\n').map_or(0, |at| at + 1);
        let typed: Vec<_> = record.typed.drain(..end).collect();
        let line: String = typed.iter().map(|(c, _)| *c).collect();
        let first = typed.first().and_then(|(_, asked)| *asked);
        if let Some(call) = first.filter(|_| typed.iter().all(|(_, asked)| *asked == first))
            && ["y", "yes", "erase"].contains(&line.trim())
        {
            record.approved.insert(call);
        }
        buffer[..line.len()].copy_from_slice(line.as_bytes());
        Ok(line.len())
    }

    fn discard(&self) -> io::Result<()> {
        if self.fault != Fault::TypedAheadIsKept {
            self.record.lock().typed.clear();
        }
        Ok(())
    }
}

/// Asks the clients of sessions that have one, and the person at the terminal about all other calls.
struct Clients {
    open: Arc<Mutex<HashMap<u64, oneshot::Sender<bool>>>>,
    terminal: Arc<dyn Approver>,
}

#[async_trait]
impl Approver for Clients {
    async fn ask(&self, batch: &mut [ApprovalRequest], context: &CallContext) {
        let [asked] = batch else { panic!("a batch of {}", batch.len()) };
        if !asked.question().session.starts_with("client") {
            return self.terminal.ask(batch, context).await;
        }
        let (sender, answer) = oneshot::channel();
        self.open.lock().insert(number(asked), sender);
        asked.answer = Some(match answer.await {
            Ok(true) => Answer::Approved(asked.question().approve()),
            _ => Answer::Denied(None),
        });
    }
}

fn number(asked: &ApprovalRequest) -> u64 {
    asked.question().arguments["number"].as_u64().unwrap()
}

/// Judges each call that runs.
struct Oracle {
    record: Arc<Mutex<Record>>,
    violations: Mutex<Vec<u64>>,
    runs: Mutex<u64>,
}

#[async_trait]
impl ToolEngine for Oracle {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        let number = call.arguments["number"].as_u64().unwrap();
        *self.runs.lock() += 1;
        if !self.record.lock().approved.remove(&number) {
            self.violations.lock().push(number);
        }
        call.ok(json!({}))
    }
}

/// A small generator (`SplitMix64`), so that each case has a number that repeats it.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }
}

/// What the cases of a run share.
struct Fixture {
    registry: Arc<ToolRegistry>,
    policy: Arc<Policy>,
}

impl Fixture {
    fn new() -> Self {
        let tool = Tool::new(TOOL.parse().unwrap())
            .with_parameters(json!({"type": "object", "properties": {"number": {"type": "integer"}}}))
            .with_risk(Risk::High);
        let registry = ToolRegistry::from_tools("test", [tool]).unwrap();
        let policy = Policy::new(&Capabilities::default(), []).unwrap();
        Self { registry: Arc::new(registry), policy: Arc::new(policy) }
    }

    #[expect(clippy::too_many_lines, reason = "one step of each kind")]
    /// Runs one interleaving, and returns how many calls ran and those that should not have.
    async fn case(&self, seed: u64, fault: Fault) -> (u64, Vec<u64>) {
        let mut random = Random(seed);
        let terminal = FakeTerminal::with_fault(fault);
        let record = Arc::clone(&terminal.device.record);
        let oracle = Arc::new(Oracle {
            record: Arc::clone(&record),
            violations: Mutex::default(),
            runs: Mutex::default(),
        });
        let open = Arc::new(Mutex::new(HashMap::new()));
        let clients =
            Clients { open: Arc::clone(&open), terminal: at_console(Arc::clone(&terminal.console)) };
        let operator = PendingApprovals::default();
        let executor = Executor::new(
            Arc::clone(&self.registry),
            Arc::clone(&self.policy),
            operator.approver(Arc::new(clients)),
        );
        let executor = executor.with_engine("test", Arc::clone(&oracle) as Arc<dyn ToolEngine>);
        let executor = Arc::new(executor.with_approval_wait(MIN_APPROVAL_WAIT));

        let (mut calls, mut next) = (Vec::<(u64, CancellationToken, JoinHandle<ToolResult>)>::new(), 0);
        let (mut chat, mut presence): (Option<JoinHandle<Option<String>>>, _) = (None, None);
        let mut seen: Vec<(u64, u64)> = Vec::new();
        for _ in 0..STEPS {
            match random.below(13) {
                0 | 1 => {
                    let session = if random.below(4) == 0 { "client" } else { "terminal" };
                    let cancel = CancellationToken::new();
                    let context = CallContext::new(session).with_cancel(cancel.clone());
                    let arguments = json!({"number": next}).as_object().unwrap().clone();
                    let (executor, call) = (Arc::clone(&executor), ToolCall::new(TOOL, arguments));
                    let running = tokio::spawn(async move { executor.call(call, &context).await });
                    calls.push((next, cancel, running));
                    next += 1;
                }
                2 => terminal.write(Stream::Out, Author::Model, "Shall I make coffee? "),
                3 => terminal.write(Stream::Err, Author::Program, "a note\n"),
                4..=6 => {
                    let typed = ["y", "yes", "\n", "y\n", "yes\n", "n\n", "sure\n", "erase\n", "hello\n"];
                    terminal.types(typed[random.below(typed.len())]);
                }
                7 | 8 => terminal.pump(),
                9 if chat.as_ref().is_none_or(JoinHandle::is_finished) => {
                    let console = Arc::clone(&terminal.console);
                    chat = Some(tokio::spawn(async move { console.line("> ").await }));
                }
                9 => presence = presence.is_none().then(|| operator.attach()),
                10 => {
                    let waiting = operator.questions();
                    seen.extend(
                        waiting.iter().map(|call| {
                            (call.id, call.arguments.as_ref().unwrap()["number"].as_u64().unwrap())
                        }),
                    );
                    // An id may be one of a question that is over.
                    if let Some((id, call)) = random.pick(&seen) {
                        let is_open = waiting.iter().any(|call| call.id == id);
                        let is_yes = random.below(2) == 0;
                        if is_yes && is_open {
                            record.lock().approved.insert(call);
                        }
                        let answer = if is_yes { OperatorAnswer::Once } else { OperatorAnswer::deny("") };
                        operator.answer(id, answer).await.unwrap();
                    }
                }
                11 if random.below(2) == 0 => {
                    if let Some(number) =
                        (next > 0).then(|| random.below(usize::try_from(next).unwrap()) as u64)
                    {
                        let mut open = open.lock();
                        let is_yes = random.below(2) == 0;
                        open.retain(|_, sender: &mut oneshot::Sender<bool>| !sender.is_closed());
                        if let Some(sender) = open.remove(&number) {
                            if is_yes {
                                record.lock().approved.insert(number);
                            }
                            sender.send(is_yes).unwrap();
                        } else if fault == Fault::LateAnswerIsReused
                            && let Some(other) = open.keys().next().copied()
                        {
                            open.remove(&other).unwrap().send(is_yes).unwrap();
                        }
                    }
                }
                11 => {
                    if let Some((_, cancel, _)) = calls.get(random.below(calls.len().max(1))) {
                        cancel.cancel();
                    }
                }
                _ => tokio::time::advance(Duration::from_secs(random.below(7) as u64)).await,
            }
            for _ in 0..random.below(6) {
                yield_now().await;
            }
        }
        for (_, cancel, running) in calls {
            cancel.cancel();
            running.await.unwrap();
        }
        if let Some(chat) = chat {
            chat.abort();
        }
        (*oracle.runs.lock(), std::mem::take(&mut oracle.violations.lock()))
    }
}

/// Runs interleavings until one violates the property; returns its seed and how many calls ran in all.
fn search(seeds: impl IntoIterator<Item = u64>, fault: Fault) -> (Option<u64>, u64) {
    let fixture = Fixture::new();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut runs = 0;
    for seed in seeds {
        let (ran, violations) = runtime.block_on(fixture.case(seed, fault));
        runs += ran;
        if !violations.is_empty() {
            return (Some(seed), runs);
        }
    }
    (None, runs)
}

/// Runs a quarter of the interleavings.
fn no_call_runs_without_a_yes(quarter: u64) {
    let share = CASES / 4;
    let (violation, runs) = search(quarter * share..(quarter + 1) * share, Fault::None);
    assert_eq!(violation, None, "the interleaving with this seed runs a call that nobody approved");
    // The property would hold for a program that runs nothing.
    assert!(runs > share / 10, "only {runs} calls ran in {share} interleavings");
}

#[test]
fn no_call_runs_without_a_yes_to_its_own_question_shown_last_1() {
    no_call_runs_without_a_yes(0);
}

#[test]
fn no_call_runs_without_a_yes_to_its_own_question_shown_last_2() {
    no_call_runs_without_a_yes(1);
}

#[test]
fn no_call_runs_without_a_yes_to_its_own_question_shown_last_3() {
    no_call_runs_without_a_yes(2);
}

#[test]
fn no_call_runs_without_a_yes_to_its_own_question_shown_last_4() {
    no_call_runs_without_a_yes(3);
}

#[test]
fn a_planted_fault_breaks_the_property() {
    for fault in [Fault::OutputIsNotHeldBack, Fault::TypedAheadIsKept, Fault::LateAnswerIsReused] {
        let (violation, _) = search(0..CASES, fault);
        assert!(violation.is_some(), "{fault:?} was not noticed in {CASES} interleavings");
    }
}
