//! The SQL dialects of the databases: quoted names and upserts.

use serde_json::{Map, Value};
use toolcrib_model::ToolError;

use super::backend::Statement;
use super::config::Driver;
use super::errors::invalid;
use super::parameters::MAX_PARAMETERS;

/// The maximum length of the name of a table or a column, in bytes.
pub(crate) const MAX_IDENTIFIER_BYTES: usize = 256;

/// Quotes the name of a table or a column for a statement. It may contain any character except NUL.
pub(super) fn quoted(driver: Driver, name: &str) -> Result<String, ToolError> {
    if name.is_empty() || name.len() > MAX_IDENTIFIER_BYTES || name.contains('\0') {
        return Err(invalid(format!("a name has 1 to {MAX_IDENTIFIER_BYTES} bytes, and no character NUL")));
    }
    Ok(match driver {
        Driver::Mysql => format!("`{}`", name.replace('`', "``")),
        Driver::Sqlite | Driver::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
    })
}

/// The name of a table, optionally with its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableName {
    pub(super) schema: Option<String>,
    pub(super) name: String,
}

impl TableName {
    pub(super) fn quoted(&self, driver: Driver) -> Result<String, ToolError> {
        let name = quoted(driver, &self.name)?;
        match &self.schema {
            Some(schema) => Ok(format!("{}.{name}", quoted(driver, schema)?)),
            None => Ok(name),
        }
    }
}

/// The rows to insert, or to update if rows with the same `conflict` columns exist.
pub(super) struct UpsertStatements<'a> {
    pub(super) table: &'a TableName,
    pub(super) columns: &'a [String],
    pub(super) conflict: &'a [String],
    pub(super) update: &'a [String],
    pub(super) rows: &'a [Map<String, Value>],
}

impl UpsertStatements<'_> {
    /// Returns the statements of the upsert.
    pub(super) fn statements(&self, driver: Driver) -> Result<Vec<Statement>, ToolError> {
        let names = |columns: &[String]| -> Result<String, ToolError> {
            let quoted: Result<Vec<_>, _> = columns.iter().map(|name| quoted(driver, name)).collect();
            Ok(quoted?.join(", "))
        };
        let (table, columns, end) = (self.table.quoted(driver)?, names(self.columns)?, self.end(driver)?);
        let per_statement = (MAX_PARAMETERS / self.columns.len().max(1)).max(1);
        let chunks = self.rows.chunks(per_statement).map(|rows| {
            let mut parameters = Vec::new();
            let mut values = Vec::new();
            for row in rows {
                let places = self.columns.iter().map(|column| {
                    parameters.push(row.get(column).cloned().unwrap_or(Value::Null));
                    match driver {
                        Driver::Postgres => format!("${}", parameters.len()),
                        Driver::Sqlite | Driver::Mysql => "?".into(),
                    }
                });
                values.push(format!("({})", places.collect::<Vec<_>>().join(", ")));
            }
            Statement::new(
                format!("INSERT INTO {table} ({columns}) VALUES {} {end}", values.join(", ")),
                parameters,
            )
        });
        Ok(chunks.collect())
    }

    /// Returns the clause for rows that exist.
    fn end(&self, driver: Driver) -> Result<String, ToolError> {
        if driver == Driver::Mysql {
            // A column that is set to itself changes nothing. `INSERT IGNORE` would also hide other errors.
            let columns = if self.update.is_empty() { self.conflict } else { self.update };
            let set = columns.iter().map(|column| {
                let name = quoted(driver, column)?;
                let value = if self.update.is_empty() { name.clone() } else { format!("VALUES({name})") };
                Ok(format!("{name} = {value}"))
            });
            let set: Result<Vec<_>, ToolError> = set.collect();
            return Ok(format!("ON DUPLICATE KEY UPDATE {}", set?.join(", ")));
        }
        let conflict: Result<Vec<_>, _> = self.conflict.iter().map(|name| quoted(driver, name)).collect();
        let conflict = conflict?.join(", ");
        if self.update.is_empty() {
            return Ok(format!("ON CONFLICT ({conflict}) DO NOTHING"));
        }
        let set = self.update.iter().map(|column| {
            let name = quoted(driver, column)?;
            Ok(format!("{name} = excluded.{name}"))
        });
        let set: Result<Vec<_>, ToolError> = set.collect();
        Ok(format!("ON CONFLICT ({conflict}) DO UPDATE SET {}", set?.join(", ")))
    }
}
