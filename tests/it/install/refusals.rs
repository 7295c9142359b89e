//! What cannot be read or written is left alone, and said.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::fixtures::CONFIGURATIONS;
use super::{backups, dir, files};
use crate::support::error_texts;

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_named_with_its_place_and_not_touched() {
    let mut shown = String::new();
    for (client, file, text) in [
        ("claude-code", "home/.claude.json", "{\n  \"mcpServers\": {\n    oops\n"),
        ("cursor", "home/.cursor/mcp.json", "{\"mcpServers\": [1]}"),
        ("vscode", super::user_file("vscode"), "{\"servers\": {} /* no end"),
        ("codex", "home/.codex/config.toml", "a = 1\n[mcp_servers\n"),
        ("gemini", "home/.gemini/settings.json", "[]"),
        ("codex", "home/.codex/config.toml", "mcp_servers = { a = { command = \"x\" } }\n"),
    ] {
        let dir = dir().with_file(file, text);
        let said = error_texts(&dir, ["install", client, "--yes"], 2).await;
        assert_eq!(dir.read(file), text);
        assert!(backups(&dir, file).is_empty());
        shown += &said.replace(dir.path("").to_str().unwrap(), "[dir]/");
    }
    snapshot!(dir(), shown);
}

#[tokio::test]
async fn what_may_not_be_written_to_is_left_as_it_is() {
    let dir = dir()
        .with_file("home/.claude.json", CONFIGURATIONS[0].1)
        .with_file("home/.cursor/mcp.json", CONFIGURATIONS[2].1)
        .with_file("home/.gemini/settings.json", CONFIGURATIONS[5].1);
    let before = files(&dir, "home");
    let mode =
        |file: &str, mode| std::fs::set_permissions(dir.path(file), PermissionsExt::from_mode(mode)).unwrap();
    mode("home/.claude.json", 0o400);
    mode("home/.cursor", 0o500);
    symlink(dir.path("nowhere"), dir.path("link.json")).unwrap();
    let mut shown = String::new();
    for words in [["install", "claude-code", "--yes"], ["install", "cursor", "--yes"]] {
        shown += &error_texts(&dir, words, 2).await;
    }
    for words in [
        ["install", "gemini", "--file", "link.json", "--yes"],
        ["install", "gemini", "--file", "app.yaml/x.json", "--yes"],
        ["install", "gemini", "--name", "a b", "--yes"],
        ["install", "gemini", "--app", "none.yaml", "--yes"],
    ] {
        shown += &error_texts(&dir, words, 2).await;
    }
    for words in [["install", "claude-desktop", "--project"], ["install", "gemini", "--undo"]] {
        // The entry of that name starts `toolcrib serve`, as an older one has written it.
        let code = if words[1] == "gemini" { 4 } else { 2 };
        shown += &error_texts(&dir, words, code).await;
    }
    mode("home/.cursor", 0o700);
    assert_eq!(files(&dir, "home"), before);
    snapshot!(dir, shown);
}

#[tokio::test]
async fn a_server_of_others_is_not_taken_out() {
    let dir = dir().with_file("home/.claude.json", CONFIGURATIONS[0].1);
    let said = error_texts(&dir, ["install", "claude-code", "--name", "github", "--undo", "--yes"], 2).await;
    assert!(said.contains("does not start `toolcrib serve`; nothing was changed"), "{said}");
    assert_eq!(dir.read("home/.claude.json"), CONFIGURATIONS[0].1);
}

#[tokio::test]
async fn a_huge_configuration_is_refused_before_it_is_read_whole() {
    let dir = dir();
    let file = std::fs::File::create(dir.path("home/.claude.json")).unwrap();
    file.set_len(1 << 40).unwrap();
    let output = dir.run(["install", "claude-code", "--yes"]).await.expect(2);
    assert!(output.stderr.contains(".claude.json"), "{output:?}");
    let output = dir.run(["import"]).await.expect(2);
    assert!(output.stderr.contains(".claude.json"), "{output:?}");
}
