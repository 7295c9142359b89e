//! Writing turns to a file.

use std::fmt;
use std::io::{self, Write};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::request::RecordedRequest;
use crate::chat::{ChatReply, ChatRequest, TextSink};
use crate::{ChatModel, Error, Outcome};

/// Passes on what another model says, and writes it as a recording that [`RecordedModel`](super::model::RecordedModel)
/// plays.
///
/// Each turn is written and flushed before it is passed on, so that a run that is killed leaves a recording of what
/// happened. The writer is called in the middle of asynchronous code: a file or a buffer, nothing that waits.
pub struct Recorder<M, W> {
    inner: M,
    file: Mutex<Output<W>>,
}

struct Output<W> {
    writer: W,
    has_turns: bool,
    /// The last request.
    asked: Option<RecordedRequest>,
}

impl<M, W: Write> Recorder<M, W> {
    /// Records what `inner` says.
    pub fn new(inner: M, writer: W) -> Self {
        Self { inner, file: Mutex::new(Output { writer, has_turns: false, asked: None }) }
    }

    /// Ends the recording, and gives the writer back.
    pub fn into_writer(self) -> W {
        self.file.into_inner().writer
    }

    fn record(&self, request: &ChatRequest<'_>, reply: &ChatReply) -> io::Result<()> {
        let (text, calls) = turn(reply);
        let whole = RecordedRequest::of(request);
        let mut output = self.file.lock();
        let mut lines = Vec::new();
        if !std::mem::replace(&mut output.has_turns, true) {
            writeln!(lines, "turns:")?;
        }
        // JSON is YAML where it stands on one line.
        writeln!(lines, "  - request: {}", json!(whole.since(output.asked.as_ref())))?;
        output.asked = Some(whole);
        writeln!(lines, "    text: {}", json!(text))?;
        // All others follow from the calls.
        if let Some(reason) = &reply.finish_reason
            && Outcome::of_finish_reason(Some(reason)).is_some()
        {
            writeln!(lines, "    finish_reason: {}", json!(reason))?;
        }
        if let Some(mean) = reply.mean_log_probability {
            writeln!(lines, "    mean_log_probability: {}", json!(mean))?;
        }
        if !reply.alternatives.is_empty() {
            let texts: Vec<_> = reply.alternatives.iter().map(|other| turn(other).0).collect();
            writeln!(lines, "    alternatives: {}", json!(texts))?;
        }
        if !calls.is_empty() {
            writeln!(lines, "    calls:")?;
        }
        for call in calls {
            writeln!(lines, "      - {call}")?;
        }
        output.writer.write_all(&lines)?;
        output.writer.flush()
    }
}

/// Returns the text and the calls of a reply.
fn turn(reply: &ChatReply) -> (&str, Vec<Value>) {
    let calls = reply.tool_calls.iter().map(|call| {
        let arguments = serde_json::from_str::<Value>(&call.arguments).ok().filter(Value::is_object);
        let arguments = arguments.unwrap_or_else(|| call.arguments.clone().into());
        let mut recorded = json!({"name": call.name, "arguments": arguments});
        if let (Some(problem), Value::Object(recorded)) = (&call.problem, &mut recorded) {
            recorded.insert("problem".into(), problem.as_str().into());
        }
        recorded
    });
    (&reply.content, calls.collect())
}

#[async_trait]
impl<M: ChatModel, W: Write + Send> ChatModel for Recorder<M, W> {
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        let reply = self.inner.complete(request, on_text).await?;
        self.record(request, &reply).map_err(|source| Error::RecordFailed { source })?;
        Ok(reply)
    }

    fn provider(&self) -> &'static str {
        self.inner.provider()
    }

    fn most_cost(&self, tokens: u64) -> u64 {
        self.inner.most_cost(tokens)
    }
}

impl<M: fmt::Debug, W> fmt::Debug for Recorder<M, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("inner", &self.inner).finish_non_exhaustive()
    }
}
