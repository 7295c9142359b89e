//! The tools of a server: their list, its cache, and their comparison with the approved ones.
//!
//! - The `loader` fetches a `catalog`, and converts its entries by `conversion`.
//! - `resources_and_prompts` adds tools for the other features of a server.
//! - `tools_cache` keeps catalogs on disk, `trust_lock` the approved definitions; `source_secrets` keeps secrets
//!   out of both.

pub(crate) mod catalog;
pub(crate) mod conversion;
pub(crate) mod digest;
mod loader;
pub(crate) mod resources_and_prompts;
mod source_secrets;
mod tools_cache;
mod trust_lock;

pub use catalog::{MAX_PAGES, MAX_TOOLS};
pub use loader::McpLoader;
pub use tools_cache::ToolsCache;
pub use trust_lock::{Change, MAX_LOCK_BYTES, TrustLock, TrustLockError};
