//! From the text of an app file to a blueprint.
//!
//! An [`App`] is an app file that has been read: its settings have their types. A [`Blueprint`] is the same with all
//! of its parts built and checked: rules, modules, sources, channels, skills, and the apps that it calls. What is wrong
//! is said for all parts at once, each with its line and column. Nothing is started and nothing remote is reached;
//! `toolcrib-runtime` does that.
//!
//! Each file of [`sections`] has the settings of one section of `app.yaml`, with their reference documentation, their
//! checks and their warnings. [`Extensions`] are the modules, sources and engines that a file may name.
//!
//! ```
//! use toolcrib_app::Blueprint;
//!
//! let text = "app: {id: greeter}\nmodules: {hello: {}}\ntools: {capabilities: {default_policy: grant}}\n";
//! assert!(Blueprint::from_text("app.yaml", text).is_ok());
//!
//! let Err(error) = Blueprint::from_text("app.yaml", "tools:\n  capabilitys: {}\n") else { panic!("it is valid") };
//! assert!(error.to_string().contains("app.yaml:2:3: unknown key `capabilitys`, did you mean `capabilities`?"));
//! ```

mod agents;
mod app;
mod audit;
mod blueprint;
mod called_apps;
mod error;
mod extensions;
mod file;
mod findings;
mod loaded;
mod login;
mod nesting;
mod options;
mod protected_files;
mod resolved;
mod schema;
mod secrets;
mod settings;
mod sources;
mod state_name;

pub mod sections;

#[cfg(test)]
mod tests;

pub use agents::app_uris::{self, AppUris};
pub use agents::{AgentSetup, AgentSetups, AppParts, CallerView, ChosenModel, SourceNote, Surface};
pub use app::App;
pub use blueprint::Blueprint;
pub use error::{Error, OPERATOR_HINTS, override_failure};
pub use extensions::Extensions;
pub use extensions::entry::EntryContext;
pub use file::AppFile;
pub(crate) use file::expansion::expanded;
pub use file::templates::escape_secrets;
pub use nesting::{serve_arguments, too_deep};
pub use options::LaunchOptions;
pub use schema::module_schema::ModuleSchema;
pub use secrets::{SecretOrigin, SecretProviderConfig};
pub use settings::{AppConfig, ToolsSection};
pub use sources::{BuiltSource, CheckedLoader, LoadObserver, SourceRequest, UnavailableSource};
pub use state_name::state_name;
pub use toolcrib_loader_mcp::tools::Change;
pub use toolcrib_modules::NoConfig;
pub use toolcrib_oauth as oauth;
pub use toolcrib_tasks::TaskStore;
pub use toolcrib_tasks::channels::Terminal;
