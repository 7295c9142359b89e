//! An `MCP` server over stdio that misbehaves in a selected mode: `hostile-server MODE [LOG]`.
//!
//! Apart from its [`Mode`], it behaves correctly: it performs the handshake of revision 2025-11-25, lists the tools
//! `echo`, `hang` and `exit`, and answers `echo` with the given text. The file `LOG` gets a line `start PID` for each
//! process, and each line that the server received.

mod attack;
mod mode;
mod server;
mod tools;

use std::env;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::mode::Mode;
use crate::server::Server;

fn main() -> ExitCode {
    // The client may disconnect at any time, which is the end and not a failure.
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<std::io::Error>() => ExitCode::SUCCESS,
        Err(error) => {
            tools::write_stderr(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let mode = arguments.next().context("usage: hostile-server MODE [LOG]")?;
    let mode = Mode::named(&mode)?;
    let mut server = Server::new(mode, arguments.next().as_deref())?;
    attack::at_start(&mut server)?;
    server.serve()
}
