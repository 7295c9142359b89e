//! The view of agents and clients on an app: their tools, prompts and models.

pub mod app_uris;
mod caller_view;
mod injection;
mod key_command;
mod models;
mod scripts;
mod server_profiles;
mod setup;
mod surface;

pub use caller_view::CallerView;
pub use server_profiles::ServerProfiles;
pub use setup::{AgentSetup, ChosenModel, PromptTexts};
pub use surface::Surface;
