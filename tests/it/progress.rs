//! What a terminal shows while a command works, and the list of tools on it.

use std::fs;
use std::io::Read as _;

use tokio::time::timeout;
use toolcrib_testkit::TestTerminal;

use crate::support::{PATIENCE, TestDir, binary, mcp_script};

/// The columns of a terminal that does not say them.
const COLUMNS: usize = 80;

/// Waits until the screen has said what is going on.
const WAITS: &str = "on_start() { while [ ! -e seen ]; do sleep 0.05; done; }";

#[tokio::test]
async fn a_command_that_takes_longer_than_a_second_says_what_it_is_doing() {
    let dir = TestDir::new().with_file("server.sh", mcp_script(WAITS));
    let TestTerminal { seat: mut screen, terminal, .. } = TestTerminal::open().unwrap();
    let mut command = dir.command(binary(), &dir.path(""));
    command.args(["load", "--mcp", "sh server.sh", "--namespace", "desk"]).env("TERM", "xterm");
    let mut child = command.stdout(terminal.try_clone().unwrap()).stderr(terminal).spawn().unwrap();
    // The terminal ends when no program has it open any more.
    drop(command);
    let seen = dir.path("seen");
    let text = tokio::task::spawn_blocking(move || {
        let (mut text, mut part) = (String::new(), [0; 4096]);
        while let Ok(count @ 1..) = screen.read(&mut part) {
            text.push_str(&String::from_utf8_lossy(&part[..count]));
            if text.contains("loading the source (1 s)") {
                fs::write(&seen, "").unwrap();
            }
        }
        text
    });
    let text = timeout(PATIENCE, text).await.expect("it ends").unwrap();
    assert!(child.wait().await.unwrap().success(), "{text:?}");
    let (before, list) = text.split_once("tool ").unwrap_or_else(|| panic!("no list: {text:?}"));
    assert!(before.contains("loading the source (1 s)") && before.ends_with("\u{1b}[K"), "{text:?}");
    assert!(list.contains("desk.ask") && list.contains("1 tool from "), "{text:?}");
    // Up to its last erasure, a line holds what was shown before it.
    let lines = list.lines().map(|line| line.rsplit("\u{1b}[K").next().unwrap_or_default());
    let wide: Vec<&str> = lines.filter(|line| line.chars().count() > COLUMNS).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}
