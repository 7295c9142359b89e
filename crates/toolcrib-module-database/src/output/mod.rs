//! The results of the tools.

pub(crate) mod cell;
pub(crate) mod cursors;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Column {
    /// Its name, as the statement names it.
    pub(super) name: String,
    /// Its type, as the database names it; left out where it has none.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
}

/// A page of rows of a result.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RowPage {
    /// The columns, in the order of the values.
    pub(super) columns: Vec<Column>,
    /// The rows, each a list of values. Bytes are `{"base64": "…"}`; numbers that JSON cannot hold exactly are texts,
    /// as are dates and decimals.
    pub(super) rows: Vec<Vec<Value>>,
    /// The number of rows in this page.
    pub(super) row_count: usize,
    /// True if there are more rows.
    pub(super) truncated: bool,
    /// The handle by which `database.fetch_results` gives the next rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<String>,
    /// The values that were cut because they are too long.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) cut: Vec<TruncatedValue>,
}

/// A value that is shown in part.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct TruncatedValue {
    /// The row in this page, counted from 0.
    pub(super) row: usize,
    /// The column.
    pub(super) column: String,
    /// The size of the whole value, in bytes.
    pub(super) bytes: u64,
}

/// The effect of a statement.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ExecuteOutput {
    /// The number of rows that it changed.
    pub(super) rows_affected: u64,
    /// The rows that it returned, by `RETURNING` or otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) returned: Option<RowPage>,
}

/// The effect of several statements that ran in one transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BatchOutput {
    /// The number of rows that each statement changed.
    pub(super) rows_affected: Vec<u64>,
}

/// The effect of an upsert.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UpsertOutput {
    /// The number of rows in the call.
    pub(super) rows: usize,
    /// The number of rows that the database counts as changed. MySQL counts 1 for a new row, and 2 for one that was
    /// changed.
    pub(super) rows_affected: u64,
}

/// A connection.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConnectionInfo {
    /// The name by which other tools refer to it.
    pub(super) connection: String,
    /// The kind of database: `sqlite`, `postgres` or `mysql`.
    pub(super) driver: &'static str,
    /// The file, or the name of the database.
    pub(super) database: String,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    /// True if data may be changed.
    pub(super) writable: bool,
    /// True if the file was missing and was created for this connection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) created: bool,
}

/// The connections.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConnectionList {
    /// The connections that this session may use.
    pub(super) connections: Vec<ConnectionInfo>,
}

/// A closed connection.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DisconnectOutput {
    /// The name.
    pub(super) disconnected: String,
}

/// The tables of a database.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TableList {
    /// The tables and views.
    pub(super) tables: Vec<Table>,
    /// True if there are more than are listed.
    pub(super) truncated: bool,
}

/// A table or a view.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Table {
    /// Its schema, in databases that have schemas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<String>,
    /// Its name.
    pub(super) name: String,
    /// `table` or `view`.
    pub(super) kind: String,
}

/// The columns, indexes and foreign keys of a table.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TableDescription {
    /// The table.
    pub(super) table: String,
    /// Its columns.
    pub(super) columns: Vec<TableColumn>,
    /// Its indexes, including those of the primary key and of unique columns.
    pub(super) indexes: Vec<Index>,
    /// Its references to other tables.
    pub(super) foreign_keys: Vec<ForeignKey>,
}

/// A column of a table.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TableColumn {
    /// Its name.
    pub(super) name: String,
    /// Its type, as the database names it.
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// True if it may be NULL.
    pub(super) nullable: bool,
    /// Its default value, as SQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<String>,
    /// True if it is part of the primary key.
    pub(super) primary_key: bool,
}

/// An index.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Index {
    /// Its name.
    pub(super) name: String,
    /// True if no two rows have the same values.
    pub(super) unique: bool,
    /// The columns; an expression is null.
    pub(super) columns: Vec<Option<String>>,
}

/// A reference to another table.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct ForeignKey {
    /// The columns here.
    pub(super) columns: Vec<String>,
    /// The table there.
    pub(super) references: String,
    /// The columns there; null for those of its primary key.
    pub(super) referenced_columns: Vec<Option<String>>,
}
