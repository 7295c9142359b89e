//! Traces of the journals of runs.

use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_agent::chat::{RequestedCall, Usage};
use toolcrib_agent::journal::Entry;
use toolcrib_agent::{Journal, Message};
use toolcrib_meta::names::EXECUTE_TOOL;

use super::{Event, EventKind, MAX_EVENTS, Timeline};
use crate::ui::printable::excerpt;

/// The most bytes of entries, as JSON, that a process collects for a trace.
const MAX_COLLECTED_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes of a notice next to its label.
const MAX_NOTICE_BYTES: usize = 120;

/// An entry of a journal with its time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TimedEntry<E = Entry> {
    /// Milliseconds since 1970; files of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<u64>,
    #[serde(flatten)]
    pub(crate) entry: E,
}

/// Returns the time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// A journal that collects the entries of this process for a trace, and passes them on.
pub(crate) struct TraceJournal {
    inner: Option<Arc<dyn Journal>>,
    collected: Mutex<Collected>,
}

#[derive(Default)]
struct Collected {
    entries: Vec<TimedEntry>,
    bytes: usize,
}

impl TraceJournal {
    pub(crate) fn new(inner: Option<Arc<dyn Journal>>) -> Self {
        Self { inner, collected: Mutex::default() }
    }

    /// Returns the timeline of the entries so far.
    pub(crate) fn timeline(&self, title: &str) -> Timeline {
        timeline(title, &self.collected.lock().entries)
    }
}

#[async_trait]
impl Journal for TraceJournal {
    async fn write(&self, entries: &[Entry], lasts: bool) -> io::Result<()> {
        let at = Some(now_ms());
        {
            let mut collected = self.collected.lock();
            for entry in entries {
                collected.bytes += serde_json::to_string(entry)?.len();
                if collected.bytes > MAX_COLLECTED_BYTES {
                    break;
                }
                collected.entries.push(TimedEntry { at, entry: entry.clone() });
            }
        }
        match &self.inner {
            Some(inner) => inner.write(entries, lasts).await,
            None => Ok(()),
        }
    }
}

/// Returns the timeline of a journal.
pub(crate) fn timeline(title: &str, entries: &[TimedEntry]) -> Timeline {
    let mut builder = Builder { origin: entries.iter().find_map(|entry| entry.at), ..Builder::default() };
    for entry in entries {
        builder.add(entry);
    }
    builder.finish(title)
}

#[derive(Default)]
struct Builder {
    /// The time of the first entry.
    origin: Option<u64>,
    /// The end of what came before the next turn.
    before_turn: Option<u64>,
    last: Option<u64>,
    turns: usize,
    calls: usize,
    failed: usize,
    usage: Usage,
    spent_below: u64,
    /// The calls of the last turn, and the indexes of their events.
    requested: Vec<RequestedCall>,
    running: Vec<(String, usize)>,
    events: Vec<Event>,
    left_out: usize,
}

impl Builder {
    fn add(&mut self, timed: &TimedEntry) {
        let at = timed.at.zip(self.origin).map(|(at, origin)| at.saturating_sub(origin));
        self.last = at.or(self.last);
        match &timed.entry {
            Entry::Began { prompt } => {
                let mut event = Event::new(EventKind::Prompt, "prompt");
                event.start_ms = at;
                event.detail("prompt", prompt);
                self.push(event);
                self.before_turn = at;
            }
            Entry::Said { .. } | Entry::Noted { .. } => self.before_turn = at,
            Entry::Replied { message, calls, usage, model } => {
                self.replied(at, message, calls, *usage);
                self.answered_by(model.as_deref());
            }
            Entry::SaidNothing { usage } => self.replied(at, &Message::assistant(""), &[], *usage),
            Entry::Noticed { text } => {
                let mut event = Event::new(EventKind::Note, "notice");
                event.start_ms = at;
                event.note = excerpt(text, MAX_NOTICE_BYTES);
                event.detail("notice", text);
                self.push(event);
            }
            Entry::Begun { call_id } => self.begun(at, call_id),
            Entry::Finished { call_id, ok, answer, pictures, ms, .. } => {
                self.finished((at, *ms), call_id, *ok, answer, pictures.len());
            }
            Entry::Compacted { messages, usage, .. } => {
                self.spend(*usage);
                let mut event = Event::new(EventKind::Note, "compaction");
                event.start_ms = at;
                event.note = format!("{} messages remain", messages.len());
                self.push(event);
                self.before_turn = at;
            }
            Entry::SpentBelow { spent } => self.spent_below = self.spent_below.saturating_add(spent.tokens),
            Entry::Ended => self.requested.clear(),
            _ => {}
        }
    }

    /// Adds an event, and returns its index.
    fn push(&mut self, event: Event) -> Option<usize> {
        if self.events.len() >= MAX_EVENTS {
            self.left_out += 1;
            return None;
        }
        self.events.push(event);
        Some(self.events.len() - 1)
    }

    fn spend(&mut self, usage: Usage) {
        self.usage += usage;
    }

    fn replied(&mut self, at: Option<u64>, message: &Message, calls: &[RequestedCall], usage: Usage) {
        self.turns += 1;
        self.spend(usage);
        let mut event = Event::new(EventKind::Turn, format!("turn {}", self.turns));
        event.start_ms = self.before_turn;
        event.took_ms = at.zip(self.before_turn).map(|(at, start)| at.saturating_sub(start));
        if usage != Usage::default() {
            event.note = tokens(usage);
        }
        if let Message::Assistant { content, reasoning, .. } = message {
            event.detail("reasoning", reasoning);
            event.detail("text", content);
        }
        self.requested = calls.to_vec();
        self.push(event);
        self.before_turn = at;
    }

    /// Notes the model that answered the last turn, where it is not the one that was asked.
    fn answered_by(&mut self, model: Option<&str>) {
        let turn = self.events.iter_mut().rfind(|event| event.kind == EventKind::Turn);
        if let (Some(model), Some(turn)) = (model, turn) {
            let separator = if turn.note.is_empty() { "" } else { "; " };
            turn.note = format!("answered by {model}{separator}{}", turn.note);
        }
    }

    fn begun(&mut self, at: Option<u64>, id: &str) {
        self.calls += 1;
        let requested = self.requested.iter().find(|call| call.id == id);
        let mut event = Event::new(EventKind::Call, requested.map_or(id, |call| call.name.as_str()));
        event.start_ms = at;
        if let Some(call) = requested {
            if let Some(tool) = executed_tool(call) {
                event.note = std::mem::replace(&mut event.label, tool);
            }
            event.detail("arguments", &call.arguments);
        }
        if let Some(index) = self.push(event) {
            self.running.push((id.to_owned(), index));
        }
    }

    /// Adds the result of a call. Its duration is its own where the entry has it: calls that run side by side are written
    /// together.
    fn finished(
        &mut self,
        (at, took): (Option<u64>, Option<u64>),
        id: &str,
        ok: bool,
        answer: &str,
        pictures: usize,
    ) {
        self.failed += usize::from(!ok);
        if !self.running.iter().any(|(running, _)| running == id) {
            // A call that could not be read, or that was refused, has not begun.
            self.begun(at, id);
        }
        let Some(place) = self.running.iter().position(|(running, _)| running == id) else { return };
        let (_, index) = self.running.swap_remove(place);
        if let Some(event) = self.events.get_mut(index) {
            let until_now = at.zip(event.start_ms).map(|(at, start)| at.saturating_sub(start));
            event.took_ms = took.filter(|_| event.start_ms.is_some()).or(until_now);
            event.is_failed = !ok;
            event.detail("result", answer);
            if pictures > 0 {
                event.detail("pictures", &pictures.to_string());
            }
        }
    }

    fn finish(mut self, title: &str) -> Timeline {
        for (_, index) in &self.running {
            if let Some(event) = self.events.get_mut(*index) {
                event.note = "no result".into();
                event.is_failed = true;
            }
        }
        // The entry of a turn is written at its end.
        self.events.sort_by_key(|event| event.start_ms);
        let mut facts = vec![("turns", self.turns.to_string()), ("calls", calls(self.calls, self.failed))];
        if let Some(last) = self.last {
            facts.insert(0, ("time", duration(last)));
        }
        if self.usage != Usage::default() {
            facts.push(("tokens", tokens(self.usage)));
        }
        if self.spent_below > 0 {
            facts.push(("tokens of other agents", self.spent_below.to_string()));
        }
        if self.usage.cost > 0 {
            #[expect(clippy::cast_precision_loss, reason = "exact up to nine thousand million units")]
            facts.push(("cost", format!("{:.4}", self.usage.cost as f64 / 1e6)));
        }
        Timeline { title: title.to_owned(), facts, events: self.events, left_out: self.left_out }
    }
}

/// Returns the tool that a call of `execute_tool` calls.
fn executed_tool(call: &RequestedCall) -> Option<String> {
    let arguments: Value =
        serde_json::from_str(&call.arguments).ok().filter(|_| call.name == EXECUTE_TOOL)?;
    Some(arguments.get("name")?.as_str()?.to_owned())
}

fn tokens(usage: Usage) -> String {
    let cached =
        if usage.cached_tokens > 0 { format!(" ({} cached)", usage.cached_tokens) } else { String::new() };
    format!("{} read{cached}, {} written", usage.prompt_tokens, usage.completion_tokens)
}

/// Returns a number of calls, and that of the failed ones.
pub(super) fn calls(calls: usize, failed: usize) -> String {
    if failed == 0 { calls.to_string() } else { format!("{calls}, {failed} failed") }
}

/// Returns milliseconds for a reader.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
    }
}
