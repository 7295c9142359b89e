//! Traces of audit logs.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::journal::{calls, duration};
use super::{Event, EventKind, MAX_EVENTS, Timeline};
use crate::exit::Failure;

/// The longest line that is read, in bytes; a record with arguments is shorter.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// The fields of a record that a trace shows.
#[derive(Deserialize)]
struct Record {
    time: Timestamp,
    session: String,
    agent: Option<String>,
    #[serde(default)]
    depth: u32,
    call_id: Option<String>,
    called: Option<String>,
    tool: Option<String>,
    decision: Option<String>,
    rule: Option<String>,
    consent: Option<String>,
    #[serde(default)]
    arguments_shape: Value,
    #[serde(default)]
    arguments: Value,
    repairs: Option<u64>,
    outcome: String,
    waited_ms: Option<f64>,
    queued_ms: Option<f64>,
    ran_ms: Option<f64>,
    total_ms: Option<f64>,
    result_bytes: Option<u64>,
}

/// Reads the newest records of a log, or only those of a session.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or a line is not a record.
pub(crate) fn read_audit(path: &Path, session: Option<&str>) -> Result<Timeline, Failure> {
    let records = read(path, session)?;
    let named = session.map(|session| format!(", session {session}")).unwrap_or_default();
    Ok(timeline(&format!("{}{named}", path.display()), records))
}

fn read(path: &Path, session: Option<&str>) -> Result<Vec<Record>, Failure> {
    let failed = |what: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {what}", path.display()));
    let mut reader = BufReader::new(File::open(path).map_err(|error| failed(&error))?);
    let mut records = Vec::new();
    for number in 1.. {
        let mut line = String::new();
        let length =
            reader.by_ref().take(MAX_LINE_BYTES).read_line(&mut line).map_err(|error| failed(&error))?;
        // The last line of a log that is being written may be incomplete.
        if length == 0
            || !line.ends_with('\n') && length < usize::try_from(MAX_LINE_BYTES).unwrap_or(usize::MAX)
        {
            break;
        }
        let record: Record = serde_json::from_str(&line)
            .map_err(|error| failed(&format!("line {number} is not an audit record: {error}")))?;
        if session.is_none_or(|session| session == record.session) {
            records.push(record);
        }
    }
    Ok(records)
}

fn timeline(title: &str, mut records: Vec<Record>) -> Timeline {
    // A call that required a record has one of its beginning, which that of its end replaces.
    let identity = |record: &Record| (record.time, record.session.clone(), record.call_id.clone());
    let ended: HashSet<_> = records.iter().filter(|record| record.outcome != "begun").map(identity).collect();
    records.retain(|record| record.outcome != "begun" || !ended.contains(&identity(record)));
    records.sort_by_key(|record| record.time);
    let left_out = records.len().saturating_sub(MAX_EVENTS);
    records.drain(..left_out);
    let Some(origin) = records.first().map(|record| record.time) else {
        return Timeline { title: title.to_owned(), ..Timeline::default() };
    };
    let events: Vec<Event> = records.iter().map(|record| event(record, origin)).collect();
    let end = events.iter().filter_map(|event| Some(event.start_ms? + event.took_ms.unwrap_or(0))).max();
    let failed = events.iter().filter(|event| event.is_failed).count();
    let sessions: HashSet<&str> = records.iter().map(|record| record.session.as_str()).collect();
    let facts = vec![
        ("time", duration(end.unwrap_or(0))),
        ("first call", origin.to_string()),
        ("calls", calls(events.len(), failed)),
        ("sessions", sessions.len().to_string()),
    ];
    Timeline { title: title.to_owned(), facts, events, left_out }
}

fn event(record: &Record, origin: Timestamp) -> Event {
    let name = record.tool.as_deref().or(record.called.as_deref()).unwrap_or("unknown tool");
    let mut event = Event::new(EventKind::Call, name.replace("::", "."));
    event.start_ms = u64::try_from(record.time.as_millisecond() - origin.as_millisecond()).ok();
    event.took_ms = record.total_ms.map(whole);
    event.is_failed = record.outcome != "ok";
    if event.is_failed {
        event.note.clone_from(&record.outcome);
    }
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let time = |ms: Option<f64>| ms.filter(|ms| *ms > 0.0).map(|ms| duration(whole(ms))).unwrap_or_default();
    let json = |value: &Value| if value.is_null() { String::new() } else { value.to_string() };
    event.detail("decision", &text(&record.decision));
    event.detail("rule", &text(&record.rule));
    event.detail("consent", &text(&record.consent));
    event.detail("agent", &text(&record.agent));
    event.detail("session", &record.session);
    event.detail("call", &text(&record.call_id));
    if record.depth > 0 {
        event.detail("depth", &record.depth.to_string());
    }
    event.detail("arguments", &json(&record.arguments));
    event.detail("types of the arguments", &json(&record.arguments_shape));
    if let Some(repairs) = record.repairs.filter(|repairs| *repairs > 0) {
        event.detail("repairs", &repairs.to_string());
    }
    event.detail("waited for approval", &time(record.waited_ms));
    event.detail("queued", &time(record.queued_ms));
    event.detail("ran", &time(record.ran_ms));
    event.detail(
        "bytes of the result",
        &record.result_bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
    );
    event
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates, also at zero")]
fn whole(ms: f64) -> u64 {
    ms.round() as u64
}
