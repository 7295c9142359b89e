//! What the tools give.

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

/// Some rows of a result.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Page {
    /// The columns, in the order of the values.
    pub(super) columns: Vec<Column>,
    /// The rows, each a list of values. Bytes are `{"base64": "…"}`; numbers that JSON cannot hold exactly are texts, as are
    /// dates and decimals.
    pub(super) rows: Vec<Vec<Value>>,
    /// How many rows are here.
    pub(super) row_count: usize,
    /// Whether there are more.
    pub(super) truncated: bool,
    /// The handle by which `database.fetch_results` gives the next rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<String>,
    /// The values that were cut because they are too long.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) cut: Vec<Cut>,
}

/// A value that is not shown as a whole.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Cut {
    /// The row here, from 0.
    pub(super) row: usize,
    /// The column.
    pub(super) column: String,
    /// How many bytes the whole value has.
    pub(super) bytes: u64,
}

/// What a statement changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Executed {
    /// How many rows it changed.
    pub(super) rows_affected: u64,
    /// What it gave by `RETURNING`, or otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) returned: Option<Page>,
}

/// What several statements changed together.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BatchExecuted {
    /// How many rows each statement changed.
    pub(super) rows_affected: Vec<u64>,
}

/// What was inserted or changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Upserted {
    /// How many rows were given.
    pub(super) rows: usize,
    /// How many rows the database counts as changed. MySQL counts 1 for a new row, and 2 for one that was changed.
    pub(super) rows_affected: u64,
}

/// A connection.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Connected {
    /// The name by which other tools take it.
    pub(super) connection: String,
    /// Which kind of database: `sqlite`, `postgres` or `mysql`.
    pub(super) driver: &'static str,
    /// The file, or the name of the database.
    pub(super) database: String,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    /// Whether data may be changed.
    pub(super) writable: bool,
    /// True where the file was missing and was created for this connection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) created: bool,
}

/// The connections.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Connections {
    /// Those that this session may use.
    pub(super) connections: Vec<Connected>,
}

/// What was closed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Disconnected {
    /// The name.
    pub(super) disconnected: String,
}

/// The tables of a database.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Tables {
    /// The tables and views.
    pub(super) tables: Vec<Table>,
    /// Whether there are more than are listed.
    pub(super) truncated: bool,
}

/// A table or a view.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Table {
    /// The schema that it is in, at databases that have such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<String>,
    /// Its name.
    pub(super) name: String,
    /// `table` or `view`.
    pub(super) kind: String,
}

/// What a table is made of.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Described {
    /// The table.
    pub(super) table: String,
    /// Its columns.
    pub(super) columns: Vec<TableColumn>,
    /// Its indexes, also those of the primary key and of unique columns.
    pub(super) indexes: Vec<Index>,
    /// What it refers to.
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
    /// Whether it may be NULL.
    pub(super) nullable: bool,
    /// What it is when nothing is said, as SQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<String>,
    /// Whether it is part of the primary key.
    pub(super) primary_key: bool,
}

/// An index.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Index {
    /// Its name.
    pub(super) name: String,
    /// Whether no two rows have the same values.
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
