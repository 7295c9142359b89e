//! What `cargo xtask test` brings along where it can: data sets and MCP servers that others have written.

use std::path::PathBuf;

/// The folder of the shared data, or nothing where there is none.
pub(crate) fn shared() -> Option<PathBuf> {
    found("TOOLCRIB_SHARED", "the shared data sets")
}

/// The folder of a server that `cargo xtask test` installs, or nothing where it could not.
pub(crate) fn peer(name: &str) -> Option<PathBuf> {
    found("TOOLCRIB_PEERS", "the outside MCP servers").map(|folder| folder.join(name)).filter(|folder| {
        let is_there = folder.is_dir();
        left_out(is_there, name);
        is_there
    })
}

/// The library of ONNX Runtime and the folder of an embedding model, or nothing where one of them is not there.
pub(crate) fn onnx() -> Option<(String, PathBuf)> {
    let library = found("ORT_DYLIB_PATH", "ONNX Runtime")?;
    let model = shared()?.join("models/all-MiniLM-L6-v2-onnx-int8");
    let is_there = model.join("model.onnx").is_file();
    left_out(is_there, "the embedding model");
    is_there.then(|| (library.display().to_string(), model))
}

/// The browser of Debian, or nothing where it is not installed.
pub(crate) fn chromium() -> Option<PathBuf> {
    program("chromium", "the browser `chromium`")
}

/// The terminal multiplexer, or nothing where it is not installed.
pub(crate) fn tmux() -> Option<PathBuf> {
    program("tmux", "the terminal multiplexer `tmux`")
}

fn program(name: &str, what: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    left_out(program.is_some(), what);
    program
}

fn found(variable: &str, what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    left_out(folder.is_some(), what);
    folder
}

/// The continuous integration leaves nothing out.
fn left_out(is_there: bool, what: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(is_there || !in_ci, "{what} are missing, and CI=true leaves nothing out; run `cargo xtask test`");
    if !is_there {
        eprintln!("left out for the lack of {what}; run `cargo xtask test`");
    }
}
