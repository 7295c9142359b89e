//! The configuration under `modules.database.config`, and the location of a database.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_model::Secret;

/// The maximum of `timeout_seconds`.
pub(crate) const MAX_TIMEOUT_SECONDS: u64 = 3600;

/// The maximum of `pool_size`.
pub(crate) const MAX_POOL_SIZE: u32 = 64;

/// The maximum of `max_connections`.
pub(crate) const MAX_CONNECTIONS: usize = 256;

/// The maximum of `max_page_bytes`.
pub(crate) const MAX_PAGE_BYTES: usize = 16 << 20;

/// The maximum of `max_rows`.
pub(crate) const MAX_PAGE_ROWS: usize = 100_000;

/// A setting that is out of its bounds.
#[derive(Debug, thiserror::Error)]
#[error("module `{}`: {message}", super::ID)]
pub struct ConfigError {
    message: String,
}

/// The configuration under `modules.database.config`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct DatabaseConfig {
    /// Connections that are available from the start, by name. The first call that uses one opens it. They are
    /// available to all sessions.
    pub connections: BTreeMap<String, Location>,
    /// True if tools may change data. Otherwise the database itself makes every transaction read-only.
    pub allow_writes: bool,
    /// True if `database.connect` may reach addresses that are not public, such as `localhost`. The connections under
    /// `connections` always may.
    pub allow_private_addresses: bool,
    /// The timeout of a call, in seconds; 30 by default. A statement that takes longer is cancelled at the server.
    pub timeout_seconds: u64,
    /// The maximum number of named connections; 8 by default.
    pub max_connections: usize,
    /// The maximum number of open connections to one database; 4 by default, and at least 2. Results with unread rows
    /// may hold all but one of them.
    pub pool_size: u32,
    /// The idle time after which a connection to a database is closed, in seconds; 300 by default. The next call opens
    /// it again.
    pub idle_seconds: u64,
    /// The time without `database.fetch_results` after which a result with unread rows is closed, in seconds; 120 by
    /// default.
    pub result_idle_seconds: u64,
    /// The maximum number of rows in one page; 1000 by default.
    pub max_rows: usize,
    /// The approximate maximum size of the rows of one page as JSON, in bytes; 262144 by default.
    pub max_page_bytes: usize,
    /// The maximum size of one value, in bytes; 8192 by default. Longer values are cut, and the result says so.
    pub max_cell_bytes: usize,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self {
            connections: BTreeMap::new(),
            allow_writes: false,
            allow_private_addresses: false,
            timeout_seconds: 30,
            max_connections: 8,
            pool_size: 4,
            idle_seconds: 300,
            result_idle_seconds: 120,
            max_rows: 1000,
            max_page_bytes: 256 << 10,
            max_cell_bytes: 8 << 10,
        }
    }
}

impl DatabaseConfig {
    /// Checks the bounds of the settings.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let within = |name: &str, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            let message = format!("`{name}` is {value}, expected a number between {least} and {most}");
            Err(ConfigError { message })
        };
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        within("timeout_seconds", self.timeout_seconds, 1, MAX_TIMEOUT_SECONDS)?;
        within("max_connections", count(self.max_connections), 1, count(MAX_CONNECTIONS))?;
        within("pool_size", self.pool_size.into(), 2, MAX_POOL_SIZE.into())?;
        within("idle_seconds", self.idle_seconds, 1, MAX_TIMEOUT_SECONDS)?;
        within("result_idle_seconds", self.result_idle_seconds, 1, MAX_TIMEOUT_SECONDS)?;
        within("max_rows", count(self.max_rows), 1, count(MAX_PAGE_ROWS))?;
        within("max_page_bytes", count(self.max_page_bytes), 1024, count(MAX_PAGE_BYTES))?;
        within("max_cell_bytes", count(self.max_cell_bytes), 16, count(MAX_PAGE_BYTES))?;
        within("connections", count(self.connections.len()), 0, count(self.max_connections))
    }
}

/// The kind of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Driver {
    /// A SQLite file in the workspace.
    Sqlite,
    /// A PostgreSQL server.
    #[serde(alias = "postgresql")]
    Postgres,
    /// A MySQL or MariaDB server.
    #[serde(alias = "mariadb")]
    Mysql,
}

impl Driver {
    /// Returns its name in YAML and in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The encryption of the connection to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tls {
    /// No encryption.
    Disable,
    /// Encryption if the server supports it, without a check of the server's identity.
    Prefer,
    /// Encryption, without a check of the server's identity.
    Require,
    /// Encryption, with a certificate of a trusted authority for the host of the connection.
    Verify,
}

/// The location of a database, and the credentials for it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// The kind of the database.
    pub driver: Driver,
    /// The SQLite file, relative to the workspace; or the name of the database at the server.
    pub database: String,
    /// The server's name or address; `localhost` by default.
    #[serde(default)]
    pub host: Option<String>,
    /// The server's port; 5432 or 3306 by default.
    #[serde(default)]
    pub port: Option<u16>,
    /// The user to connect as.
    #[serde(default)]
    pub user: Option<String>,
    /// The password of that user.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub password: Option<Secret>,
    /// The encryption of the connection. By default `verify` for public addresses, and `prefer` for others.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// A file with the certificates of the trusted authorities, in place of those of the machine. Only for connections
    /// of an app file.
    #[serde(default)]
    pub root_certificate: Option<PathBuf>,
    /// True to create the SQLite file if it does not exist. It needs `allow_writes`.
    #[serde(default)]
    pub create: bool,
    /// True for a connection that only reads, even if tools may change data.
    #[serde(default)]
    pub read_only: bool,
}

impl Location {
    /// Returns the location of a SQLite file.
    pub fn sqlite(path: impl Into<String>) -> Self {
        Self {
            driver: Driver::Sqlite,
            database: path.into(),
            host: None,
            port: None,
            user: None,
            password: None,
            tls: None,
            root_certificate: None,
            create: false,
            read_only: false,
        }
    }

    /// Returns the host and the port of the server.
    pub(super) fn server(&self) -> (&str, u16) {
        let port = match self.driver {
            Driver::Mysql => 3306,
            Driver::Sqlite | Driver::Postgres => 5432,
        };
        (self.host.as_deref().unwrap_or("localhost"), self.port.unwrap_or(port))
    }

    /// Describes the location for a message, without secrets.
    pub(super) fn describe(&self) -> String {
        match self.driver {
            Driver::Sqlite => format!("`{}`", self.database),
            driver => {
                let (host, port) = self.server();
                format!("`{}` of the {driver} server at {host}:{port}", self.database)
            }
        }
    }
}
