//! From `app.yaml` to a running app.
//!
//! An [`App`] is an app file that has been read and checked: nothing is loaded or started yet. [`Runtime::start`] wires
//! it up: sources into a registry, rules into a policy, engines into the one entrance. An [`AgentSetup`] is what one of
//! its agents is shown. [`Runtime::close`] ends everything that it started.
//!
//! ```
//! use std::sync::Arc;
//! use toolcrib_exec::DenyAll;
//! use toolcrib_model::ToolCall;
//! use toolcrib_port::CallContext;
//! use toolcrib_runtime::{App, Runtime};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "modules: {hello: {}}\ntools: {capabilities: {default_policy: grant}}\n";
//! let app = App::from_text("app.yaml", text)?;
//! let runtime = Runtime::start(app, Arc::new(DenyAll)).await?;
//! let result = runtime.executor().call(ToolCall::new("hello.status", Default::default()), &CallContext::new("s")).await;
//! assert!(result.is_ok());
//! runtime.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! It connects the crates below, which make all decisions.

mod agent;
mod app;
mod config;

mod checked_loader;
mod extensions;
mod modules;
mod nesting;
mod protected_files;
mod setup;
mod sources;

mod call_app;
mod runtime;
mod services;
mod source_reload;
mod tasks;

mod error;

#[cfg(test)]
mod tests;

pub use toolcrib_loader_mcp::{Change, TrustLock, TrustLockError};

pub use agent::injection::SourceNote;
pub use agent::setup::{AgentSetup, ChosenModel};
pub use agent::surface::Surface;
pub use app::App;
pub use call_app::{CalledAppConfig, MAX_APP_DEPTH, MAX_APPS, MAX_RUNNING_APPS};
pub use config::search::{
    DEFAULT_MODEL, SearchSection, SearchTier, models_folder, open_model, runtime_library_folder,
};
pub use config::serve::{
    LOCAL_CLIENT, MAX_BODY_BYTES, MAX_OAUTH_CLIENTS, MAX_TOKENS, MIN_TOKEN_CHARS, OAuthClient, OAuthConfig,
    SERVED_SESSIONS, ServeLimits, ServeSection, ServedClient, ServedOAuth, SignatureAlgorithm, SurfaceMode,
    TokenConfig, sessions_of,
};
pub use config::settings::{
    AgentConfig, AppConfig, AppSection, AuditSection, BrainConfig, ExecutionSection, LimitsSection,
    ModuleConfig, PricesConfig, RuntimeSection, SchemaForm, SetupAction, SizeEstimate, ToolChoiceConfig,
    ToolsSection,
};
pub use config::skills::SkillsSection;
pub use error::Error;
pub use extensions::{EntryContext, Extensions};
pub use modules::ModuleSchema;
pub use nesting::{MAX_PROCESS_DEPTH, MAX_SERVED_APPS, serve_arguments};
pub use runtime::Runtime;
pub use source_reload::AppWatch;
pub use sources::{Source, SourceRequest, state_folder, state_name};
pub use tasks::{DRAIN_TIME, OwnedTask, TaskStore, TaskSummary, Tasks};
pub use toolcrib_loader_mcp::{Authorization, Error as AuthorizationError, LOGIN_TIMEOUT, LoopbackRedirect};
pub use toolcrib_modules::NoConfig;
pub use toolcrib_tasks::Terminal;
pub use toolcrib_tasks::makes_tasks;
