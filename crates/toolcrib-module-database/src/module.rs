//! The tools of the module, and its lifecycle.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_io::files::{ProtectedFiles, Root};
use toolcrib_policy::Access;
use toolcrib_sdk::{CallContext, Lifecycle, Module, ToolError, module};

use crate::config::{ConfigError, DatabaseConfig};
use crate::connection::ConnectionRegistry;
use crate::connection::pool::not_writable;
use crate::output::cursors::CursorStore;
use crate::tools::{CLOSE_TIMEOUT, Database};
use crate::{arguments, output};

/// Returns the module `database`, which opens files of the workspace, and servers that `access` allows. It changes none
/// of the `protected` files.
///
/// # Errors
///
/// Returns an error if the configuration is out of bounds.
pub fn module(
    config: DatabaseConfig,
    workspace: Root,
    access: Access,
    protected: ProtectedFiles,
) -> Result<Module, ConfigError> {
    let database = Database::new(config, workspace, access, protected)?;
    let (connections, results) = (Arc::clone(&database.connections), Arc::clone(&database.results));
    let to_check = Arc::clone(&connections);
    let module = Module::from(database).with_lifecycle(Arc::new(OpenConnections { connections, results }));
    Ok(module.with_check(move |tool, arguments, context| {
        let named = arguments.get("connection").and_then(serde_json::Value::as_str);
        let writes = matches!(tool, "execute" | "batch_execute" | "upsert");
        match to_check.find(context, named) {
            Ok(connection) if writes && !connection.is_writable => Err(not_writable()),
            // The call itself reports all other errors.
            Ok(_) | Err(_) => Ok(()),
        }
    }))
}

/// The connections of all sessions, and their open results.
struct OpenConnections {
    connections: Arc<ConnectionRegistry>,
    results: Arc<CursorStore>,
}

#[async_trait]
impl Lifecycle for OpenConnections {
    async fn end_session(&self, session: &str) {
        self.results.end_session(session);
        self.connections.end_session(session, CLOSE_TIMEOUT).await;
    }

    async fn close(&self) {
        self.results.close();
        self.connections.close(CLOSE_TIMEOUT).await;
    }
}

/// Queries and changes SQLite, PostgreSQL, MySQL and MariaDB databases.
#[module(id = "database")]
impl Database {
    /// Opens a connection to a database: a SQLite file of the workspace, or a PostgreSQL, MySQL or MariaDB server.
    #[tool(
        name = "connect",
        risk = "medium",
        side_effects = ["opens a connection", "creates a SQLite file when asked to"],
        idempotent,
        tags = ["sql", "sqlite", "postgresql", "mysql", "mariadb"],
        aliases = [
            "connect to database", "open database", "open sqlite file", "database connection",
            "se connecter à une base de données", "ouvrir une base de données", "connexion à la base",
        ]
    )]
    async fn connect_tool(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Connect,
    ) -> Result<output::ConnectionInfo, ToolError> {
        self.connect(context, arguments).await
    }

    /// Closes a connection to a database, and the results that were read by it.
    #[tool(
        name = "disconnect",
        risk = "low",
        side_effects = ["closes the connection"],
        aliases = [
            "close database", "close connection", "fermer la base de données", "se déconnecter de la base",
            "fermer la connexion",
        ]
    )]
    async fn disconnect_tool(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Disconnect,
    ) -> Result<output::DisconnectOutput, ToolError> {
        self.disconnect(context, arguments).await
    }

    /// Lists the open connections to databases.
    #[tool(
        name = "list_connections",
        risk = "low",
        aliases = [
            "database connections", "which databases", "lister les connexions", "quelles bases de données",
            "bases connectées",
        ]
    )]
    fn list_connections_tool(&self, context: &CallContext) -> Result<output::ConnectionList, ToolError> {
        Ok(self.list_connections(context))
    }

    /// Reads rows of a database by SQL. It never changes anything. Of a long result it gives the first rows, and a
    /// handle for `database.fetch_results`.
    #[tool(
        name = "query",
        risk = "low",
        tags = ["sql", "select"],
        aliases = [
            "run sql", "select rows", "sql query", "read from database", "search in a table", "count rows",
            "interroger la base", "interroger une base de données", "interroger", "requête sql", "lire des lignes de la base", "chercher dans une table",
            "compter les lignes",
        ],
        examples = [{"sql": "SELECT id, name FROM users WHERE name = ?", "params": ["Ada"]}]
    )]
    async fn query_tool(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Query,
    ) -> Result<output::RowPage, ToolError> {
        self.query(context, arguments).await
    }

    /// Gives the next rows of a result of `database.query` that has more.
    #[tool(
        name = "fetch_results",
        risk = "low",
        aliases = [
            "next rows", "next page of results", "more rows", "page suivante", "lignes suivantes",
            "suite des résultats",
        ]
    )]
    async fn fetch_results_tool(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Fetch,
    ) -> Result<output::RowPage, ToolError> {
        self.fetch_results(context, arguments).await
    }

    /// Changes a database by one SQL statement: inserts, updates or deletes rows, creates, alters or drops tables.
    #[tool(
        name = "execute",
        risk = "high",
        side_effects = ["changes or deletes data or tables of the database"],
        tags = ["sql", "insert", "update", "delete"],
        aliases = [
            "execute sql", "insert row", "update row", "delete row", "delete a row from the database", "create table",
            "drop table", "supprimer une ligne de la base", "modifier une ligne", "insérer une ligne",
            "ajouter une ligne dans une table", "créer une table", "supprimer une table",
        ],
        examples = [{"sql": "DELETE FROM users WHERE id = ?", "params": [7]}]
    )]
    async fn execute_tool(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Execute,
    ) -> Result<output::ExecuteOutput, ToolError> {
        self.execute(context, arguments).await
    }

    /// Changes a database by several SQL statements in one transaction: all of them, or none.
    #[tool(
        name = "batch_execute",
        risk = "high",
        side_effects = ["changes or deletes data or tables of the database"],
        tags = ["sql", "transaction"],
        aliases = [
            "transaction", "execute several statements", "all or nothing", "exécuter plusieurs requêtes",
            "faire une transaction", "modifier plusieurs lignes",
        ]
    )]
    async fn batch_execute_tool(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Batch,
    ) -> Result<output::BatchOutput, ToolError> {
        self.batch(context, arguments).await
    }

    /// Inserts rows into a table, and changes those that are there already, by a key.
    #[tool(
        name = "upsert",
        risk = "medium",
        side_effects = ["inserts or changes rows of the table"],
        idempotent,
        tags = ["sql", "insert", "update"],
        aliases = [
            "insert or update", "save rows", "write rows to a table", "merge rows", "insérer ou mettre à jour",
            "enregistrer des lignes", "écrire dans une table",
        ],
        examples = [{"table": "users", "rows": [{"id": 7, "name": "Ada"}], "conflict_columns": ["id"]}]
    )]
    async fn upsert_tool(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Upsert,
    ) -> Result<output::UpsertOutput, ToolError> {
        self.upsert(context, arguments).await
    }

    /// Lists the tables and views of a database.
    #[tool(
        name = "list_tables",
        risk = "low",
        aliases = [
            "show tables", "database schema", "which tables", "lister les tables", "quelles tables",
            "schéma de la base",
        ]
    )]
    async fn list_tables_tool(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::ListTables,
    ) -> Result<output::TableList, ToolError> {
        self.list_tables(context, arguments).await
    }

    /// Shows the columns, indexes and foreign keys of a table.
    #[tool(
        name = "describe_table",
        risk = "low",
        aliases = [
            "table columns", "table schema", "column types", "colonnes d'une table", "structure d'une table",
            "décrire une table",
        ]
    )]
    async fn describe_table_tool(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::DescribeTable,
    ) -> Result<output::TableDescription, ToolError> {
        self.describe_table(context, arguments).await
    }

    /// Shows how the database would run a statement, without running it.
    #[tool(
        name = "explain",
        risk = "low",
        aliases = [
            "query plan", "why is the query slow", "plan d'exécution", "expliquer une requête",
            "pourquoi la requête est lente",
        ]
    )]
    async fn explain_tool(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Explain,
    ) -> Result<output::RowPage, ToolError> {
        self.explain(context, arguments).await
    }
}
