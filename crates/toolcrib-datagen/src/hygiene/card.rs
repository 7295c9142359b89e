//! The data card: the origin and the yield of a data set, as Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::conversation::{Conversation, Kind};

/// The licence of a source of tools.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceLicence {
    /// The source.
    pub source: String,
    /// The licence, such as `Apache-2.0`; `None` if it is not stated.
    pub licence: Option<String>,
}

/// The card of a data set: what it holds, where it comes from, and what was left out. It displays as Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DataCard {
    /// The name of the data set.
    pub name: String,
    /// The seed of the run.
    pub seed: u64,
    /// The models that wrote texts.
    pub models: BTreeSet<String>,
    /// The sources of the tools, with their licences.
    pub licences: BTreeSet<SourceLicence>,
    /// The number of conversations of each kind.
    pub kinds: BTreeMap<Kind, usize>,
    /// The number of dropped conversations by their reason.
    pub dropped: BTreeMap<String, u64>,
    calls: usize,
    tools: BTreeSet<String>,
}

impl DataCard {
    /// Creates the card of an empty data set.
    pub fn new(name: impl Into<String>, seed: u64) -> Self {
        Self { name: name.into(), seed, ..Self::default() }
    }

    /// Counts a conversation, with its models and sources.
    pub fn add(&mut self, conversation: &Conversation) {
        *self.kinds.entry(conversation.kind).or_default() += 1;
        self.models.extend(conversation.provenance.models.iter().cloned());
        for source in &conversation.provenance.sources {
            if self.licences.iter().all(|known| known.source != *source) {
                self.licences.insert(SourceLicence { source: source.clone(), licence: None });
            }
        }
        for message in &conversation.messages {
            if let crate::conversation::Message::Assistant { calls, .. } = message {
                self.calls += calls.len();
                self.tools.extend(calls.iter().map(|call| call.name.clone()));
            }
        }
    }

    /// Sets the licences of sources that conversations use, by the names of the sources.
    pub fn set_licences(&mut self, licences: &BTreeMap<String, String>) {
        let used = std::mem::take(&mut self.licences).into_iter();
        self.licences = used
            .map(|SourceLicence { source, licence }| {
                let licence = licences.get(&source).cloned().or(licence);
                SourceLicence { source, licence }
            })
            .collect();
    }

    /// Counts a conversation that was dropped.
    pub fn drop_one(&mut self, reason: impl Into<String>) {
        *self.dropped.entry(reason.into()).or_default() += 1;
    }
}

impl fmt::Display for DataCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: usize = self.kinds.values().sum();
        writeln!(f, "# {}\n", one_line(&self.name))?;
        let (calls, tools) = (self.calls, self.tools.len());
        writeln!(
            f,
            "{total} generated conversations with {calls} calls of {tools} tools. Seed {}.\n",
            self.seed
        )?;
        writeln!(f, "## Kinds\n\n| kind | conversations |\n|---|---|")?;
        for (kind, count) in &self.kinds {
            writeln!(f, "| {} | {count} |", kind.name())?;
        }
        writeln!(f, "\n## Models\n")?;
        if self.models.is_empty() {
            writeln!(f, "No model is recorded.")?;
        }
        for model in &self.models {
            writeln!(f, "- {}", one_line(model))?;
        }
        writeln!(f, "\n## Sources\n\n| source | licence |\n|---|---|")?;
        for SourceLicence { source, licence } in &self.licences {
            let licence = licence.as_deref().unwrap_or("not stated");
            writeln!(f, "| {} | {} |", one_line(source), one_line(licence))?;
        }
        if !self.dropped.is_empty() {
            let dropped: u64 = self.dropped.values().sum();
            writeln!(f, "\n## Left out\n\n{dropped} of {} conversations.\n", total as u64 + dropped)?;
            writeln!(f, "| reason | conversations |\n|---|---|")?;
            for (reason, count) in &self.dropped {
                writeln!(f, "| {} | {count} |", one_line(reason))?;
            }
        }
        Ok(())
    }
}

/// Returns a text that stays within its cell or line.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|")
}
