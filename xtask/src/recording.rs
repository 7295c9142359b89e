//! `cargo xtask recording`: the pictures of terminals in the documentation, rendered from real output.

mod ansi;
mod chat;

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// The recorded command, as it is typed.
const COMMAND: &str = "toolcrib run examples/quickstart/app.yaml";

/// The picture, relative to the root.
const PICTURE: &str = "docs/images/quickstart.svg";

/// The columns of the terminal. Longer lines are cut.
const COLUMNS: usize = 118;

/// The size of a character and the height of a line, in pixels.
const CHARACTER: f64 = 7.8;
const LINE: usize = 19;

/// The space around the text, in pixels.
const MARGIN: usize = 20;

/// The height of the title bar, in pixels.
const BAR: usize = 32;

/// The pause before a line appears, in seconds: longer after a command than within its output.
const PAUSE: f64 = 0.55;
const SHORT_PAUSE: f64 = 0.12;

/// Builds the program, runs the command without a key, and writes its picture and those of a conversation.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let binary = workspace.build_program()?;
    // Both streams share one pipe, so that their lines have the order of a terminal.
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1"]).arg(&binary).args(COMMAND.split_whitespace().skip(1));
    command.current_dir(&workspace.root).env_remove("OPENAI_API_KEY");
    let output = command.output().with_context(|| format!("could not start {}", binary.display()))?;
    let log = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{COMMAND}: {}\n{log}", output.status);
    let lines: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    let path = workspace.root.join(PICTURE);
    fs::write(&path, picture(&lines)).with_context(|| format!("could not write {}", path.display()))?;
    println!("recording: {PICTURE}, {} lines", lines.len());
    chat::run(workspace, &binary)
}

/// Returns the recording as SVG. Its lines appear one after the other, or at once if reduced motion is preferred.
fn picture(lines: &[&str]) -> String {
    let height = BAR + 2 * MARGIN + (lines.len() + 1) * LINE;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a width of some hundred pixels"
    )]
    #[expect(clippy::cast_precision_loss, reason = "a number of columns")]
    let width = 2 * MARGIN + (COLUMNS as f64 * CHARACTER) as usize;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"A terminal that runs {COMMAND}\">\n\
         <style>\n\
         text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d4d4d8; white-space: pre }}\n\
         .command {{ fill: #fafafa }} .call {{ fill: #7dd3fc }} .ok {{ fill: #86efac }} .failed {{ fill: #fca5a5 }}\n\
         .note {{ fill: #a1a1aa }}\n\
         .line {{ opacity: 0; animation: show 0.01s forwards }}\n\
         @keyframes show {{ to {{ opacity: 1 }} }}\n\
         @media (prefers-reduced-motion) {{ .line {{ opacity: 1; animation: none }} }}\n\
         </style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#18181b\"/>\n\
         <circle cx=\"20\" cy=\"16\" r=\"5\" fill=\"#f87171\"/><circle cx=\"38\" cy=\"16\" r=\"5\" fill=\"#fbbf24\"/>\
         <circle cx=\"56\" cy=\"16\" r=\"5\" fill=\"#4ade80\"/>\n"
    );
    let mut delay = PAUSE;
    let command = format!("$ {COMMAND}");
    for (index, line) in std::iter::once(command.as_str()).chain(lines.iter().copied()).enumerate() {
        let class = class(line);
        let y = BAR + MARGIN + index * LINE;
        // Writing to a string does not fail.
        let _ = writeln!(
            svg,
            "<text class=\"line {class}\" style=\"animation-delay: {delay:.2}s\" x=\"{MARGIN}\" y=\"{y}\">{}</text>",
            escaped(line)
        );
        delay += if class.is_empty() { SHORT_PAUSE } else { PAUSE };
    }
    svg.push_str("</svg>\n");
    svg
}

/// Returns the style of a line.
fn class(line: &str) -> &'static str {
    match line.trim_start() {
        line if line.starts_with("$ ") => "command",
        line if line.starts_with("-> ") => "call",
        line if line.starts_with("ok ") => "ok",
        line if line.starts_with("failed ") => "failed",
        line if line.starts_with("note: ") || line.contains(" turns, ") => "note",
        _ => "",
    }
}

/// Returns a line as SVG text, cut at the width of the terminal.
fn escaped(line: &str) -> String {
    let cut = line.chars().count() > COLUMNS;
    let kept: String = line.chars().take(if cut { COLUMNS - 1 } else { COLUMNS }).collect();
    let text = kept.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if cut { text + "…" } else { text }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, picture};

    #[test]
    fn a_recording_shows_each_line_in_order_and_cuts_those_that_are_too_long() {
        let long = "x".repeat(COLUMNS + 1);
        let svg = picture(&["-> a.b {\"x\": \"<&>\"}", "   failed in 1 ms", &long]);
        let classes: Vec<&str> =
            svg.split("class=\"line ").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(classes, ["command", "call", "failed", ""]);
        assert!(svg.contains("&lt;&amp;&gt;") && svg.contains("x…</text>"), "{svg}");
        assert!(!svg.contains(&long));
    }
}
