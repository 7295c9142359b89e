//! The arguments of the tools.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use toolcrib_model::{Secret, ToolError};

use super::config::{Driver, Location, Tls};
use super::dialect::TableName;
use super::errors::invalid;

/// The number of rows of a page by default.
pub(crate) const DEFAULT_ROWS: usize = 100;

/// The maximum number of statements in one batch.
pub(crate) const MAX_BATCH: usize = 500;

/// The maximum number of rows in one upsert.
pub(crate) const MAX_UPSERT_ROWS: usize = 5000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Connect {
    /// The name by which other tools refer to this connection.
    #[serde(default = "main_name")]
    pub(super) name: String,
    /// The kind of database.
    driver: Driver,
    /// The SQLite file, relative to the workspace; or the name of the database at the server.
    database: String,
    /// The server's name or address; `localhost` by default.
    host: Option<String>,
    /// The server's port; 5432 or 3306 by default.
    port: Option<u16>,
    /// The user to connect as.
    user: Option<String>,
    /// The password of that user.
    #[schemars(with = "Option<String>")]
    password: Option<Secret>,
    /// The encryption of the connection to a server; by default it is encrypted, and the certificate verified, for
    /// public addresses.
    tls: Option<Tls>,
    /// True to create a SQLite file that does not exist; by default only the operator's `setup` creates one.
    create: Option<bool>,
    /// True for a connection that only reads.
    #[serde(default)]
    read_only: bool,
}

fn main_name() -> String {
    "main".into()
}

impl Connect {
    /// Returns the name of the connection, and its location. A missing file is created if `create` is set; by default,
    /// if the operator makes the call.
    pub(super) fn split(self, is_setup: bool) -> (String, Location) {
        let location = Location {
            driver: self.driver,
            database: self.database,
            host: self.host,
            port: self.port,
            user: self.user,
            password: self.password,
            tls: self.tls,
            root_certificate: None,
            create: self.create.unwrap_or(is_setup),
            read_only: self.read_only,
        };
        (self.name, location)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Disconnect {
    /// The connection; the only one when left out.
    pub(super) connection: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// The connection; the only one when left out.
    pub(super) connection: Option<String>,
    /// One statement that reads, with `?` for each parameter, or `$1`, `$2`, … in PostgreSQL.
    pub(super) sql: String,
    /// The values of the parameters, in their order. Bytes are `{"base64": "…"}`; decimals, dates and large numbers are texts.
    #[serde(default)]
    pub(super) params: Vec<Value>,
    /// The maximum number of rows to return.
    #[serde(default = "default_rows")]
    #[schemars(range(min = 1))]
    pub(super) max_rows: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fetch {
    /// The handle: `result` of `database.query`.
    pub(super) result: String,
    /// The maximum number of rows to return.
    #[serde(default = "default_rows")]
    #[schemars(range(min = 1))]
    pub(super) max_rows: usize,
}

fn default_rows() -> usize {
    DEFAULT_ROWS
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Execute {
    /// The connection; the only one when left out.
    pub(super) connection: Option<String>,
    /// One statement that changes something, with `?` for each parameter, or `$1`, `$2`, … in PostgreSQL.
    pub(super) sql: String,
    /// The values of the parameters, in their order.
    #[serde(default)]
    pub(super) params: Vec<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    /// The connection; the only one when left out.
    pub(super) connection: Option<String>,
    /// The statements, in their order.
    pub(super) statements: Vec<BatchStatement>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchStatement {
    /// One statement that changes something.
    pub(super) sql: String,
    /// The values of its parameters.
    #[serde(default)]
    pub(super) params: Vec<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Upsert {
    /// The connection; the only one when left out.
    pub(super) connection: Option<String>,
    /// The table, with its schema before a dot if it needs one.
    pub(super) table: String,
    /// The rows: the value of each column by its name, the same columns in all of them.
    pub(super) rows: Vec<Map<String, Value>>,
    /// The columns that identify a row, which need a unique index: `["id"]`.
    pub(super) conflict_columns: Vec<String>,
    /// The columns to change in a row that exists; by default all other columns of `rows`.
    pub(super) update_columns: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListTables {
    /// The connection; the only one when left out.
    pub(super) connection: Option<String>,
    /// The schema to list; by default all that the database searches.
    pub(super) schema: Option<String>,
    /// A text that the names have to contain.
    pub(super) name_contains: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribeTable {
    /// The connection; the only one when left out.
    pub(super) connection: Option<String>,
    /// The table, with its schema before a dot if it needs one.
    pub(super) table: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Explain {
    /// The connection; the only one when left out.
    pub(super) connection: Option<String>,
    /// One statement, which is explained and not run.
    pub(super) sql: String,
    /// The values of the parameters, in their order.
    #[serde(default)]
    pub(super) params: Vec<Value>,
}

/// Parses the name of a table as a model writes it.
pub(super) fn table_name(driver: Driver, given: &str) -> Result<TableName, ToolError> {
    let name = match given.split_once('.') {
        // A name in SQLite may contain a dot, and SQLite has only one schema.
        Some((schema, name)) if driver != Driver::Sqlite => {
            TableName { schema: Some(schema.to_owned()), name: name.to_owned() }
        }
        _ => TableName { schema: None, name: given.to_owned() },
    };
    if name.name.is_empty() || name.schema.as_ref().is_some_and(String::is_empty) {
        return Err(invalid(format!("`{given}` is not the name of a table")));
    }
    Ok(name)
}
