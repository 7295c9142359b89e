//! `toolcrib install` and `toolcrib import`: moving in with the clients that people have, and out again.

mod fixtures;
mod import;
mod refusals;
mod round_trip;

use serde_json::Value;

use crate::support::{RunOutput, TestDir};

/// An app that opens.
const APP: &str = "app: {id: mine}\n";

const CLIENTS: [&str; 6] = ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini"];

/// The configuration of a client below the home of the dir.
fn user_file(client: &str) -> &'static str {
    match client {
        "claude-code" => "home/.claude.json",
        "claude-desktop" if cfg!(target_os = "macos") => {
            "home/Library/Application Support/Claude/claude_desktop_config.json"
        }
        "claude-desktop" => "home/.config/Claude/claude_desktop_config.json",
        "cursor" => "home/.cursor/mcp.json",
        "vscode" if cfg!(target_os = "macos") => "home/Library/Application Support/Code/User/mcp.json",
        "vscode" => "home/.config/Code/User/mcp.json",
        "codex" => "home/.codex/config.toml",
        _ => "home/.gemini/settings.json",
    }
}

fn dir() -> TestDir {
    TestDir::with_app(APP)
}

/// All files below a folder of the dir with what is in them, but for the copies that were kept.
fn files(dir: &TestDir, folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![dir.path(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.display().to_string().contains(".toolcrib-backup-") {
                found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The copies that were kept of a file.
fn backups(dir: &TestDir, file: &str) -> Vec<std::path::PathBuf> {
    let path = dir.path(file);
    let name = format!("{}.toolcrib-backup-", path.file_name().unwrap().to_str().unwrap());
    let mut found: Vec<_> = std::fs::read_dir(path.parent().unwrap())
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&name))
        .collect();
    found.sort();
    found
}

async fn install(dir: &TestDir, client: &str, more: &[&str]) -> RunOutput {
    let words = [&["install", client, "--yes", "--json"], more].concat();
    dir.run_words(&words).await
}

fn action(output: &RunOutput) -> String {
    let report: Value = output.json();
    report["action"].as_str().unwrap().to_owned()
}
