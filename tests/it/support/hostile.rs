//! The MCP server that misbehaves.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;

/// The program `hostile-server` of the test kit, beside this one.
pub(crate) fn hostile_server() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let path = program.ancestors().nth(2).unwrap().join(format!("hostile-server{EXE_SUFFIX}"));
    assert!(path.is_file(), "{} is not there; build it: cargo build --bin hostile-server", path.display());
    path
}
