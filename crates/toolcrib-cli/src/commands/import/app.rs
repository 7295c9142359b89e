//! The app file that is written.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use toolcrib_model::text::is_invisible;

use super::server::{ImportedServer, Transport};
use crate::file_edit::quoted;
use crate::ui::printable::excerpt;

/// The most bytes of a name or a reason in a comment.
const MAX_COMMENT_BYTES: usize = 300;

/// The most characters of a namespace that is made of a name, without a number behind it.
const MAX_NAMESPACE_CHARS: usize = 48;

/// The namespace of a server whose name has nothing that a namespace may have.
const NAMELESS: &str = "server";

/// Returns a namespace for the server of this name that no other has.
pub(super) fn namespace(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut plain = String::new();
    for c in name.chars().take(MAX_NAMESPACE_CHARS) {
        let is_kept = (c.is_alphanumeric() || matches!(c, '_' | '-')) && !is_invisible(c);
        match (is_kept, plain.ends_with('_')) {
            (true, _) => plain.push(c),
            (false, false) => plain.push('_'),
            (false, true) => {}
        }
    }
    let plain = plain.trim_matches('_');
    let plain = if plain.is_empty() { NAMELESS } else { plain };
    let mut namespace = plain.to_owned();
    let mut number = 2_usize;
    // Names that differ only in case are too easy to confuse.
    while !taken.insert(namespace.to_lowercase()) {
        namespace = format!("{plain}_{number}");
        number += 1;
    }
    namespace
}

/// Returns the whole file; what was left out stands in it with the reason.
pub(super) fn text(servers: &[ImportedServer], left_out: &[(String, String)]) -> String {
    let mut text = String::from(
        "# Written by `toolcrib import`: MCP servers of other clients, each under the place that it was taken from.\n\
         app: {id: imported}\n\ntools:\n  registry:\n",
    );
    if !servers.iter().any(|server| !server.is_disabled) {
        text.truncate(text.trim_end().len());
        text.push_str(" []\n");
    }
    for server in servers {
        text.push_str(&entry(server));
    }
    for (source, reason) in left_out {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    # {} was left out: {}", comment(source), comment(reason));
    }
    text.push_str(
        "  capabilities:\n    default_policy: approve      # ask before anything that no rule below matches\n    \
         # grant:\n    #   - {module: NAMESPACE, actions: [TOOL]}\n",
    );
    text
}

/// One server with its comment; all of it is a comment where the client does not start it.
pub(super) fn entry(server: &ImportedServer) -> String {
    let mut head = String::new();
    let files = server.files.join(" and ");
    let off = if server.is_disabled { ", which is switched off there" } else { "" };
    let _ = writeln!(head, "    # {} in {}{off}", comment(&format!("`{}`", server.name)), comment(&files));
    for note in &server.notes {
        let _ = writeln!(head, "    # {}", comment(note));
    }
    let mut lines = vec!["- type: mcp".to_owned(), format!("  namespace: {}", quoted(&server.namespace))];
    match &server.transport {
        Transport::Stdio { command, env, cwd } => {
            let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
            lines.push(format!("  command: [{}]", words.join(", ")));
            lines.extend(map("env", env));
            lines.extend(cwd.as_ref().map(|cwd| format!("  cwd: {}", quoted(cwd))));
        }
        Transport::Remote { url, protocol, headers } => {
            lines.push(format!("  url: {}", quoted(url)));
            lines.extend(protocol.map(|protocol| format!("  transport: {protocol}")));
            lines.extend(map("headers", headers));
        }
    }
    lines.extend(server.startup_seconds.map(|seconds| format!("  startup_timeout_seconds: {seconds}")));
    let sign = if server.is_disabled { "# " } else { "" };
    lines.iter().fold(head, |text, line| format!("{text}    {sign}{line}\n"))
}

fn map(key: &str, pairs: &[(String, String)]) -> Vec<String> {
    let head = (!pairs.is_empty()).then(|| format!("  {key}:"));
    let lines = pairs.iter().map(|(name, value)| format!("    {}: {}", quoted(name), quoted(value)));
    head.into_iter().chain(lines).collect()
}

/// Returns a text as one line of a comment.
fn comment(text: &str) -> String {
    excerpt(text, MAX_COMMENT_BYTES)
}
