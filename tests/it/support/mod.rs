//! What the tests share.

mod agent_app;
mod databases;
mod error_texts;
mod hostile;
mod mcp_script;
mod optional;
mod requests;
mod run_output;
mod shop_app;
mod test_dir;

pub(crate) use agent_app::AgentApp;
pub(crate) use databases::{kill_server, new_database, new_database_of_victim, query, until_rows};
pub(crate) use error_texts::error_texts;
pub(crate) use hostile::hostile_server;
pub(crate) use mcp_script::mcp_script;
pub(crate) use optional::{chromium, onnx, peer, shared, tmux};
pub(crate) use requests::transcript;
pub(crate) use run_output::RunOutput;
pub(crate) use shop_app::shop_app;
pub(crate) use test_dir::{PATIENCE, TestDir, binary, repository};

/// Compares a text with its snapshot, with what differs from run to run taken out.
macro_rules! snapshot {
    ($dir:expr, $text:expr) => {{
        let text = $text;
        $dir.snapshot_settings().bind(|| insta::assert_snapshot!(text))
    }};
}
