//! The misbehaviour of the server.

use std::io::{self, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::mode::Mode;
use crate::server::Server;
use crate::tools;

/// Lines that are not messages: invalid UTF-8, invalid JSON, JSON of other kinds, a truncated message.
pub(crate) const GARBAGE: &[u8] =
    b"listening on stdio\n\xff\xfe\x00\x01\n{\n\n{}\n[1]\n\"text\"\nnull\n1e999\n\
    {\"jsonrpc\":\"1.0\",\"id\":1,\"result\":7}\n{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}\n\
    {\"jsonrpc\":\"2.0\",\"id\":1,\n\x1b[2J\x1b]0;title\x07\n";

/// Well-formed JSON that is not a message; a client may complain about it.
const NO_MESSAGE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":7}\n";

/// The length of an endless line, in bytes.
const ENDLESS: usize = 1 << 30;

/// The size of one write, in bytes.
const CHUNK: usize = 64 * 1024;

/// The number of requests after which a client should have given up.
const MANY_REQUESTS: usize = 300_000;

/// The pause between two bytes of a slow answer.
const DRIP: Duration = Duration::from_millis(100);

/// The sleep of a process that is to be killed from outside.
const FOREVER: Duration = Duration::from_hours(1);

/// The environment variable of a process that replaces one that misbehaved.
const SUCCESSOR: &str = "HOSTILE_SUCCESSOR";

/// Misbehaves before any input is read.
pub(crate) fn at_start(server: &mut Server) -> Result<()> {
    let is_successor = std::env::var_os(SUCCESSOR).is_some();
    match server.mode {
        Mode::ExitAtOnce => {
            tools::write_stderr("no database");
            std::process::exit(3);
        }
        Mode::ExitForChild if !is_successor => {
            // When it starts to serve, this process has certainly ended.
            rerun("sleep 1; exec \"$@\"").spawn()?;
            std::process::exit(0);
        }
        // A signal that a process ignores is also ignored by the program that it executes.
        Mode::IgnoresTerm if !is_successor => {
            return Err(rerun("trap '' HUP INT TERM; exec \"$@\"").exec().into());
        }
        Mode::Forks => {
            detached_shell("sleep 3600").spawn()?;
            // The intermediate shell ends immediately, and init becomes the parent.
            detached_shell("setsid sleep 3600 &").spawn()?.wait()?;
        }
        Mode::Deaf => thread::sleep(FOREVER),
        Mode::Storm => loop {
            server.write(&NO_MESSAGE.repeat(CHUNK / NO_MESSAGE.len()))?;
        },
        Mode::EndlessFirstLine => endless_line(server)?,
        Mode::Restless => {
            thread::spawn(|| {
                let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";
                while io::stdout().write_all(line).is_ok() {}
            });
        }
        Mode::StderrFlood => {
            // Alternates between lines and a line without an end.
            thread::spawn(|| {
                let lines = [vec![b'e'; 100], vec![b'\n']].concat().repeat(CHUNK / 100);
                let line = vec![b'e'; CHUNK];
                let mut stderr = io::stderr().lock();
                while stderr.write_all(&lines).and_then(|()| stderr.write_all(&line)).is_ok() {}
            });
        }
        _ => {}
    }
    Ok(())
}

/// Misbehaves at the end of input.
pub(crate) fn at_end(server: &Server) {
    if server.mode == Mode::IgnoresTerm {
        loop {
            thread::sleep(FOREVER);
        }
    }
}

/// Misbehaves on a message, and returns true if the message needs no regular answer.
pub(crate) fn instead_of_answer(server: &mut Server, method: &str, message: &Value) -> Result<bool> {
    match (server.mode, method) {
        (Mode::Silent, _) => Ok(true),
        (Mode::Late, "notifications/cancelled") => {
            let id = message.pointer("/params/requestId").unwrap_or(&Value::Null);
            for _ in 0..2 {
                server.reply(id, &tools::result("echo", &json!({"text": "too late"})))?;
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Misbehaves during a call, and returns true if the call needs no regular answer.
pub(crate) fn during_call(server: &mut Server, id: &Value, message: &Value) -> Result<bool> {
    let params = &message["params"];
    let answer = || {
        let result = tools::result(params["name"].as_str().unwrap_or_default(), &params["arguments"]);
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    };
    match server.mode {
        Mode::HalfLine => {
            let answer = answer().to_string();
            server.write(answer.get(..answer.len() / 2).unwrap_or_default().as_bytes())?;
            std::process::exit(0);
        }
        Mode::EndlessLine => endless_line(server)?,
        Mode::Drip => {
            for byte in format!("{}\n", answer()).bytes() {
                server.write(&[byte])?;
                thread::sleep(DRIP);
            }
        }
        Mode::Progress => {
            let token = params.pointer("/_meta/progressToken").unwrap_or(id);
            let params =
                |progress: u64| json!({"progressToken": token, "progress": progress, "message": "soon"});
            for progress in 0.. {
                let method = "notifications/progress";
                server.send(&json!({"jsonrpc": "2.0", "method": method, "params": params(progress)}))?;
            }
        }
        Mode::Asks => {
            for number in 0.. {
                let methods = ["ping", "roots/list", "sampling/createMessage"];
                let method = methods.get(number % methods.len());
                server.send(&json!({"jsonrpc": "2.0", "id": format!("r{number}"), "method": method}))?;
                if number == MANY_REQUESTS {
                    server.log("asked")?;
                }
            }
        }
        Mode::WrongIds => {
            let other = tools::result("echo", &json!({"text": "of another call"}));
            let number = id.as_i64().unwrap_or_default();
            let ids = [json!(number + 1000), json!(format!("x{number}")), json!(-1), json!(""), Value::Null];
            for wrong in &ids {
                server.reply(wrong, &other)?;
            }
            server.send(&answer())?;
            for _ in 0..2 {
                server.reply(id, &other)?;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Begins an answer, and never ends it.
fn endless_line(server: &mut Server) -> io::Result<()> {
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"")?;
    let chunk = vec![b'x'; CHUNK];
    for _ in 0..ENDLESS / CHUNK {
        server.write(&chunk)?;
    }
    thread::sleep(FOREVER);
    Ok(())
}

/// Returns a command that runs this program again through a shell script.
fn rerun(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).args(std::env::args()).env(SUCCESSOR, "1");
    command
}

/// Returns a command of a shell that inherits none of the pipes.
fn detached_shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
