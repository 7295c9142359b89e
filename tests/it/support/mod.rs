//! What the tests share.

mod databases;
mod desk;
mod hostile;
mod lab;
mod mcp_script;
mod optional;
mod ran;
mod requests;
mod shop;
mod told;

pub(crate) use databases::{kill_server, new_database, new_database_of_victim, query, until_rows};
pub(crate) use desk::Desk;
pub(crate) use hostile::hostile_server;
pub(crate) use lab::{Lab, PATIENCE, binary, repository};
pub(crate) use mcp_script::mcp_script;
pub(crate) use optional::{chromium, onnx, peer, shared, tmux};
pub(crate) use ran::Ran;
pub(crate) use requests::transcript;
pub(crate) use shop::shop;
pub(crate) use told::told;

/// Compares a text with its snapshot, with what differs from run to run taken out.
macro_rules! snapshot {
    ($lab:expr, $text:expr) => {{
        let text = $text;
        $lab.snapshot_settings().bind(|| insta::assert_snapshot!(text))
    }};
}
