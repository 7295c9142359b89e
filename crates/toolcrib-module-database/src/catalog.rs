//! The queries for the tables of a database, and the parsers of their rows.

use serde_json::Value;

use super::backend::Statement;
use super::config::Driver;
use super::dialect::TableName;
use super::output::{ForeignKey, Index, Table, TableColumn};

/// The maximum number of tables in one list.
pub(crate) const MAX_TABLES: usize = 1000;

/// The maximum number of columns, and of columns of indexes and references, of one table.
pub(crate) const MAX_PARTS: usize = 4000;

/// Returns a query for `schema, name, kind`.
pub(super) fn tables(driver: Driver, schema: Option<&str>, part: Option<&str>) -> Statement {
    let limit = MAX_TABLES + 1;
    // Every name contains the empty text. The text is compared as it is, not as a pattern.
    let part = Value::from(part.unwrap_or_default());
    match driver {
        Driver::Sqlite => Statement::new(
            format!(
                "SELECT NULL, name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND \
                 substr(name, 1, 7) <> 'sqlite_' AND instr(lower(name), lower(?)) > 0 ORDER BY name LIMIT {limit}"
            ),
            vec![part],
        ),
        Driver::Postgres => Statement::new(
            format!(
                "SELECT n.nspname, c.relname, CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END \
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND strpos(lower(c.relname), lower($1::text)) > 0 AND \
                 CASE WHEN $2::text IS NULL THEN n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' \
                 ELSE n.nspname = $2::text END ORDER BY 1, 2 LIMIT {limit}"
            ),
            vec![part, schema.into()],
        ),
        Driver::Mysql => Statement::new(
            format!(
                "SELECT table_schema, table_name, IF(table_type LIKE '%VIEW', 'view', 'table') \
                 FROM information_schema.tables WHERE table_schema = COALESCE(?, DATABASE()) AND \
                 LOCATE(LOWER(?), LOWER(table_name)) > 0 ORDER BY 1, 2 LIMIT {limit}"
            ),
            vec![schema.into(), part],
        ),
    }
}

pub(super) fn read_tables(rows: &[Vec<Value>]) -> Vec<Table> {
    let read =
        |row: &Vec<Value>| Some(Table { schema: text(row, 0), name: text(row, 1)?, kind: text(row, 2)? });
    rows.iter().filter_map(read).collect()
}

/// Returns a query for `name, type, nullable, default, primary key`.
pub(super) fn columns(driver: Driver, table: &TableName) -> Statement {
    match driver {
        Driver::Sqlite => Statement::new(
            "SELECT name, type, NOT \"notnull\" AND pk = 0, dflt_value, pk > 0 FROM pragma_table_xinfo(?) \
             WHERE hidden <> 1 ORDER BY cid",
            vec![table.name.as_str().into()],
        ),
        Driver::Postgres => postgres_query(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod), (NOT a.attnotnull)::int, \
             pg_get_expr(d.adbin, d.adrelid), (EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND \
             i.indisprimary AND a.attnum = ANY (i.indkey)))::int \
             FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
             LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
             WHERE a.attnum > 0 AND NOT a.attisdropped AND c.oid = ",
            " ORDER BY a.attnum",
            table,
        ),
        Driver::Mysql => mysql_query(
            "SELECT column_name, column_type, is_nullable = 'YES', column_default, column_key = 'PRI' \
             FROM information_schema.columns",
            "ORDER BY ordinal_position",
            table,
        ),
    }
}

pub(super) fn read_columns(rows: &[Vec<Value>]) -> Vec<TableColumn> {
    let read = |row: &Vec<Value>| {
        Some(TableColumn {
            name: text(row, 0)?,
            kind: text(row, 1)?,
            nullable: flag(row, 2),
            default: text(row, 3),
            primary_key: flag(row, 4),
        })
    };
    rows.iter().filter_map(read).collect()
}

/// Returns a query for `index, unique, column`, in the order of the columns of each index.
pub(super) fn indexes(driver: Driver, table: &TableName) -> Statement {
    match driver {
        // A primary key that is the row id has no index.
        Driver::Sqlite => Statement::new(
            "SELECT * FROM (SELECT 'primary key' AS i, 1, name FROM pragma_table_info(?1) WHERE pk > 0 AND NOT EXISTS \
             (SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk') ORDER BY pk) UNION ALL \
             SELECT * FROM (SELECT l.name, l.\"unique\" AND NOT l.partial, i.name FROM pragma_index_list(?1) l \
             JOIN pragma_index_info(l.name) i ORDER BY l.seq, i.seqno)",
            vec![table.name.as_str().into()],
        ),
        Driver::Postgres => postgres_query(
            "SELECT ic.relname, (i.indisunique AND i.indpred IS NULL)::int, a.attname FROM pg_index i \
             JOIN pg_class ic ON ic.oid = i.indexrelid \
             CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(number, at) \
             LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number AND k.number > 0 \
             WHERE k.at <= i.indnkeyatts AND i.indrelid = ",
            " ORDER BY i.indisprimary DESC, ic.relname, k.at",
            table,
        ),
        Driver::Mysql => mysql_query(
            "SELECT index_name, non_unique = 0, column_name FROM information_schema.statistics",
            "ORDER BY index_name <> 'PRIMARY', index_name, seq_in_index",
            table,
        ),
    }
}

pub(super) fn read_indexes(rows: &[Vec<Value>]) -> Vec<Index> {
    let mut indexes: Vec<Index> = Vec::new();
    for row in rows {
        let Some(name) = text(row, 0) else { continue };
        match indexes.last_mut().filter(|index| index.name == name) {
            Some(index) => index.columns.push(text(row, 2)),
            None => indexes.push(Index { name, unique: flag(row, 1), columns: vec![text(row, 2)] }),
        }
    }
    indexes
}

/// Returns a query for `reference, column, table, referenced column`, in the order of the columns of each reference.
pub(super) fn foreign_keys(driver: Driver, table: &TableName) -> Statement {
    match driver {
        Driver::Sqlite => Statement::new(
            "SELECT CAST(id AS TEXT), \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?) ORDER BY id, seq",
            vec![table.name.as_str().into()],
        ),
        Driver::Postgres => postgres_query(
            "SELECT k.conname, a.attname, k.confrelid::regclass::text, f.attname FROM pg_constraint k \
             CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS u(own, other, at) \
             JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.own \
             JOIN pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = u.other \
             WHERE k.contype = 'f' AND k.conrelid = ",
            " ORDER BY k.conname, u.at",
            table,
        ),
        Driver::Mysql => mysql_query(
            "SELECT constraint_name, column_name, IF(referenced_table_schema = DATABASE(), referenced_table_name, \
             CONCAT(referenced_table_schema, '.', referenced_table_name)), referenced_column_name \
             FROM (SELECT * FROM information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL) k",
            "ORDER BY constraint_name, ordinal_position",
            table,
        ),
    }
}

pub(super) fn read_foreign_keys(rows: &[Vec<Value>]) -> Vec<ForeignKey> {
    let mut keys: Vec<ForeignKey> = Vec::new();
    let mut last = None;
    for row in rows {
        let (Some(name), Some(column), Some(table)) = (text(row, 0), text(row, 1), text(row, 2)) else {
            continue;
        };
        match keys.last_mut().filter(|_| last.as_ref() == Some(&name)) {
            Some(key) => {
                key.columns.push(column);
                key.referenced_columns.push(text(row, 3));
            }
            None => keys.push(ForeignKey {
                columns: vec![column],
                references: table,
                referenced_columns: vec![text(row, 3)],
            }),
        }
        last = Some(name);
    }
    keys
}

/// Adds the condition that the table has this name, in its schema or in the first schema of the search path.
fn postgres_query(start: &str, end: &str, table: &TableName) -> Statement {
    let found = "(SELECT t.oid FROM pg_class t JOIN pg_namespace s ON s.oid = t.relnamespace \
                 WHERE t.relname = $1::text AND t.relkind IN ('r', 'p', 'v', 'm', 'f') AND \
                 CASE WHEN $2::text IS NULL THEN pg_table_is_visible(t.oid) ELSE s.nspname = $2::text END LIMIT 1)";
    let parameters = vec![table.name.as_str().into(), table.schema.as_deref().into()];
    Statement::new(format!("{start}{found}{end} LIMIT {MAX_PARTS}"), parameters)
}

fn mysql_query(start: &str, end: &str, table: &TableName) -> Statement {
    let condition = "WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?";
    let parameters = vec![table.schema.as_deref().into(), table.name.as_str().into()];
    Statement::new(format!("{start} {condition} {end} LIMIT {MAX_PARTS}"), parameters)
}

fn text(row: &[Value], at: usize) -> Option<String> {
    match row.get(at)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn flag(row: &[Value], at: usize) -> bool {
    match row.get(at) {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::Number(number)) => number.as_i64().is_some_and(|number| number != 0),
        _ => false,
    }
}
