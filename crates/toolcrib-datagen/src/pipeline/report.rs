//! The report of a run.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use toolcrib_agent::chat::Usage;

use super::item::{Item, ItemOutcome};
use super::selection::Selection;
use crate::Kind;

/// The name of the selection among the stages of a report.
const HYGIENE: &str = "hygiene";

/// The report of a run: its yield by kind, and the reasons by which stages dropped conversations.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The number of conversations that were asked for.
    pub requested: u64,
    /// The number of conversations that were written.
    pub written: u64,
    /// The number of conversations that were started.
    pub started: u64,
    /// The number of conversations that were dropped.
    pub dropped: u64,
    /// The kept conversations by kind.
    pub kinds: BTreeMap<Kind, u64>,
    /// The dropped conversations by stage and reason.
    pub reasons: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// The number of written conversations from which secrets were removed.
    pub secrets_removed: u64,
    /// The usage of the models.
    pub usage: Usage,
    /// The reason why fewer conversations were written than asked for.
    pub stopped: Option<Stopped>,
}

/// The reason why a run has fewer conversations than asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stopped {
    /// The budget is used.
    Budget,
    /// The run was interrupted.
    Interrupted,
    /// Too many conversations were dropped.
    TooManyDropped,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Budget => "the budget is used",
            Self::Interrupted => "the run was interrupted",
            Self::TooManyDropped => "too many conversations were dropped",
        })
    }
}

impl Report {
    /// Counts items.
    pub(crate) fn of<'a>(items: impl IntoIterator<Item = &'a Item>, selection: &Selection) -> Self {
        let mut report = Self::default();
        for item in items {
            report.started += 1;
            report.usage += item.usage;
            match &item.outcome {
                Some(ItemOutcome::Kept) => match selection.left_out.get(&item.index) {
                    Some(reason) => {
                        report.dropped += 1;
                        let reasons = report.reasons.entry(HYGIENE).or_default();
                        *reasons.entry((*reason).to_owned()).or_default() += 1;
                    }
                    None => *report.kinds.entry(item.conversation.kind).or_default() += 1,
                },
                Some(ItemOutcome::Dropped(dropped)) => {
                    report.dropped += 1;
                    let reasons = report.reasons.entry(dropped.stage.name()).or_default();
                    *reasons.entry(dropped.reason.clone()).or_default() += 1;
                }
                None => {}
            }
        }
        report
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} of {} conversations written; {} started, {} dropped; {} tokens",
            self.written,
            self.requested,
            self.started,
            self.dropped,
            self.usage.tokens()
        )?;
        for (kind, count) in &self.kinds {
            let name = serde_json::to_value(kind).unwrap_or_default();
            writeln!(f, "  {:<18} {count}", name.as_str().unwrap_or_default())?;
        }
        for (stage, reasons) in &self.reasons {
            for (reason, count) in reasons {
                writeln!(f, "  dropped by {stage}: {reason}: {count}")?;
            }
        }
        if self.secrets_removed > 0 {
            writeln!(f, "  secrets removed from {} conversations", self.secrets_removed)?;
        }
        if let Some(stopped) = self.stopped {
            writeln!(f, "{stopped}")?;
        }
        Ok(())
    }
}
