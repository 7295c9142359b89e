//! The view of agents and clients on an app: their tools, prompts and models.

mod caller_view;
mod context_windows;
mod injection;
mod models;
mod scripts;
mod setup;
mod surface;

pub use caller_view::CallerView;
pub use context_windows::ContextWindows;
pub use setup::{AgentSetup, ChosenModel, PromptTexts};
pub use surface::Surface;
