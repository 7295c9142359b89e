//! What the server does wrong.

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

/// Lines that are no messages: no text, no JSON, JSON of other kinds, a message without an end.
pub(crate) const GARBAGE: &[u8] =
    b"listening on stdio\n\xff\xfe\x00\x01\n{\n\n{}\n[1]\n\"text\"\nnull\n1e999\n\
    {\"jsonrpc\":\"1.0\",\"id\":1,\"result\":7}\n{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}\n\
    {\"jsonrpc\":\"2.0\",\"id\":1,\n\x1b[2J\x1b]0;title\x07\n";

/// Well-formed JSON that is no message; a client may want to complain about it.
const NO_MESSAGE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":7}\n";

/// How much is written without a line break, in bytes.
const ENDLESS: usize = 1 << 30;

/// How much is written at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// How many requests are more than anybody has to bear.
const MANY_REQUESTS: usize = 300_000;

/// The pause between two bytes of an answer that drips.
const DRIP: Duration = Duration::from_millis(100);

/// How long somebody sleeps who is to be ended from outside.
const FOREVER: Duration = Duration::from_hours(1);

/// Set for the process that takes the place of one that misbehaved.
const SUCCESSOR: &str = "HOSTILE_SUCCESSOR";

/// What happens before anything is read.
pub(crate) fn at_start(server: &mut Server) -> Result<()> {
    let is_successor = std::env::var_os(SUCCESSOR).is_some();
    match server.mode {
        Mode::ExitAtOnce => {
            tools::complain("no database");
            std::process::exit(3);
        }
        Mode::ExitForChild if !is_successor => {
            // By the time that it serves, this process has ended for sure.
            again("sleep 1; exec \"$@\"").spawn()?;
            std::process::exit(0);
        }
        // What a process ignores, the program that it becomes ignores too.
        Mode::IgnoresTerm if !is_successor => {
            return Err(again("trap '' HUP INT TERM; exec \"$@\"").exec().into());
        }
        Mode::Forks => {
            quiet("sleep 3600").spawn()?;
            // The shell in between ends at once, and init becomes the parent.
            quiet("setsid sleep 3600 &").spawn()?.wait()?;
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
            // Lines, then a line without an end, in turn.
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

/// What happens when there is no more input.
pub(crate) fn at_end(server: &Server) {
    if server.mode == Mode::IgnoresTerm {
        loop {
            thread::sleep(FOREVER);
        }
    }
}

/// What happens to a message; whether it is done with.
pub(crate) fn in_place_of_an_answer(server: &mut Server, method: &str, message: &Value) -> Result<bool> {
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

/// What happens during a call; whether the call is done with.
pub(crate) fn during_a_call(server: &mut Server, id: &Value, message: &Value) -> Result<bool> {
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

/// Begins an answer and does not end it.
fn endless_line(server: &mut Server) -> io::Result<()> {
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"")?;
    let chunk = vec![b'x'; CHUNK];
    for _ in 0..ENDLESS / CHUNK {
        server.write(&chunk)?;
    }
    thread::sleep(FOREVER);
    Ok(())
}

/// This program once more, through a shell that does this with it.
fn again(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).args(std::env::args()).env(SUCCESSOR, "1");
    command
}

/// A shell that holds none of our pipes.
fn quiet(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
