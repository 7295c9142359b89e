//! An SMTP server that keeps the mails it receives.

use std::sync::Arc;

use anyhow::{Result, bail};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::http_service::free_port;

/// A mail as it was received.
#[derive(Clone, Debug, Default)]
pub struct ReceivedMail {
    /// The address of the sender in the envelope.
    pub from: String,
    /// The addresses of the recipients in the envelope.
    pub to: Vec<String>,
    /// The user and the password of `AUTH PLAIN`, each after a null character.
    pub credentials: Option<String>,
    /// The headers and the body.
    pub text: String,
}

impl ReceivedMail {
    /// Returns the body, decoded from quoted-printable if it is.
    pub fn body(&self) -> String {
        let (head, body) = self.text.split_once("\n\n").unwrap_or_default();
        if !head.to_lowercase().contains("content-transfer-encoding: quoted-printable") {
            return body.to_owned();
        }
        let mut bytes = Vec::new();
        let mut rest = body.replace("=\n", "").into_bytes().into_iter();
        while let Some(byte) = rest.next() {
            let hex: Vec<u8> = if byte == b'=' { rest.by_ref().take(2).collect() } else { Vec::new() };
            let decoded = std::str::from_utf8(&hex).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok());
            bytes.push(decoded.unwrap_or(byte));
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// An SMTP server that keeps the mails it receives, until it is dropped.
#[derive(Debug)]
pub struct MailReceiver {
    port: u16,
    state: Arc<Mutex<ReceiverState>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct ReceiverState {
    mails: Vec<ReceivedMail>,
    attempts: usize,
    /// The codes with which the next recipients are refused.
    refusals: Vec<u16>,
}

impl MailReceiver {
    /// Serves on a port that the system chooses. The first recipients are refused with these codes.
    pub async fn start(refusals: &[u16]) -> Result<Self> {
        let listener = free_port().await?;
        let port = listener.local_addr()?.port();
        let refusals = refusals.iter().rev().copied().collect();
        let state = Arc::new(Mutex::new(ReceiverState { refusals, ..ReceiverState::default() }));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                // The client reports failures of single connections.
                tokio::spawn(async move { drop(serve(stream, &state).await) });
            }
        });
        Ok(Self { port, state, task })
    }

    /// Returns `smtp://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// Returns the mails.
    pub fn mails(&self) -> Vec<ReceivedMail> {
        self.state.lock().mails.clone()
    }

    /// Returns the number of recipients that were accepted or refused.
    pub fn attempts(&self) -> usize {
        self.state.lock().attempts
    }
}

impl Drop for MailReceiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, state: &Mutex<ReceiverState>) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let mut mail = ReceivedMail::default();
    stream.write_all(b"220 localhost ESMTP\r\n").await?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let line = line.trim_end();
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let reply = match verb.to_ascii_uppercase().as_str() {
            "EHLO" => "250-localhost\r\n250 AUTH PLAIN".to_owned(),
            "AUTH" => {
                mail.credentials = rest.strip_prefix("PLAIN ").map(decoded).transpose()?;
                "235 welcome".to_owned()
            }
            "MAIL" => {
                mail.from = address(rest);
                "250 go on".to_owned()
            }
            "RCPT" => {
                let mut state = state.lock();
                state.attempts += 1;
                if let Some(code) = state.refusals.pop() {
                    format!("{code} refused")
                } else {
                    mail.to.push(address(rest));
                    "250 go on".to_owned()
                }
            }
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await?;
                mail.text = data(&mut stream).await?;
                state.lock().mails.push(mail.clone());
                "250 taken".to_owned()
            }
            "QUIT" => {
                stream.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            _ => "250 as you like".to_owned(),
        };
        stream.write_all(format!("{reply}\r\n").as_bytes()).await?;
    }
}

/// Reads a mail to the line with a dot.
async fn data(stream: &mut BufReader<TcpStream>) -> Result<String> {
    let mut text = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            bail!("the mail broke off");
        }
        let line = line.trim_end_matches("\r\n");
        if line == "." {
            return Ok(text);
        }
        text.push_str(line.strip_prefix("..").map_or(line, |_| &line[1..]));
        text.push('\n');
    }
}

/// Returns the address in `FROM:<address>` or `TO:<address>`.
fn address(text: &str) -> String {
    let inner = text.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    inner.map_or(text, |(address, _)| address).to_owned()
}

/// Decodes Base64.
fn decoded(text: &str) -> Result<String> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for digit in text.trim_end_matches('=').bytes() {
        let Some(value) = DIGITS.iter().position(|known| *known == digit) else { bail!("no Base64: {text}") };
        bits = (bits << 6 | u32::try_from(value)?) & 0xff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff)?);
        }
    }
    Ok(String::from_utf8(bytes)?)
}
