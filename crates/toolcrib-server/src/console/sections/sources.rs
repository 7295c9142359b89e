//! The section with the sources of the tools and their states.

use std::collections::BTreeMap;

use maud::{Markup, html};
use toolcrib_policy::OverrideTarget;
use toolcrib_port::{Reject, RejectKind};

use super::super::Viewer;
use super::super::html::text;
use super::{ConsoleView, heading, table};

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

impl ConsoleView<'_> {
    pub(super) fn sources(&self) -> Markup {
        let (snapshot, health) = (self.runtime.snapshot(), self.runtime.health());
        let mut sources: BTreeMap<&str, SourceRow<'_>> = BTreeMap::new();
        let is_visible = self.visibility();
        for entry in snapshot.iter().filter(|entry| is_visible(entry)) {
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
        let rows = html! {
            @for (name, source) in sources.iter().take(MAX_SOURCES) {
                tr {
                    td data-label="Source" { (text(name)) }
                    @match (source.down, health.get(*name)) {
                        (None, None) => td data-label="State" class="ok" { "loaded" },
                        (None, Some(Ok(state))) => td data-label="State" class="ok" { "loaded, " (text(state)) },
                        (None, Some(Err(reason))) => td data-label="State" class="bad" { b { "loaded, fails:" } " " (text(reason)) },
                        (Some(reject), _) => td data-label="State" class="bad" { b { (state(reject.kind)) } " " (text(&reject.reason)) },
                    }
                    td data-label="Tools" class="number" { (source.tools) }
                    td data-label=[(!source.rejects.is_empty()).then_some("Rejected")] {
                        @for reject in source.rejects.iter().take(MAX_REJECTS) {
                            div class="bad" {
                                b { (text(reject.name.as_deref().unwrap_or_default())) } " " (text(&reject.reason))
                            }
                        }
                        @if source.rejects.len() > MAX_REJECTS {
                            div { "and " (source.rejects.len() - MAX_REJECTS) " more" }
                        }
                    }
                    td { (self.disabling(&OverrideTarget::Source((*name).to_owned()))) }
                }
            }
        };
        html! {
            section id="sources" data-live="" {
                (heading("Sources", sources.len()))
                (table("Sources", &["Source", "State", "Tools", "Rejected", "Change"], &rows))
            }
        }
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
