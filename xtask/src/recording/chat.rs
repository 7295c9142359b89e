//! Screenshots of a conversation: the program in a pane of `tmux`, with the turns of a recording.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::ansi;
use crate::workspace::Workspace;

/// The widths of the terminals, each with its lines.
const SIZES: [(usize, usize); 3] = [(60, 60), (80, 60), (200, 60)];

/// The longest time until a text is shown.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pause between two looks at the screen.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The app of the conversation.
const APP: &str = r#"
agents:
  - id: clerk
    brain: {provider: recorded, model: recorded, recording: turns.yaml}
tools:
  registry: [{type: file, path: tools.yaml, engine: shop}]
  engines:
    shop: {type: command, argv: [sh, shop.sh, "{item}"]}
  capabilities: {default_policy: approve, grant: [{module: shop, risk: low}]}
"#;

const TOOLS: &str = "
shop:
  - name: find
    description: Finds items.
    risk: low
    parameters: {type: object, properties: {item: {type: string}}, required: [item]}
  - name: order
    description: Orders an item.
    risk: high
    parameters: {type: object, properties: {item: {type: string}, count: {type: integer}}, required: [item]}
";

const SHOP: &str = r#"
case "$1" in
  lamp) seq -s ', ' -f 'lamp %g' 1 40 ;;
  *) echo "ordered: $1" ;;
esac
"#;

const TURNS: &str = r"
turns:
  - text: I look into the stock.
    calls: [{name: shop__find, arguments: {item: lamp}}]
  - text: |
      ## Lamps in stock

      There are **forty lamps**. These two are *the cheapest* ones, and both can be with you tomorrow:

      | lamp | price | in stock |
      |---|---|---|
      | desk lamp | 20 euro | 7 |
      | floor lamp | 45 euro | 2 |

      1. Tell me which one you like.
      2. I order it with `shop.order`, after you have approved it.
  - calls: [{name: shop__order, arguments: {item: desk lamp, count: 1}}]
  - text: Ordered.
";

/// Writes a screenshot for each size.
pub(super) fn run(workspace: &Workspace, binary: &Path) -> Result<()> {
    for (columns, lines) in SIZES {
        let folder = tempfile::tempdir()?;
        let files = [("app.yaml", APP), ("tools.yaml", TOOLS), ("shop.sh", SHOP), ("turns.yaml", TURNS)];
        for (name, text) in files {
            fs::write(folder.path().join(name), text)?;
        }
        let pane = Pane::start(folder.path(), binary, columns, lines)?;
        pane.until("/help lists commands")?;
        pane.types("What lamps are there?")?;
        pane.until("after you have approved")?;
        pane.until_prompt()?;
        pane.types("Order the desk lamp.")?;
        pane.until("say why not]")?;
        let screen = pane.screen(true)?;
        let picture = format!("docs/images/chat-{columns}.svg");
        let label = format!("A conversation in a terminal of {columns} columns");
        let path = workspace.root.join(&picture);
        fs::write(&path, ansi::picture(&steady(&screen), columns, &label))
            .with_context(|| format!("could not write {}", path.display()))?;
        println!("recording: {picture}");
    }
    Ok(())
}

/// Returns a screen with one duration in place of all: each run takes another time.
fn steady(screen: &str) -> String {
    let mut parts = screen.split(" in ");
    let mut steady = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let behind = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_duration = behind.len() < part.len() && behind.starts_with(" ms");
        steady.push_str(" in ");
        steady.push_str(if is_duration { "3" } else { "" });
        steady.push_str(if is_duration { behind } else { part });
    }
    steady
}

/// A pane of a `tmux` server of its folder, which ends with it.
struct Pane<'a> {
    folder: &'a Path,
}

impl<'a> Pane<'a> {
    fn start(folder: &'a Path, binary: &Path, columns: usize, lines: usize) -> Result<Self> {
        let pane = Self { folder };
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let binary = binary.to_str().context("the path of the program is not UTF-8")?;
        pane.tmux(&["new-session", "-d", "-x", &columns, "-y", &lines, "--", binary, "chat", "app.yaml"])?;
        Ok(pane)
    }

    /// Types a line.
    fn types(&self, line: &str) -> Result<()> {
        self.tmux(&["send-keys", "-l", "--", line])?;
        self.tmux(&["send-keys", "Enter"])?;
        Ok(())
    }

    fn screen(&self, is_coloured: bool) -> Result<String> {
        let words: &[&str] =
            if is_coloured { &["capture-pane", "-p", "-e"] } else { &["capture-pane", "-p"] };
        Ok(String::from_utf8(self.tmux(words)?.stdout)?)
    }

    /// Waits for a text, which may be broken between words.
    fn until(&self, text: &str) -> Result<()> {
        self.wait(text, |screen| screen.split_whitespace().collect::<Vec<_>>().join(" ").contains(text))
    }

    /// Waits until the program waits for a message.
    fn until_prompt(&self) -> Result<()> {
        self.wait("a prompt", |screen| {
            screen.trim_end().lines().next_back().is_some_and(|line| line.trim_end() == ">")
        })
    }

    fn wait(&self, what: &str, is_there: impl Fn(&str) -> bool) -> Result<()> {
        let start = Instant::now();
        loop {
            let screen = self.screen(false)?;
            if is_there(&screen) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                bail!("expected {what} within {PATIENCE:?}, found:\n{screen}");
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn tmux(&self, words: &[&str]) -> Result<Output> {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(self.folder.join("tmux")).args(words);
        command.current_dir(self.folder).env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command.env("XDG_STATE_HOME", self.folder.join("state")).env_remove("NO_COLOR");
        let output = command.output().context("could not start tmux; install it")?;
        ensure!(output.status.success(), "tmux {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(output)
    }
}

impl Drop for Pane<'_> {
    fn drop(&mut self) {
        // A server that has ended already needs no end.
        let _ = self.tmux(&["kill-server"]);
    }
}

#[cfg(test)]
mod tests {
    use super::steady;

    #[test]
    fn a_screen_has_the_same_durations_each_time() {
        assert_eq!(
            steady("ok in 17 ms: lamps in stock in 2 s\nin 5 ms"),
            "ok in 3 ms: lamps in stock in 2 s\nin 5 ms"
        );
    }
}
