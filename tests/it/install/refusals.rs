//! What cannot be read or written is left alone, and said.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::fixtures::CONFIGURATIONS;
use super::{backups, files, lab};
use crate::support::told;

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
        let lab = lab().with_file(file, text);
        let said = told(&lab, ["install", client, "--yes"], 2).await;
        assert_eq!(lab.read(file), text);
        assert!(backups(&lab, file).is_empty());
        shown += &said.replace(lab.path("").to_str().unwrap(), "[lab]/");
    }
    snapshot!(lab(), shown);
}

#[tokio::test]
async fn what_may_not_be_written_to_is_left_as_it_is() {
    let lab = lab()
        .with_file("home/.claude.json", CONFIGURATIONS[0].1)
        .with_file("home/.cursor/mcp.json", CONFIGURATIONS[2].1)
        .with_file("home/.gemini/settings.json", CONFIGURATIONS[5].1);
    let before = files(&lab, "home");
    let mode =
        |file: &str, mode| std::fs::set_permissions(lab.path(file), PermissionsExt::from_mode(mode)).unwrap();
    mode("home/.claude.json", 0o400);
    mode("home/.cursor", 0o500);
    symlink(lab.path("nowhere"), lab.path("link.json")).unwrap();
    let mut shown = String::new();
    for words in [["install", "claude-code", "--yes"], ["install", "cursor", "--yes"]] {
        shown += &told(&lab, words, 2).await;
    }
    for words in [
        ["install", "gemini", "--file", "link.json", "--yes"],
        ["install", "gemini", "--file", "app.yaml/x.json", "--yes"],
        ["install", "gemini", "--name", "a b", "--yes"],
        ["install", "gemini", "--app", "none.yaml", "--yes"],
    ] {
        shown += &told(&lab, words, 2).await;
    }
    for words in [["install", "claude-desktop", "--project"], ["install", "gemini", "--undo"]] {
        // The entry of that name starts `toolcrib serve`, as an older one has written it.
        let code = if words[1] == "gemini" { 4 } else { 2 };
        shown += &told(&lab, words, code).await;
    }
    mode("home/.cursor", 0o700);
    assert_eq!(files(&lab, "home"), before);
    snapshot!(lab, shown);
}

#[tokio::test]
async fn a_server_of_others_is_not_taken_out() {
    let lab = lab().with_file("home/.claude.json", CONFIGURATIONS[0].1);
    let said = told(&lab, ["install", "claude-code", "--name", "github", "--undo", "--yes"], 2).await;
    assert!(said.contains("does not start `toolcrib serve`; nothing was changed"), "{said}");
    assert_eq!(lab.read("home/.claude.json"), CONFIGURATIONS[0].1);
}

#[tokio::test]
async fn a_huge_configuration_is_refused_before_it_is_read_whole() {
    let lab = lab();
    let file = std::fs::File::create(lab.path("home/.claude.json")).unwrap();
    file.set_len(1 << 40).unwrap();
    let ran = lab.run(["install", "claude-code", "--yes"]).await.expect(2);
    assert!(ran.stderr.contains(".claude.json"), "{ran:?}");
    let ran = lab.run(["import"]).await.expect(2);
    assert!(ran.stderr.contains(".claude.json"), "{ran:?}");
}
