//! What the three kinds of database have in common: one connection of a pool, in one transaction.

use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use toolcrib_sdk::ToolError;

use super::answer::Column;
use super::cell::{Cell, Row};

/// The connections to one database.
#[async_trait]
pub(super) trait Pool: Send + Sync {
    /// One of them, once it is free. It is known to work.
    async fn session(&self) -> Result<Box<dyn Session>, Trouble>;

    /// Closes all of them, those in use once they are given back.
    async fn close(&self);
}

/// One connection of a pool, for one transaction.
#[async_trait]
pub(super) trait Session: Send {
    /// What ends a running statement at the server.
    fn interrupt(&self) -> Interrupt;

    /// Begins the transaction. The server ends by itself what takes longer than `lifetime`, in case this process is gone.
    async fn begin(&mut self, mode: Mode, lifetime: Duration) -> Result<(), Trouble>;

    /// Runs one statement, and hands on what it gives as fast as that is taken.
    async fn run(&mut self, statement: &Statement, rows: &mut Rows) -> Result<(), Trouble>;

    /// Makes what the transaction did last.
    async fn commit(&mut self) -> Result<(), Trouble>;

    /// Takes back what was not committed, and gives the connection back as it was; or closes it if it is broken.
    async fn release(self: Box<Self>, is_broken: bool);
}

/// Ends a running statement, by another way than its own connection, which is busy.
pub(super) type Interrupt = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// What a transaction may do. The database sees to it.
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
    /// Whether to show how it would be run, instead of running it.
    pub(super) explain: bool,
}

impl Statement {
    pub(super) fn new(sql: impl Into<String>, parameters: Vec<Value>) -> Self {
        Self { sql: sql.into(), parameters, explain: false }
    }
}

/// Why a statement did not run to its end.
#[derive(Debug)]
pub(super) struct Trouble {
    /// What a model is told.
    pub(super) error: ToolError,
    /// Whether the connection cannot be used again.
    pub(super) is_broken: bool,
    /// The table that is not there, when that is it.
    pub(super) missing_table: Option<String>,
}

impl From<ToolError> for Trouble {
    fn from(error: ToolError) -> Self {
        Self { error, is_broken: false, missing_table: None }
    }
}

/// What comes of a transaction, in this order.
#[derive(Debug)]
pub(super) enum Event {
    /// The columns of the rows that follow.
    Columns(Vec<Column>),
    Row(Row),
    /// The end of one statement, with the number of rows that it changed.
    End(u64),
    /// The end of the transaction.
    Done(Result<(), Trouble>),
}

/// Where a session puts its rows. It waits until there is room, which holds up the server too.
pub(super) struct Rows {
    events: mpsc::Sender<Event>,
    max_cell_bytes: usize,
    max_row_bytes: usize,
}

/// How much is shown of the name of a column, in bytes. That of an expression may be as long as the statement.
pub const MAX_COLUMN_NAME_BYTES: usize = 256;

/// Nobody wants the rows any more.
const ABANDONED: &str = "the result was given up";

impl Rows {
    pub(super) fn new(events: mpsc::Sender<Event>, max_cell_bytes: usize, max_row_bytes: usize) -> Self {
        Self { events, max_cell_bytes, max_row_bytes }
    }

    pub(super) async fn columns(&mut self, columns: Vec<Column>) -> Result<(), Trouble> {
        let short = columns.into_iter().map(|column| {
            let end = column.name.floor_char_boundary(MAX_COLUMN_NAME_BYTES);
            let name = column.name.get(..end).unwrap_or_default().to_owned();
            Column { name, ..column }
        });
        self.send(Event::Columns(short.collect())).await
    }

    /// What is kept of a row.
    pub(super) fn cut<'a>(&self, cells: impl IntoIterator<Item = Cell<'a>>) -> Row {
        Row::cut(cells, self.max_cell_bytes, self.max_row_bytes)
    }

    pub(super) async fn row(&mut self, row: Row) -> Result<(), Trouble> {
        self.send(Event::Row(row)).await
    }

    pub(super) async fn end(&mut self, affected: u64) -> Result<(), Trouble> {
        self.send(Event::End(affected)).await
    }

    async fn send(&mut self, event: Event) -> Result<(), Trouble> {
        let gone = |_| ToolError::new(toolcrib_model::ErrorKind::Cancelled, ABANDONED).into();
        self.events.send(event).await.map_err(gone)
    }
}
