//! The built-in stages.

mod execute;
mod filter;
mod recovery;
mod texts;
mod turn;

use super::settings::StageKind;
use super::stage::{Asker, Stage};

/// Creates the stage of a type that asks a model.
pub(super) fn asking(asker: Asker, votes: u32) -> Box<dyn Stage> {
    match asker.stage {
        StageKind::Persona => Box::new(texts::Persona(asker)),
        StageKind::Scenario => Box::new(texts::Scenario(asker)),
        StageKind::Plan => Box::new(turn::Plan(asker)),
        StageKind::Utterance => Box::new(turn::Utterance(asker)),
        StageKind::Verify => Box::new(turn::Verify(asker)),
        StageKind::Search => Box::new(turn::Search(asker)),
        StageKind::Clarify => Box::new(recovery::Clarify(asker)),
        StageKind::ErrorTurn => Box::new(recovery::ErrorTurn(asker)),
        StageKind::Answer => Box::new(turn::Answer(asker)),
        StageKind::Preference => Box::new(texts::Preference(asker)),
        StageKind::Filter => Box::new(filter::Filter { asker, votes }),
        StageKind::Execute => Box::new(execute::Execute),
    }
}

/// Creates the stage that makes the calls.
pub(super) fn execute() -> Box<dyn Stage> {
    Box::new(execute::Execute)
}
