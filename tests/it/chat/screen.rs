//! A conversation in a pane of `tmux`.

use std::path::{Path, PathBuf};

use toolcrib_testkit::wait_until;

use crate::support::{PATIENCE, TestDir, binary};

/// The lines of the pane; those that scrolled out of it are seen too.
const LINES: &str = "50";

/// Runs the binary and says how it ended, which `tmux` itself tells too late to rely on. Ctrl-C is for the binary.
const SHELL: &str = r#"trap : INT; "$0" "$@"; echo "[exit $?]""#;

/// A pane in which the binary runs.
pub(super) struct ChatScreen<'a> {
    dir: &'a TestDir,
    tmux: PathBuf,
}

impl<'a> ChatScreen<'a> {
    /// Starts the binary in a pane of this width.
    pub(super) fn start(dir: &'a TestDir, tmux: &Path, columns: u16, arguments: &[&str]) -> Self {
        let chat = Self { dir, tmux: tmux.to_owned() };
        let (columns, binary) = (columns.to_string(), binary());
        let mut words = vec!["new-session", "-d", "-x", &columns, "-y", LINES];
        words.extend(["sh", "-c", SHELL, binary.to_str().unwrap()]);
        words.extend(arguments);
        // What it showed last is still there after its end.
        words.extend([";", "set-option", "remain-on-exit", "on"]);
        chat.run(&words);
        chat
    }

    /// Types a text.
    pub(super) fn types(&self, text: &str) {
        self.run(&["send-keys", "-l", "--", text]);
    }

    /// Presses a key.
    pub(super) fn key(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    /// Pastes a text, as a terminal with bracketed paste does.
    pub(super) fn pastes(&self, text: &str) {
        self.run(&["set-buffer", "--", text]);
        self.run(&["paste-buffer", "-p"]);
    }

    /// Returns what is seen when a text is there.
    pub(super) async fn until(&self, text: &str) -> String {
        let found = wait_until(text, PATIENCE, || Ok(Some(self.seen()).filter(|seen| seen.contains(text))));
        found.await.unwrap_or_else(|error| panic!("{error}: {}", self.seen()))
    }

    /// Waits until the program waits for a message.
    pub(super) async fn prompt(&self) {
        let is_prompt = || {
            let seen = self.seen();
            let is_empty = seen.trim_end().lines().next_back().is_some_and(|line| line.trim_end() == ">");
            Ok(is_empty.then_some(()))
        };
        let prompt = wait_until("a prompt", PATIENCE, is_prompt).await;
        prompt.unwrap_or_else(|error| panic!("{error}: {}", self.seen()));
    }

    /// Waits for the end of the program, which has to succeed.
    pub(super) async fn ended(&self) {
        let seen = self.until("[exit ").await;
        assert!(seen.contains("[exit 0]"), "{seen}");
    }

    /// Closes the pane.
    pub(super) async fn close(self) {
        self.run(&["kill-server"]);
        self.dir.assert_nothing_is_left(&[]).await;
    }

    fn seen(&self) -> String {
        self.run(&["capture-pane", "-p", "-S", "-"])
    }

    fn run(&self, words: &[&str]) -> String {
        let mut command = self.dir.command(&self.tmux, &self.dir.path("."));
        // The server of this test alone, and no configuration of the person who runs it.
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(self.dir.path("tmux")).args(words);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        let output = command.as_std_mut().output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}
