//! Databases: SQLite files of the workspace, and PostgreSQL, MySQL and MariaDB servers.
//!
//! Connections have names. Each call is one transaction on one connection of a bounded pool, and leaves no state in it.
//! The database itself makes a transaction read-only, unless the tool changes data and the configuration allows it. The
//! rights of a user at a server are up to its operator; this module opens no file outside of the workspace and reaches
//! no host that `access` does not name.
//!
//! Rows are streamed: a result that is longer than a page stays open at the database, and further rows are read on
//! request. A statement that exceeds its deadline or whose call was cancelled is cancelled at the database: by an
//! interrupt in SQLite, `pg_cancel_backend` in PostgreSQL, `KILL QUERY` in MySQL. In addition, the servers themselves
//! end a transaction after 15 minutes.
//!
//! One row is held in memory as a whole before it is cut, so a value takes as much memory as the database allows it.
//!
//! ```
//! use toolcrib_io::files::{ProtectedFiles, Root};
//! use toolcrib_module_database::{DatabaseConfig, module};
//! use toolcrib_policy::Access;
//!
//! let workspace = Root::open(std::env::temp_dir())?;
//! let module = module(DatabaseConfig::default(), workspace, Access::unlimited(), ProtectedFiles::default())?;
//! assert!(module.actions().any(|action| action == "query"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// The drivers share functions, not all of which each of them needs.
#![cfg_attr(not(all(feature = "mysql", feature = "postgres", feature = "sqlite")), allow(dead_code))]

#[cfg(not(any(feature = "mysql", feature = "postgres", feature = "sqlite")))]
compile_error!("enable at least one of the features `mysql`, `postgres`, and `sqlite`");

mod arguments;
mod config;
mod dialect;
mod errors;
mod output;
mod parameters;
mod statement_check;

mod backend;
mod catalog;
mod connection;
mod module;
mod tools;
mod transaction;

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(all(feature = "mysql", feature = "postgres", feature = "sqlite"))]
#[cfg(test)]
mod tests;

pub use config::{ConfigError, DatabaseConfig, Driver, Location, Tls};
pub use module::module;

/// The namespace of the tools.
pub const ID: &str = "database";
