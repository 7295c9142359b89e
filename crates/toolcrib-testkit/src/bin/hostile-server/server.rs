//! The server: correct behaviour, with hooks for misbehaviour.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, Stdout, Write as _};

use anyhow::Result;
use serde_json::{Value, json};

use crate::attack;
use crate::mode::Mode;
use crate::tools;

/// The server and its output.
pub(crate) struct Server {
    pub(crate) mode: Mode,
    pub(crate) out: Stdout,
    /// The number of times that the tools were listed.
    pub(crate) lists: u64,
    log: Option<File>,
}

impl Server {
    pub(crate) fn new(mode: Mode, log: Option<&str>) -> Result<Self> {
        let log = log.map(|path| OpenOptions::new().create(true).append(true).open(path)).transpose()?;
        let mut server = Self { mode, out: io::stdout(), lists: 0, log };
        server.log(&format!("start {}", std::process::id()))?;
        Ok(server)
    }

    /// Adds a line to the log, in one write.
    pub(crate) fn log(&mut self, line: &str) -> io::Result<()> {
        self.log.as_mut().map_or(Ok(()), |log| log.write_all(format!("{line}\n").as_bytes()))
    }

    /// Answers messages until the end of input.
    pub(crate) fn serve(&mut self) -> Result<()> {
        for line in io::stdin().lock().lines() {
            let line = line?;
            self.log(&line)?;
            let message: Value = serde_json::from_str(&line)?;
            self.answer(&message)?;
        }
        attack::at_end(self);
        Ok(())
    }

    fn answer(&mut self, message: &Value) -> Result<()> {
        let (method, id) = (message["method"].as_str().unwrap_or_default(), &message["id"]);
        if attack::instead_of_answer(self, method, message)? || id.is_null() {
            return Ok(());
        }
        match method {
            "initialize" => self.reply(
                id,
                &json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {"listChanged": true}},
                    "serverInfo": {"name": "hostile", "version": "1"},
                }),
            )?,
            "ping" => self.reply(id, &json!({}))?,
            "tools/list" => {
                self.lists += 1;
                let page = tools::list(self.mode, self.lists, message);
                self.reply(id, &page)?;
            }
            "tools/call" => self.call(id, message)?,
            _ => {
                let error = json!({"code": -32601, "message": format!("there is no method {method}")});
                self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))?;
            }
        }
        Ok(())
    }

    fn call(&mut self, id: &Value, message: &Value) -> Result<()> {
        let params = &message["params"];
        let name = params["name"].as_str().unwrap_or_default();
        match name {
            "hang" => return Ok(()),
            "exit" => {
                tools::write_stderr("out of memory");
                std::process::exit(7);
            }
            _ => {}
        }
        if attack::during_call(self, id, message)? {
            return Ok(());
        }
        let result = tools::result(name, &params["arguments"]);
        self.reply(id, &result)?;
        if self.mode == Mode::Changes {
            self.send(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))?;
        }
        Ok(())
    }

    pub(crate) fn reply(&mut self, id: &Value, result: &Value) -> io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    pub(crate) fn send(&mut self, message: &Value) -> io::Result<()> {
        self.write(format!("{message}\n").as_bytes())
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.mode == Mode::Garbage {
            self.out.write_all(attack::GARBAGE)?;
        }
        self.out.write_all(bytes)?;
        self.out.flush()
    }
}
