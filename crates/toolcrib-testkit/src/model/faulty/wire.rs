//! The encoding of answers on a connection.

use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::script::{Framing, ScriptedAnswer, Step};
use crate::model::format::{Encode, ModelFormat, delta};

/// The duration of a `pause`.
const PAUSE: Duration = Duration::from_millis(20);

/// The approximate bytes of one write of repeated content.
const PIECE_BYTES: usize = 16 * 1024;

/// An action of sending a body.
#[derive(Clone, Debug)]
enum Action {
    Send(Vec<u8>),
    Repeat(u64, Vec<Action>),
    Pause,
    Hang,
    Cut,
}

/// The reason why an answer ends early.
enum End {
    Cut,
    Broken,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

/// Sends an answer. Failures are for the client to report.
pub(super) async fn send(stream: TcpStream, answer: &ScriptedAnswer, format: ModelFormat, port: u16) {
    let mut wire = Wire { stream, framing: answer.framing, pace: answer.pace.unwrap_or(usize::MAX).max(1) };
    let (is_late, steps) = match answer.body.split_first() {
        Some((Step::NoHeaders, steps)) => (true, steps),
        _ => (false, answer.body.as_slice()),
    };
    let mut script = ScriptEncoder { format, encoder: format.encoder() };
    let actions: Vec<Action> = steps.iter().map(|step| script.action(step)).collect();
    let head = head(answer, &actions, port);
    let sent = async {
        // Before the headers there can only be silence, or the end.
        if !is_late {
            wire.stream.write_all(head.as_bytes()).await?;
        }
        wire.play(&actions).await?;
        wire.finish().await
    };
    // Everything that was sent arrives before the connection ends.
    let _ended: Result<(), End> = sent.await;
}

fn head(answer: &ScriptedAnswer, actions: &[Action], port: u16) -> String {
    let mut head = format!("HTTP/1.1 {} -\r\nconnection: close\r\n", answer.status);
    let is_json = answer.body.iter().any(|step| matches!(step, Step::Json(_) | Step::Whole(_)));
    let content_type = if is_json { "application/json" } else { "text/event-stream" };
    if !answer.headers.contains_key("content-type") {
        let _ = write!(head, "content-type: {content_type}\r\n");
    }
    for (name, value) in &answer.headers {
        let _ = write!(head, "{name}: {}\r\n", value.replace("${port}", &port.to_string()));
    }
    let length = |off: i64| {
        let bytes =
            actions.iter().map(|action| if let Action::Send(bytes) = action { bytes.len() } else { 0 });
        let length = i64::try_from(bytes.sum::<usize>()).unwrap_or(i64::MAX);
        format!("content-length: {}\r\n", length.saturating_add(off).max(0))
    };
    head.push_str(&match answer.framing {
        Framing::Chunked | Framing::Unterminated | Framing::BadChunk => {
            "transfer-encoding: chunked\r\n".to_owned()
        }
        Framing::Length => length(0),
        Framing::LengthOff(off) => length(off),
        Framing::Close => String::new(),
    });
    head.push_str("\r\n");
    head
}

/// The script in a format, with what is open in its stream.
struct ScriptEncoder {
    format: ModelFormat,
    encoder: Box<dyn Encode>,
}

impl ScriptEncoder {
    fn action(&mut self, step: &Step) -> Action {
        let encoder = &mut self.encoder;
        let text = match step {
            Step::Begin => encoder.begin(),
            Step::Say(text) => encoder.say(text),
            Step::Think(text) => encoder.think(text),
            Step::Call(call) => encoder.call(call),
            Step::Finish(reason) => encoder.finish(reason),
            Step::Usage => encoder.usage(),
            Step::Done => encoder.done(),
            Step::Error { message, status } => self.format.error(message, *status),
            Step::Whole(whole) => self.format.whole(whole).to_string(),
            Step::Delta(change) => delta(change),
            Step::Event(value) => format!("data: {value}\n\n"),
            Step::Json(value) => value.to_string(),
            Step::Text(text) => text.clone(),
            Step::Bytes(bytes) => return Action::Send(bytes.clone()),
            Step::Repeat { times, steps } => return self.repeated(*times, steps),
            Step::Pause => return Action::Pause,
            Step::Hang | Step::NoHeaders => return Action::Hang,
            Step::Cut => return Action::Cut,
        };
        Action::Send(text.into_bytes())
    }

    /// Repeats steps. The first time may open what the other times continue.
    fn repeated(&mut self, times: u64, steps: &[Step]) -> Action {
        let mut once = || joined(steps.iter().map(|step| self.action(step)).collect());
        let first = once();
        let again = repeated(times.saturating_sub(1), once());
        Action::Repeat(times.min(1), [first, vec![again]].concat())
    }
}

/// Repeats actions; short content is repeated within one write.
fn repeated(times: u64, actions: Vec<Action>) -> Action {
    let [Action::Send(bytes)] = actions.as_slice() else { return Action::Repeat(times, actions) };
    let at_once = (PIECE_BYTES / bytes.len().max(1)).max(1).min(usize::try_from(times).unwrap_or(usize::MAX));
    let many = u64::try_from(at_once).unwrap_or(1).max(1);
    let left = usize::try_from(times % many).unwrap_or(0);
    let rest = Action::Send(bytes.repeat(left));
    Action::Repeat(1, vec![Action::Repeat(times / many, vec![Action::Send(bytes.repeat(at_once))]), rest])
}

/// Returns the same actions, with consecutive bytes joined.
fn joined(actions: Vec<Action>) -> Vec<Action> {
    let mut joined: Vec<Action> = Vec::new();
    for action in actions {
        match (joined.last_mut(), action) {
            (Some(Action::Send(before)), Action::Send(bytes)) => before.extend(bytes),
            (_, action) => joined.push(action),
        }
    }
    joined
}

/// A connection, and the encoding of bodies on it.
struct Wire {
    stream: TcpStream,
    framing: Framing,
    pace: usize,
}

impl Wire {
    fn play<'a>(
        &'a mut self,
        actions: &'a [Action],
    ) -> Pin<Box<dyn Future<Output = Result<(), End>> + Send + 'a>> {
        Box::pin(async move {
            for action in actions {
                match action {
                    Action::Send(bytes) => self.write(bytes).await?,
                    Action::Repeat(times, actions) => {
                        for _ in 0..*times {
                            self.play(actions).await?;
                        }
                    }
                    Action::Pause => tokio::time::sleep(PAUSE).await,
                    Action::Hang => {
                        // Until the client disconnects.
                        while self.stream.read_u8().await.is_ok() {}
                        return Err(End::Broken);
                    }
                    Action::Cut => return Err(End::Cut),
                }
            }
            Ok(())
        })
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let is_chunked = matches!(self.framing, Framing::Chunked | Framing::Unterminated | Framing::BadChunk);
        // An empty chunk would end the body.
        for part in bytes.chunks(self.pace) {
            if is_chunked {
                let mut framed = format!("{:x}\r\n", part.len()).into_bytes();
                framed.extend_from_slice(part);
                framed.extend_from_slice(b"\r\n");
                self.stream.write_all(&framed).await?;
            } else {
                self.stream.write_all(part).await?;
            }
            if self.pace != usize::MAX {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn finish(&mut self) -> Result<(), End> {
        match self.framing {
            Framing::Chunked => self.stream.write_all(b"0\r\n\r\n").await?,
            Framing::BadChunk => self.stream.write_all(b"zz\r\nhello\r\n").await?,
            _ => {}
        }
        self.stream.shutdown().await?;
        Ok(())
    }
}
