//! The implementations of the tools.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_document::nearest;
use toolcrib_io::files::{ProtectedFiles, Root};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::Access;
use toolcrib_sdk::CallContext;

use super::arguments::{
    Batch, Connect, DescribeTable, Disconnect, Execute, Explain, Fetch, ListTables, MAX_BATCH,
    MAX_UPSERT_ROWS, Query, Upsert, table_name,
};
use super::backend::{Mode, Statement, StatementError};
use super::catalog::{self, MAX_PARTS, MAX_TABLES};
use super::config::{ConfigError, DatabaseConfig, Driver};
use super::connection::pool::{PoolLimits, not_writable};
use super::connection::{CONNECT_TIMEOUT, ConnectPolicy, Connection, ConnectionRegistry, is_setup};
use super::dialect::{self, TableName};
use super::errors::invalid;
use super::output::cursors::{CursorStore, PageSize, ResultCursor};
use super::output::{
    BatchOutput, ConnectionInfo, DisconnectOutput, ExecuteOutput, RowPage, TableDescription, TableList,
    UpsertOutput,
};
use super::parameters::MAX_PARAMETERS;
use super::statement_check::{Purpose, check};
use super::transaction::{Deadline, TransactionHandle, TransactionRequest};

/// The time limit to close a connection.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The time limit to look up the names of similar tables.
const NEAREST_TIMEOUT: Duration = Duration::from_secs(2);

/// The databases of an app.
pub(super) struct Database {
    config: DatabaseConfig,
    policy: ConnectPolicy,
    pub(super) connections: Arc<ConnectionRegistry>,
    pub(super) results: Arc<CursorStore>,
}

impl Database {
    pub(super) fn new(
        config: DatabaseConfig,
        root: Root,
        access: Access,
        protected: ProtectedFiles,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let policy = ConnectPolicy {
            root,
            access,
            protected,
            bounds: PoolLimits {
                pool_size: config.pool_size,
                connect_timeout: CONNECT_TIMEOUT,
                idle: Duration::from_secs(config.idle_seconds),
            },
            allow_private: config.allow_private_addresses,
            allow_writes: config.allow_writes,
        };
        let connections = Arc::new(ConnectionRegistry::new(&config, &policy));
        // One connection stays free for other calls.
        let most = usize::try_from(config.pool_size.saturating_sub(1)).unwrap_or(1).max(1);
        let results = CursorStore::new(most, Duration::from_secs(config.result_idle_seconds));
        Ok(Self { config, policy, connections, results })
    }

    pub(super) async fn connect(
        &self,
        context: &CallContext,
        arguments: Connect,
    ) -> Result<ConnectionInfo, ToolError> {
        let (name, location) = arguments.split(is_setup(context));
        let connection = self.connections.add(context, &name, location, &self.policy)?;
        match connection.pool(context, &self.policy).await {
            Ok(_) => Ok(connection.info()),
            Err(failure) => {
                self.connections.remove(&connection);
                Err(failure.error)
            }
        }
    }

    pub(super) async fn disconnect(
        &self,
        context: &CallContext,
        arguments: Disconnect,
    ) -> Result<DisconnectOutput, ToolError> {
        let connection = self.connections.find(context, arguments.connection.as_deref())?;
        if !connection.may_be_closed_by(context) {
            let message = format!("the connection `{}` is the app's, and stays open", connection.name);
            return Err(ToolError::new(ErrorKind::Denied, message));
        }
        self.connections.remove(&connection);
        self.results.close_of(&connection);
        connection.close(CLOSE_TIMEOUT).await;
        Ok(DisconnectOutput { disconnected: connection.name.clone() })
    }

    pub(super) fn list_connections(&self, context: &CallContext) -> super::output::ConnectionList {
        super::output::ConnectionList { connections: self.connections.list(context) }
    }

    pub(super) async fn query(&self, context: &CallContext, arguments: Query) -> Result<RowPage, ToolError> {
        let connection = self.connections.find(context, arguments.connection.as_deref())?;
        let sql = check(connection.location.driver, Purpose::Query, &arguments.sql)?;
        let statement = Statement::new(sql, check_parameter_count(arguments.params)?);
        let deadline = self.deadline(context);
        let mut cursor = self.start(context, &connection, Mode::Read, vec![statement]).await?;
        let page = cursor.page(self.page_size(arguments.max_rows), &deadline).await;
        match self.explain_failure(context, &connection, page).await? {
            (page, true) => {
                Ok(RowPage { result: Some(self.results.keep(&context.session, cursor, None)), ..page })
            }
            (page, false) => Ok(page),
        }
    }

    pub(super) async fn fetch_results(
        &self,
        context: &CallContext,
        arguments: Fetch,
    ) -> Result<RowPage, ToolError> {
        let Some(mut cursor) = self.results.take(&context.session, &arguments.result) else {
            let message = format!("there is no open result `{}`", arguments.result);
            let hint = format!(
                "run `database.query` again: a result is closed when it was read to its end, was not used for {} s, or \
                 others were opened or the data changed in between",
                self.config.result_idle_seconds
            );
            return Err(ToolError::new(ErrorKind::NotFound, message).with_hint(hint));
        };
        let connection = Arc::clone(&cursor.connection);
        let page = cursor.page(self.page_size(arguments.max_rows), &self.deadline(context)).await;
        match self.explain_failure(context, &connection, page).await? {
            (page, true) => {
                let result = self.results.keep(&context.session, cursor, Some(arguments.result));
                Ok(RowPage { result: Some(result), ..page })
            }
            (page, false) => Ok(page),
        }
    }

    pub(super) async fn execute(
        &self,
        context: &CallContext,
        arguments: Execute,
    ) -> Result<ExecuteOutput, ToolError> {
        let connection = self.writable(context, arguments.connection.as_deref())?;
        let sql = check(connection.location.driver, Purpose::Execute, &arguments.sql)?;
        let statement = Statement::new(sql, check_parameter_count(arguments.params)?);
        let deadline = self.deadline(context);
        let mut cursor = self.start(context, &connection, Mode::Write, vec![statement]).await?;
        let done = async {
            let (page, has_more) = cursor.page(self.page_size(self.config.max_rows), &deadline).await?;
            if has_more {
                cursor.finish(&deadline).await?;
            }
            Ok(page)
        };
        let page = done.await;
        let page = self.explain_failure(context, &connection, page).await?;
        let rows_affected = cursor.affected.iter().sum();
        let returned = (!page.columns.is_empty()).then_some(page);
        Ok(ExecuteOutput { rows_affected, returned })
    }

    pub(super) async fn batch(
        &self,
        context: &CallContext,
        arguments: Batch,
    ) -> Result<BatchOutput, ToolError> {
        let connection = self.writable(context, arguments.connection.as_deref())?;
        let count = arguments.statements.len();
        if count == 0 || count > MAX_BATCH {
            return Err(invalid(format!(
                "a batch has 1 to {MAX_BATCH} statements, and this one has {count}"
            )));
        }
        let statements = arguments.statements.into_iter().enumerate().map(|(at, statement)| {
            let of = |mut error: ToolError| {
                error.message = format!("statement {}: {}; nothing was changed", at + 1, error.message);
                error
            };
            let sql = check(connection.location.driver, Purpose::Batch, &statement.sql).map_err(of)?;
            Ok(Statement::new(sql, check_parameter_count(statement.params).map_err(of)?))
        });
        let statements: Result<Vec<_>, ToolError> = statements.collect();
        Ok(BatchOutput { rows_affected: self.change(context, &connection, statements?).await? })
    }

    pub(super) async fn upsert(
        &self,
        context: &CallContext,
        arguments: Upsert,
    ) -> Result<UpsertOutput, ToolError> {
        let connection = self.writable(context, arguments.connection.as_deref())?;
        let driver = connection.location.driver;
        let table = table_name(driver, &arguments.table)?;
        let count = arguments.rows.len();
        if count > MAX_UPSERT_ROWS {
            return Err(invalid(format!("there are {count} rows, of at most {MAX_UPSERT_ROWS}")));
        }
        let Some(first) = arguments.rows.first() else { return Err(invalid("there are no rows")) };
        let columns: Vec<String> = first.keys().cloned().collect();
        if let Some(at) = arguments.rows.iter().position(|row| {
            row.len() != columns.len() || !columns.iter().all(|column| row.contains_key(column))
        }) {
            return Err(invalid(format!("row {} has other columns than the first", at + 1))
                .with_hint("give all rows the same columns, with null where there is no value"));
        }
        if columns.is_empty() || columns.len() > MAX_PARAMETERS {
            return Err(invalid(format!("a row has 1 to {MAX_PARAMETERS} columns")));
        }
        let conflict = &arguments.conflict_columns;
        if conflict.is_empty() {
            return Err(invalid("`conflict_columns` is empty")
                .with_hint("name the columns of the key, as `[\"id\"]`"));
        }
        let update = arguments
            .update_columns
            .unwrap_or_else(|| columns.iter().filter(|column| !conflict.contains(column)).cloned().collect());
        if let Some(other) = conflict.iter().chain(&update).find(|column| !columns.contains(column)) {
            return Err(invalid(format!("the rows have no column `{other}`"))
                .with_hint("the columns of the key and those to change have to be in each row"));
        }
        if driver == Driver::Mysql {
            self.check_key(context, &connection, &table, conflict).await?;
        }
        let upsert = dialect::UpsertStatements {
            table: &table,
            columns: &columns,
            conflict,
            update: &update,
            rows: &arguments.rows,
        };
        let affected = self.change(context, &connection, upsert.statements(driver)?).await?;
        Ok(UpsertOutput { rows: count, rows_affected: affected.iter().sum() })
    }

    /// Checks that a unique index of exactly these columns exists, since MySQL accepts a conflict of any key.
    async fn check_key(
        &self,
        context: &CallContext,
        connection: &Arc<Connection>,
        table: &TableName,
        conflict: &[String],
    ) -> Result<(), ToolError> {
        let rows =
            self.read(context, connection, catalog::indexes(connection.location.driver, table)).await?;
        let mut wanted: Vec<String> = conflict.iter().map(|column| column.to_lowercase()).collect();
        wanted.sort();
        let is_key = |index: &super::output::Index| {
            let mut columns: Vec<String> = index
                .columns
                .iter()
                .map(|column| column.as_deref().unwrap_or_default().to_lowercase())
                .collect();
            columns.sort();
            index.unique && columns == wanted
        };
        if catalog::read_indexes(&rows).iter().any(is_key) {
            return Ok(());
        }
        Err(invalid(format!("`{}` has no unique index of {}", table.name, conflict.join(", ")))
            .with_hint("`database.describe_table` lists the indexes of the table"))
    }

    pub(super) async fn list_tables(
        &self,
        context: &CallContext,
        arguments: ListTables,
    ) -> Result<TableList, ToolError> {
        let connection = self.connections.find(context, arguments.connection.as_deref())?;
        let (schema, part) = (arguments.schema.as_deref(), arguments.name_contains.as_deref());
        let statement = catalog::tables(connection.location.driver, schema, part);
        let rows = self.read(context, &connection, statement).await?;
        let mut tables = catalog::read_tables(&rows);
        let truncated = tables.len() > MAX_TABLES;
        tables.truncate(MAX_TABLES);
        Ok(TableList { tables, truncated })
    }

    pub(super) async fn describe_table(
        &self,
        context: &CallContext,
        arguments: DescribeTable,
    ) -> Result<TableDescription, ToolError> {
        let connection = self.connections.find(context, arguments.connection.as_deref())?;
        let driver = connection.location.driver;
        let table = table_name(driver, &arguments.table)?;
        let columns = self.read(context, &connection, catalog::columns(driver, &table)).await?;
        let columns = catalog::read_columns(&columns);
        if columns.is_empty() {
            let error =
                ToolError::new(ErrorKind::ToolFailed, format!("there is no table `{}`", arguments.table));
            let failure = StatementError { error, is_broken: false, missing_table: Some(table.name) };
            return Err(self.with_table_hint(context, &connection, failure).await);
        }
        let indexes = self.read(context, &connection, catalog::indexes(driver, &table)).await?;
        let foreign_keys = self.read(context, &connection, catalog::foreign_keys(driver, &table)).await?;
        Ok(TableDescription {
            table: arguments.table,
            columns,
            indexes: catalog::read_indexes(&indexes),
            foreign_keys: catalog::read_foreign_keys(&foreign_keys),
        })
    }

    pub(super) async fn explain(
        &self,
        context: &CallContext,
        arguments: Explain,
    ) -> Result<RowPage, ToolError> {
        let connection = self.connections.find(context, arguments.connection.as_deref())?;
        let sql = check(connection.location.driver, Purpose::Explain, &arguments.sql)?;
        let statement =
            Statement { explain: true, ..Statement::new(sql, check_parameter_count(arguments.params)?) };
        let mut cursor = self.start(context, &connection, Mode::Read, vec![statement]).await?;
        let page = cursor.page(self.page_size(self.config.max_rows), &self.deadline(context)).await;
        Ok(self.explain_failure(context, &connection, page).await?.0)
    }

    /// Returns the rows of a query of this module.
    async fn read(
        &self,
        context: &CallContext,
        connection: &Arc<Connection>,
        statement: Statement,
    ) -> Result<Vec<Vec<Value>>, ToolError> {
        let mut cursor = self.start(context, connection, Mode::Read, vec![statement]).await?;
        let size = PageSize { rows: MAX_TABLES.max(MAX_PARTS), bytes: super::config::MAX_PAGE_BYTES };
        let page = cursor.page(size, &self.deadline(context)).await;
        match page {
            Ok((page, _)) => Ok(page.rows),
            Err(failure) => Err(self.reset_if_broken(connection, failure).await.error),
        }
    }

    /// Runs statements in one transaction. Returns the number of rows that each one changed.
    async fn change(
        &self,
        context: &CallContext,
        connection: &Arc<Connection>,
        statements: Vec<Statement>,
    ) -> Result<Vec<u64>, ToolError> {
        let mut cursor = self.start(context, connection, Mode::Write, statements).await?;
        let finished = cursor.finish(&self.deadline(context)).await;
        self.explain_failure(context, connection, finished).await?;
        Ok(cursor.affected)
    }

    async fn start(
        &self,
        context: &CallContext,
        connection: &Arc<Connection>,
        mode: Mode,
        statements: Vec<Statement>,
    ) -> Result<ResultCursor, ToolError> {
        // An open reader of a SQLite file blocks its writers.
        if mode == Mode::Write && connection.location.driver == Driver::Sqlite {
            self.results.close_of(connection);
        }
        let pool = connection.pool(context, &self.policy).await.map_err(|failure| failure.error)?;
        let (max_cell_bytes, max_row_bytes) = (self.config.max_cell_bytes, self.config.max_page_bytes);
        let job = TransactionRequest { mode, statements, max_cell_bytes, max_row_bytes };
        Ok(ResultCursor::new(Arc::clone(connection), TransactionHandle::start(pool, job)))
    }

    fn writable(&self, context: &CallContext, name: Option<&str>) -> Result<Arc<Connection>, ToolError> {
        let connection = self.connections.find(context, name)?;
        if connection.is_writable { Ok(connection) } else { Err(not_writable()) }
    }

    fn page_size(&self, rows: usize) -> PageSize {
        PageSize { rows: rows.clamp(1, self.config.max_rows), bytes: self.config.max_page_bytes }
    }

    fn deadline(&self, context: &CallContext) -> Deadline {
        Deadline::new(context, Duration::from_secs(self.config.timeout_seconds))
    }

    /// Converts a failure, with a hint for the model.
    async fn explain_failure<T>(
        &self,
        context: &CallContext,
        connection: &Arc<Connection>,
        outcome: Result<T, StatementError>,
    ) -> Result<T, ToolError> {
        match outcome {
            Ok(value) => Ok(value),
            Err(failure) => Err(self.with_table_hint(context, connection, failure).await),
        }
    }

    /// Resets a broken connection, and removes its password from the error.
    async fn reset_if_broken(&self, connection: &Arc<Connection>, failure: StatementError) -> StatementError {
        if failure.is_broken {
            connection.reset().await;
        }
        connection.without_secret(failure)
    }

    /// Converts a failure, and adds the name of a similar table if a table is missing.
    async fn with_table_hint(
        &self,
        context: &CallContext,
        connection: &Arc<Connection>,
        failure: StatementError,
    ) -> ToolError {
        let failure = self.reset_if_broken(connection, failure).await;
        let Some(missing) = &failure.missing_table else { return failure.error };
        let statement = catalog::tables(connection.location.driver, None, None);
        let names = async {
            let mut cursor = self.start(context, connection, Mode::Read, vec![statement]).await.ok()?;
            let size = PageSize { rows: MAX_TABLES, bytes: super::config::MAX_PAGE_BYTES };
            let (page, _) = cursor.page(size, &Deadline::new(context, NEAREST_TIMEOUT)).await.ok()?;
            Some(catalog::read_tables(&page.rows))
        };
        let Some(tables) = names.await else { return failure.error };
        let missing = missing.rsplit('.').next().unwrap_or(missing);
        let near = nearest(missing, tables.iter().map(|table| table.name.as_str()));
        let hint = match near {
            Some(near) => format!("did you mean `{near}`? `database.list_tables` lists the tables"),
            None if tables.is_empty() => "there are no tables in this database".into(),
            None => "`database.list_tables` lists the tables".into(),
        };
        failure.error.with_hint(hint)
    }
}

/// Checks the number of parameters.
fn check_parameter_count(parameters: Vec<Value>) -> Result<Vec<Value>, ToolError> {
    if parameters.len() <= MAX_PARAMETERS {
        return Ok(parameters);
    }
    let message = format!("there are {} parameters, of at most {MAX_PARAMETERS}", parameters.len());
    Err(invalid(message).with_hint("send several statements to `database.batch_execute`"))
}
