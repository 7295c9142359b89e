//! The view of agents and clients on an app: their tools, prompts and models.

pub mod app_uris;
mod caller_view;
mod injection;
mod key_command;
mod models;
mod scripts;
mod server_profiles;
mod setup;
mod setups;
mod surface;

pub use caller_view::{AppParts, CallerView, SourceNote};
pub use setup::{AgentSetup, ChosenModel};
pub use setups::AgentSetups;
pub use surface::Surface;
