//! What was written is taken out again, and everything else stays as it was.

use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use super::fixtures::{CONFIGURATIONS, SESAME};
use super::{CLIENTS, action, backups, dir, files, install, user_file};
use crate::support::binary;

#[tokio::test]
async fn a_configuration_is_byte_for_byte_as_it_was_after_install_and_undo() {
    for (client, text) in CONFIGURATIONS {
        let dir = dir().with_file(user_file(client), text);
        let before = files(&dir, "home");
        let done = install(&dir, client, &["--name", "crib"]).await.expect(0);
        assert_eq!(action(&done), "add", "{client}");
        assert_ne!(files(&dir, "home"), before, "{client}: something was written");
        let again = install(&dir, client, &["--name", "crib"]).await.expect(0);
        assert_eq!(action(&again), "keep", "{client}: a second time changes nothing");
        let undone = install(&dir, client, &["--name", "crib", "--undo"]).await.expect(0);
        assert_eq!(action(&undone), "remove");
        assert_eq!(files(&dir, "home"), before, "{client}");
    }
}

#[tokio::test]
async fn a_file_that_was_made_for_our_entry_goes_with_it() {
    for client in CLIENTS {
        let dir = dir();
        install(&dir, client, &[]).await.expect(0);
        let mode = std::fs::metadata(dir.path(user_file(client))).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{client}: it is for its owner");
        install(&dir, client, &["--undo"]).await.expect(0);
        assert!(!dir.path(user_file(client)).exists(), "{client}");
        assert_eq!(action(&install(&dir, client, &["--undo"]).await.expect(0)), "nothing");
    }
}

#[tokio::test]
async fn what_is_written_starts_this_program_with_this_app_as_each_client_wants_it() {
    let dir = dir().with_file("app.yaml", "app: {id: \"${APP_ID:-mine}\"}\nruntime: {max_turns: 3}\n");
    let mut shown = String::new();
    for client in CLIENTS {
        let done = install(&dir, client, &[]).await.expect(0);
        let entry = &done.json()["entry"];
        assert_eq!(entry["command"], binary().canonicalize().unwrap().to_str().unwrap(), "{client}");
        assert_eq!(entry["args"], json!(["serve", dir.path("app.yaml"), "--stdio"]), "{client}");
        write!(shown, "--- {client}\n{}", dir.read(user_file(client))).unwrap();
    }
    snapshot!(dir, shown);
}

#[tokio::test]
async fn a_server_that_had_the_name_comes_back_also_when_the_file_was_edited_meanwhile() {
    for (client, text) in
        CONFIGURATIONS.into_iter().filter(|(client, _)| ["claude-code", "codex"].contains(client))
    {
        let dir = dir().with_file(user_file(client), text);
        let name = ["--name", "github"];
        assert_eq!(action(&install(&dir, client, &name).await.expect(0)), "replace");
        let edited = match client {
            "codex" => {
                dir.read(user_file(client)).replace("gpt-5", "gpt-6")
                    + "\n[mcp_servers.new]\ncommand = \"n\"\n"
            }
            _ => dir
                .read(user_file(client))
                .replace("\"numStartups\": 12,", "\"numStartups\": 13,\n\n  \"x\": [1],"),
        };
        let dir = dir.with_file(user_file(client), edited);
        // Another app, so that the entry is written anew.
        let dir = dir.with_file("other.yaml", super::APP);
        let other = [&name[..], &["--app", "other.yaml"]].concat();
        assert_eq!(action(&install(&dir, client, &other).await.expect(0)), "update");
        assert_eq!(
            action(&install(&dir, client, &["--name", "github", "--undo"]).await.expect(0)),
            "restore"
        );
        let after = dir.read(user_file(client));
        assert!(after.contains("\"-y\", \"@modelcontextprotocol/server-github\""), "{after}");
        assert!(after.contains(SESAME) && !after.contains("--stdio"), "{after}");
        assert!(after.contains("gpt-6") || after.contains("13,\n\n  \"x\": [1]"), "the edit stays: {after}");
    }
}

#[tokio::test]
async fn an_entry_of_ours_keeps_what_somebody_has_added_to_it() {
    let dir = dir().with_file("other.yaml", super::APP);
    install(&dir, "claude-code", &[]).await.expect(0);
    let mut all: Value = serde_json::from_str(&dir.read("home/.claude.json")).unwrap();
    all["mcpServers"]["toolcrib"]["env"] = json!({"MINE": "1"});
    let dir = dir.with_file("home/.claude.json", all.to_string());
    install(&dir, "claude-code", &["--app", "other.yaml"]).await.expect(0);
    let all: Value = serde_json::from_str(&dir.read("home/.claude.json")).unwrap();
    assert_eq!(all["mcpServers"]["toolcrib"]["env"], json!({"MINE": "1"}));
    assert_eq!(all["mcpServers"]["toolcrib"]["args"][1], dir.path("other.yaml").to_str().unwrap());
}

#[tokio::test]
async fn copies_are_for_the_owner_and_few_and_the_one_that_undo_needs_is_among_them() {
    let dir = dir().with_file(
        "home/.cursor/mcp.json",
        "{\"mcpServers\": {\"toolcrib\": {\"url\": \"https://x.example\"}}}",
    );
    std::fs::set_permissions(dir.path("home/.cursor/mcp.json"), PermissionsExt::from_mode(0o640)).unwrap();
    let before = files(&dir, "home");
    let mut dir = dir;
    for number in 0..8 {
        dir = dir.with_file(&format!("app{number}.yaml"), super::APP);
        install(&dir, "cursor", &["--app", &format!("app{number}.yaml")]).await.expect(0);
    }
    let kept = backups(&dir, "home/.cursor/mcp.json");
    assert!((5..=6).contains(&kept.len()), "{kept:?}");
    for path in &kept {
        assert_eq!(
            std::fs::metadata(path).unwrap().permissions().mode() & 0o777,
            0o600,
            "{}",
            path.display()
        );
    }
    let mode = std::fs::metadata(dir.path("home/.cursor/mcp.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640, "the file has the permissions that it had");
    assert_eq!(action(&install(&dir, "cursor", &["--undo"]).await.expect(0)), "restore");
    assert_eq!(files(&dir, "home"), before);
}

#[tokio::test]
async fn a_symlink_is_followed_and_said_and_stays_one() {
    let dir = dir().with_file("dotfiles/claude.json", CONFIGURATIONS[0].1);
    symlink(dir.path("dotfiles/claude.json"), dir.path("home/.claude.json")).unwrap();
    let before = dir.read("dotfiles/claude.json");
    let told = dir.run(["install", "claude-code", "--yes"]).await.expect(0);
    assert!(told.stdout.contains("is a symlink; the file that changes is"), "{told:?}");
    assert!(std::fs::symlink_metadata(dir.path("home/.claude.json")).unwrap().is_symlink());
    assert!(dir.read("dotfiles/claude.json").contains("--stdio"));
    assert_eq!(
        std::fs::read_dir(dir.path("dotfiles")).unwrap().count(),
        1,
        "copies with keys do not go there"
    );
    install(&dir, "claude-code", &["--undo"]).await.expect(0);
    assert_eq!(dir.read("dotfiles/claude.json"), before);
}

#[tokio::test]
async fn a_project_has_a_configuration_of_its_own() {
    for (client, file) in
        [("claude-code", ".mcp.json"), ("cursor", ".cursor/mcp.json"), ("vscode", ".vscode/mcp.json")]
    {
        let dir = dir();
        install(&dir, client, &["--project"]).await.expect(0);
        assert!(dir.read(file).contains("--stdio"));
        assert_eq!(files(&dir, "home"), [], "{client}: nothing is written for other projects");
        install(&dir, client, &["--project", "--undo"]).await.expect(0);
        assert!(!dir.path(file).exists());
    }
}

#[tokio::test]
async fn a_change_is_shown_first_and_is_not_made_without_a_yes() {
    let mut shown = String::new();
    let dir = dir()
        .with_file("home/.claude.json", CONFIGURATIONS[0].1)
        .with_file(user_file("codex"), CONFIGURATIONS[4].1);
    let before = files(&dir, "home");
    for words in [
        &["install", "claude-code"][..],
        &["install", "claude-code", "--name", "github"],
        &["install", "codex", "--name", "github"],
        &["install", "gemini", "--json"],
    ] {
        let output = dir.run_words(words).await.expect(4);
        writeln!(shown, "$ toolcrib {}\n{}", words.join(" "), output.report()).unwrap();
    }
    assert_eq!(files(&dir, "home"), before, "nothing was written");
    assert!(!shown.contains(SESAME), "keys of others are not shown: {shown}");
    for words in [
        &["install", "claude-code", "--yes"][..],
        &["install", "--list"],
        &["install", "claude-code", "--undo", "--yes"],
    ] {
        let output = dir.run_words(words).await.expect(0);
        writeln!(shown, "$ toolcrib {}\n{}", words.join(" "), output.report()).unwrap();
    }
    snapshot!(dir, shown);
}
