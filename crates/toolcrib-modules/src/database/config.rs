//! What an app file may say under `modules.database.config`, and where a database is.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_model::Secret;

use crate::Error;

/// The longest that a call may be allowed to take, in seconds.
pub const MAX_TIMEOUT_SECONDS: u64 = 3600;

/// The most connections to one database that an app may ask for.
pub const MAX_POOL_SIZE: u32 = 64;

/// The most named connections that an app may ask for.
pub const MAX_CONNECTIONS: usize = 256;

/// The largest page of rows that an app may ask for, in bytes.
pub const MAX_PAGE_BYTES: usize = 16 << 20;

/// The most rows of a page that an app may ask for.
pub const MAX_PAGE_ROWS: usize = 100_000;

/// What an app file may say under `modules.database.config`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Connections that are there from the start, by name. Each is opened by the first call that uses it, and is there
    /// for all sessions.
    pub connections: BTreeMap<String, Location>,
    /// Whether tools may change data. Otherwise every transaction is read-only, which the database itself sees to.
    pub allow_writes: bool,
    /// Whether `database.connect` may reach addresses that are not public, as `localhost`. Those under `connections` may.
    pub allow_private_addresses: bool,
    /// How long a call may take, in seconds; 30 by default. A statement that takes longer is ended at the server.
    pub timeout_seconds: u64,
    /// How many named connections there may be; 8 by default.
    pub max_connections: usize,
    /// How many connections to one database are open at most; 4 by default, and at least 2. All but one of them may be
    /// held by results that were not read to their end.
    pub pool_size: u32,
    /// After how many seconds without use a connection to a database is closed; 300 by default. It is opened again when
    /// it is needed.
    pub idle_seconds: u64,
    /// After how many seconds without `database.fetch_results` a result is closed that was not read to its end; 120 by
    /// default.
    pub result_idle_seconds: u64,
    /// The most rows of one page; 1000 by default.
    pub max_rows: usize,
    /// About how many bytes of JSON the rows of one page have at most; 262144 by default.
    pub max_page_bytes: usize,
    /// How many bytes of one value are shown; 8192 by default. What is longer is cut, and the result says so.
    pub max_cell_bytes: usize,
}

impl Default for Config {
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

impl Config {
    /// Refuses what is out of bounds.
    pub(super) fn check(&self) -> Result<(), Error> {
        let within = |name: &str, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            let message = format!("`{name}` is {value}, and has to be between {least} and {most}");
            Err(Error::Config { module: super::ID, message })
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

/// Which kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Driver {
    /// A file of SQLite in the workspace.
    Sqlite,
    /// A PostgreSQL server.
    #[serde(alias = "postgresql")]
    Postgres,
    /// A MySQL or MariaDB server.
    #[serde(alias = "mariadb")]
    Mysql,
}

impl Driver {
    /// Its name in YAML and in results.
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

/// How the connection to a server is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tls {
    /// Not at all.
    Disable,
    /// If the server can, and whoever it is.
    Prefer,
    /// Always, and whoever it is.
    Require,
    /// Always, with a certificate of an authority that is trusted, for the host that is connected to.
    Verify,
}

/// Where a database is, and who connects to it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// Which kind of database it is.
    pub driver: Driver,
    /// The file of SQLite, relative to the workspace; or the name of the database at the server.
    pub database: String,
    /// The server's name or address; `localhost` by default.
    #[serde(default)]
    pub host: Option<String>,
    /// The server's port; 5432 or 3306 by default.
    #[serde(default)]
    pub port: Option<u16>,
    /// Who connects.
    #[serde(default)]
    pub user: Option<String>,
    /// The password of that user.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub password: Option<Secret>,
    /// How the connection is encrypted. By default `verify` for public addresses, and `prefer` for others.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// A file with the certificates of the authorities that are trusted, instead of those of the machine. Only for
    /// connections of an app file.
    #[serde(default)]
    pub root_certificate: Option<PathBuf>,
    /// Whether the file of SQLite is made if it is not there. It needs `allow_writes`.
    #[serde(default)]
    pub create: bool,
    /// Whether this connection only reads, even where tools may change data.
    #[serde(default)]
    pub read_only: bool,
}

impl Location {
    /// A file of SQLite.
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

    /// The host and the port of the server.
    pub(super) fn server(&self) -> (&str, u16) {
        let port = match self.driver {
            Driver::Mysql => 3306,
            Driver::Sqlite | Driver::Postgres => 5432,
        };
        (self.host.as_deref().unwrap_or("localhost"), self.port.unwrap_or(port))
    }

    /// Where it is, in words without a secret.
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
