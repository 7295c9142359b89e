//! The pipeline: stages that turn tools into conversations, a store that keeps each step, and the report.

mod error;
mod item;
mod mix;
mod plan;
mod report;
mod run;
mod selection;
pub mod settings;
mod stage;
mod stages;
mod store;
mod template;
mod tools;

#[cfg(test)]
mod tests;

pub use error::{PipelineError, StageError};
pub use item::{Dropped, Item, ItemOutcome};
pub use report::{Report, Stopped};
pub use run::{Pipeline, Progress};
pub use selection::ForbiddenTexts;
pub use settings::GenerateSettings;
pub use stage::{NamedModel, Stage, StageContext};
pub use store::EarlierRun;
pub use tools::ToolPool;
