//! The section with the sources of the tools and their states.

use std::collections::BTreeMap;

use toolcrib_port::{Reject, RejectKind};

use super::super::Viewer;
use super::super::html::Html;
use super::{PageView, cell, end_table, table};

/// The maximum number of sources that are shown.
const MAX_SOURCES: usize = 200;

/// The maximum number of rejected tools of a source that are shown.
const MAX_REJECTS: usize = 5;

#[derive(Default)]
struct SourceRow<'a> {
    tools: usize,
    /// The reason why the whole source failed.
    down: Option<&'a Reject>,
    rejects: Vec<&'a Reject>,
}

impl PageView<'_> {
    pub(super) fn sources(&self, html: &mut Html) {
        let (snapshot, health) = (self.runtime.snapshot(), self.runtime.health());
        let mut sources: BTreeMap<&str, SourceRow<'_>> = BTreeMap::new();
        for entry in snapshot.iter().filter(|entry| self.sees(entry)) {
            sources.entry(&entry.source).or_default().tools += 1;
        }
        for reject in snapshot.rejected() {
            // A source without permitted tools is hidden from a client.
            if matches!(self.viewer, Viewer::Client(_)) && !sources.contains_key(reject.source.as_str()) {
                continue;
            }
            let source = sources.entry(&reject.source).or_default();
            match reject.name {
                None => source.down = Some(reject),
                Some(_) => source.rejects.push(reject),
            }
        }
        html.markup("<section id=\"sources\">\n<h2>Sources <span class=\"count\">").show(sources.len());
        html.markup("</span></h2>\n");
        table(html, &["Source", "State", "Tools", "Rejected"]);
        for (name, source) in sources.iter().take(MAX_SOURCES) {
            html.markup("<tr>");
            cell(html, name);
            match (source.down, health.get(*name)) {
                (None, None) => html.markup("<td class=\"ok\">loaded</td>"),
                (None, Some(Ok(state))) => {
                    html.markup("<td class=\"ok\">loaded, ").text(state).markup("</td>")
                }
                (None, Some(Err(reason))) => {
                    html.markup("<td class=\"bad\"><b>loaded, fails:</b> ").text(reason).markup("</td>")
                }
                (Some(reject), _) => {
                    html.markup("<td class=\"bad\"><b>").markup(state(reject.kind)).markup("</b> ");
                    html.text(&reject.reason).markup("</td>")
                }
            };
            html.markup("<td class=\"number\">").show(source.tools).markup("</td><td>");
            for reject in source.rejects.iter().take(MAX_REJECTS) {
                html.markup("<div class=\"bad\"><b>").text(reject.name.as_deref().unwrap_or_default());
                html.markup("</b> ").text(&reject.reason).markup("</div>");
            }
            if source.rejects.len() > MAX_REJECTS {
                html.markup("<div>and ").show(source.rejects.len() - MAX_REJECTS).markup(" more</div>");
            }
            html.markup("</td></tr>\n");
        }
        end_table(html);
        html.markup("</section>\n");
    }
}

/// Returns the state of a source that did not load.
fn state(kind: RejectKind) -> &'static str {
    match kind {
        RejectKind::Unavailable => "not connected:",
        RejectKind::NeedsLogin => "waits for a login:",
        _ => "did not load:",
    }
}
