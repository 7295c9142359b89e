//! The view of agents and clients on an app: their tools, prompts and models.

mod caller_view;
mod injection;
mod models;
mod setup;
mod surface;

pub use caller_view::CallerView;
pub use models::{ChosenModel, ContextWindows};
pub use setup::{AgentSetup, PromptTexts};
pub use surface::Surface;
