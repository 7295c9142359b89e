//! A client of `toolcrib serve --stdio` that speaks JSON-RPC by hand, and the user behind it.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// The longest wait for one answer.
const ANSWER_LIMIT: Duration = Duration::from_mins(2);

/// The longest wait for the server to end after its input was closed.
const END_LIMIT: Duration = Duration::from_secs(20);

/// The interval between two looks at a server that is about to end.
const POLL: Duration = Duration::from_millis(20);

/// The revision of the protocol that is spoken: the last one in which questions are requests of their own.
const REVISION: &str = "2025-06-18";

/// One reply of the user to a question of the server.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Allows the call that is asked about.
    Allow,
    /// Denies it with these words.
    Deny(&'static str),
    /// Answers a question: picks the choice of this name, or fills the text into the first field.
    Say(&'static str),
}

/// A connection to a server, which ends with it.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
    replies: VecDeque<Reply>,
    /// Questions without a reply; they were declined.
    unexpected: Vec<String>,
}

impl Client {
    /// Starts `toolcrib serve` for an app in this folder and opens a session.
    pub(crate) fn start(binary: &Path, folder: &Path) -> Result<Self> {
        let mut command = Command::new(binary);
        command.arg("serve").arg(folder.join("app.yaml")).arg("--stdio").current_dir(folder);
        for (variable, name) in [("HOME", "home"), ("XDG_CACHE_HOME", "cache"), ("XDG_STATE_HOME", "state")] {
            command.env(variable, folder.join(name));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(folder.join("serve.log"))?);
        let mut child = command.spawn().with_context(|| format!("could not start {}", binary.display()))?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("the server has no output")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut client =
            Self { child, input, lines, last_id: 0, replies: VecDeque::new(), unexpected: Vec::new() };
        let hello = json!({
            "protocolVersion": REVISION,
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "toolcrib-evaluation", "version": env!("CARGO_PKG_VERSION")},
        });
        client.request("initialize", &hello)?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    /// Queues what the user says to the next questions.
    pub(crate) fn expect(&mut self, replies: impl IntoIterator<Item = Reply>) {
        self.replies.extend(replies);
    }

    /// Forgets replies that were not asked for, and returns the questions that had none.
    pub(crate) fn settle(&mut self) -> Vec<String> {
        self.replies.clear();
        std::mem::take(&mut self.unexpected)
    }

    /// Makes a request and waits for its answer, replying to questions meanwhile.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let deadline = Instant::now() + ANSWER_LIMIT;
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(rest).with_context(|| format!("no answer to {method}"))?;
            let message: Value =
                serde_json::from_str(&line).context("the server sent a line that is not JSON")?;
            match message.get("method").and_then(Value::as_str) {
                Some("elicitation/create") => self.reply(&message)?,
                Some(_) => {
                    if let Some(asked) = message.get("id") {
                        let error = json!({"code": -32601, "message": "not offered"});
                        self.send(&json!({"jsonrpc": "2.0", "id": asked, "error": error}))?;
                    }
                }
                None if message.get("id") == Some(&json!(id)) => {
                    if let Some(error) = message.get("error") {
                        bail!("{method} was refused: {error}");
                    }
                    return message.get("result").cloned().context("an answer without a result");
                }
                None => {}
            }
        }
    }

    fn reply(&mut self, question: &Value) -> Result<()> {
        let properties = question.pointer("/params/requestedSchema/properties");
        let result = match self.replies.pop_front() {
            Some(Reply::Allow) => json!({"action": "accept", "content": {"decision": "once"}}),
            Some(Reply::Deny(words)) => {
                json!({"action": "accept", "content": {"decision": "deny", "feedback": words}})
            }
            Some(Reply::Say(words)) => match field(properties, words) {
                Some(name) => json!({"action": "accept", "content": {name: words}}),
                None => json!({"action": "decline"}),
            },
            None => {
                let message = question.pointer("/params/message").and_then(Value::as_str);
                self.unexpected.push(message.unwrap_or_default().to_owned());
                json!({"action": "decline"})
            }
        };
        let id = question.get("id").cloned().unwrap_or_default();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("the session is over")?;
        writeln!(input, "{message}").and_then(|()| input.flush()).context("the server has ended")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let deadline = Instant::now() + END_LIMIT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(POLL);
        }
    }
}

/// Returns the field that takes these words: the one that has them among its choices, else the first text.
fn field(properties: Option<&Value>, words: &str) -> Option<String> {
    let properties = properties?.as_object()?;
    let offers = |property: &Value| {
        let named = property.get("enum").and_then(Value::as_array).into_iter().flatten();
        let titled = property.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        named.chain(titled.filter_map(|choice| choice.get("const"))).any(|choice| choice == words)
    };
    let is_open_text = |property: &Value| {
        property.get("type") == Some(&json!("string"))
            && property.get("enum").is_none()
            && property.get("oneOf").is_none()
    };
    let by = |fits: &dyn Fn(&Value) -> bool| {
        properties.iter().find(|(_, property)| fits(property)).map(|(name, _)| name.clone())
    };
    by(&offers).or_else(|| by(&is_open_text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_to_the_field_that_offers_them_and_else_to_the_first_text() {
        let properties = json!({
            "note": {"type": "string"},
            "colour": {"type": "string", "oneOf": [{"const": "red", "title": "Red"}, {"const": "blue"}]},
        });
        assert_eq!(field(Some(&properties), "blue").as_deref(), Some("colour"));
        assert_eq!(field(Some(&properties), "14:00").as_deref(), Some("note"));
        assert_eq!(field(Some(&json!({"count": {"type": "integer"}})), "14:00"), None);
    }
}
