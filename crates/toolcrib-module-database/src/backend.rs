//! The interface that the three kinds of database implement: a pool, and one of its connections in one transaction.

use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use toolcrib_sdk::ToolError;

use super::output::Column;
use super::output::cell::{Cell, Row};

/// A pool of connections to one database.
#[async_trait]
pub(super) trait ConnectionPool: Send + Sync {
    /// Returns a working connection, once one is free.
    async fn session(&self) -> Result<Box<dyn DatabaseSession>, StatementError>;

    /// Closes all connections; those in use, once they are returned.
    async fn close(&self);
}

/// One connection of a pool, for one transaction.
#[async_trait]
pub(super) trait DatabaseSession: Send {
    /// Returns the function that cancels a running statement at the server.
    fn interrupt(&self) -> Interrupt;

    /// Begins the transaction. The server itself ends it after `lifetime`, in case this process is gone.
    async fn begin(&mut self, mode: Mode, lifetime: Duration) -> Result<(), StatementError>;

    /// Runs one statement, and sends its rows as fast as they are received.
    async fn run(&mut self, statement: &Statement, rows: &mut RowSender) -> Result<(), StatementError>;

    /// Commits the transaction.
    async fn commit(&mut self) -> Result<(), StatementError>;

    /// Rolls back uncommitted changes, and returns the connection to its pool in its initial state; closes it if it is
    /// broken.
    async fn release(self: Box<Self>, is_broken: bool);
}

/// Cancels a running statement over another connection, since its own is busy.
pub(super) type Interrupt = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// The access mode of a transaction, which the database enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
}

/// One statement and its parameters.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) parameters: Vec<Value>,
    /// True to show the query plan instead of running the statement.
    pub(super) explain: bool,
}

impl Statement {
    pub(super) fn new(sql: impl Into<String>, parameters: Vec<Value>) -> Self {
        Self { sql: sql.into(), parameters, explain: false }
    }
}

/// A failure of a statement.
#[derive(Debug)]
pub(super) struct StatementError {
    /// The error for the model.
    pub(super) error: ToolError,
    /// True if the connection cannot be used again.
    pub(super) is_broken: bool,
    /// The missing table, if that is the cause.
    pub(super) missing_table: Option<String>,
}

impl From<ToolError> for StatementError {
    fn from(error: ToolError) -> Self {
        Self { error, is_broken: false, missing_table: None }
    }
}

/// An event of a transaction, in this order.
#[derive(Debug)]
pub(super) enum Event {
    /// The columns of the rows that follow.
    Columns(Vec<Column>),
    Row(Row),
    /// The end of one statement, with the number of rows that it changed.
    End(u64),
    /// The end of the transaction.
    Done(Result<(), StatementError>),
}

/// The sender of the rows of a transaction. It waits while the channel is full, which slows down the server.
pub(super) struct RowSender {
    events: mpsc::Sender<Event>,
    max_cell_bytes: usize,
    max_row_bytes: usize,
}

/// The maximum length of the name of a column, in bytes. That of an expression may be as long as the statement.
pub(crate) const MAX_COLUMN_NAME_BYTES: usize = 256;

/// The error message of a transaction whose receiver was dropped.
const ABANDONED: &str = "the result was given up";

impl RowSender {
    pub(super) fn new(events: mpsc::Sender<Event>, max_cell_bytes: usize, max_row_bytes: usize) -> Self {
        Self { events, max_cell_bytes, max_row_bytes }
    }

    pub(super) async fn columns(&mut self, columns: Vec<Column>) -> Result<(), StatementError> {
        let short = columns.into_iter().map(|column| {
            let end = column.name.floor_char_boundary(MAX_COLUMN_NAME_BYTES);
            let name = column.name.get(..end).unwrap_or_default().to_owned();
            Column { name, ..column }
        });
        self.send(Event::Columns(short.collect())).await
    }

    /// Returns a row, cut to the bounds.
    pub(super) fn cut<'a>(&self, cells: impl IntoIterator<Item = Cell<'a>>) -> Row {
        Row::cut(cells, self.max_cell_bytes, self.max_row_bytes)
    }

    pub(super) async fn row(&mut self, row: Row) -> Result<(), StatementError> {
        self.send(Event::Row(row)).await
    }

    pub(super) async fn end(&mut self, affected: u64) -> Result<(), StatementError> {
        self.send(Event::End(affected)).await
    }

    async fn send(&mut self, event: Event) -> Result<(), StatementError> {
        let receiver_dropped = |_| ToolError::new(toolcrib_model::ErrorKind::Cancelled, ABANDONED).into();
        self.events.send(event).await.map_err(receiver_dropped)
    }
}
