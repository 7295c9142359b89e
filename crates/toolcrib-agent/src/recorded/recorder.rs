//! Writing turns to a file.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_prompt::{CallStyle, ToolNames, parse_text_calls};

use crate::{ChatModel, ChatReply, ChatRequest, Error, TextSink};

/// Passes on what another model says, and writes it as a recording that [`RecordedModel`](crate::RecordedModel) plays.
///
/// Each turn is written and flushed before it is passed on, so that a run that is killed leaves a recording of what
/// happened. The writer is called in the middle of asynchronous code: a file or a buffer, nothing that waits.
pub struct Recorder<M, W> {
    inner: M,
    style: CallStyle,
    file: Mutex<Output<W>>,
}

struct Output<W> {
    writer: W,
    has_turns: bool,
}

impl<M, W: Write> Recorder<M, W> {
    /// Records what `inner`, which calls tools in this style, says.
    pub fn new(inner: M, style: CallStyle, writer: W) -> Self {
        Self { inner, style, file: Mutex::new(Output { writer, has_turns: false }) }
    }

    /// Ends the recording, and gives the writer back.
    pub fn into_writer(self) -> W {
        self.file.into_inner().unwrap_or_else(PoisonError::into_inner).writer
    }

    fn record(&self, reply: &ChatReply) -> io::Result<()> {
        let (text, calls) = self.turn(reply);
        let mut output = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Vec::new();
        if !std::mem::replace(&mut output.has_turns, true) {
            writeln!(lines, "turns:")?;
        }
        // JSON is YAML where it stands on one line.
        writeln!(lines, "  - text: {}", json!(text))?;
        if !calls.is_empty() {
            writeln!(lines, "    calls:")?;
        }
        for (name, arguments) in calls {
            writeln!(lines, "      - {}", json!({"name": name, "arguments": arguments}))?;
        }
        output.writer.write_all(&lines)?;
        output.writer.flush()
    }

    /// The text and the calls of a reply, whatever the style.
    fn turn(&self, reply: &ChatReply) -> (String, Vec<(String, Value)>) {
        if self.style == CallStyle::Text {
            // What only the names of the tools tell to be a call stays text, and is one again when it is played.
            let parsed = parse_text_calls(&reply.content, &ToolNames::default());
            let calls: Option<Vec<_>> = parsed
                .calls
                .into_iter()
                .map(|call| Some((call.name, Value::Object(call.arguments.ok()?))))
                .collect();
            // A call that could not be read is kept as it was written, and so are its neighbours.
            return calls.map_or_else(|| (reply.content.clone(), Vec::new()), |calls| (parsed.prose, calls));
        }
        let calls = reply.tool_calls.iter().map(|call| {
            let arguments = serde_json::from_str::<Value>(&call.arguments).ok().filter(Value::is_object);
            (call.name.clone(), arguments.unwrap_or_else(|| call.arguments.clone().into()))
        });
        (reply.content.clone(), calls.collect())
    }
}

#[async_trait]
impl<M: ChatModel, W: Write + Send> ChatModel for Recorder<M, W> {
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        let reply = self.inner.complete(request, on_text).await?;
        self.record(&reply).map_err(|source| Error::RecordFailed { source })?;
        Ok(reply)
    }

    fn provider(&self) -> &'static str {
        self.inner.provider()
    }
}

impl<M: fmt::Debug, W> fmt::Debug for Recorder<M, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("inner", &self.inner)
            .field("style", &self.style)
            .finish_non_exhaustive()
    }
}
