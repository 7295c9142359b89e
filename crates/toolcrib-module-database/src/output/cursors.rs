//! Open results, from which further pages can be read.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::backend::{Event, StatementError};
use crate::connection::Connection;
use crate::output::cell::Row;
use crate::output::{Column, RowPage, TruncatedValue};
use crate::transaction::{Deadline, TransactionHandle};

/// An open result, and the position in it.
pub(crate) struct ResultCursor {
    pub(crate) connection: Arc<Connection>,
    running: TransactionHandle,
    columns: Vec<Column>,
    /// A row that did not fit into the last page.
    pending: Option<Row>,
    /// The number of rows that each statement changed.
    pub(crate) affected: Vec<u64>,
}

/// The limits of one page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageSize {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

impl ResultCursor {
    pub(crate) fn new(connection: Arc<Connection>, running: TransactionHandle) -> Self {
        Self { connection, running, columns: Vec::new(), pending: None, affected: Vec::new() }
    }

    /// Reads the next page. Returns true with it if there are more rows.
    pub(crate) async fn page(
        &mut self,
        size: PageSize,
        deadline: &Deadline,
    ) -> Result<(RowPage, bool), StatementError> {
        let mut rows = Vec::new();
        let mut cut = Vec::new();
        let mut bytes = 0;
        let has_more = loop {
            let row = match self.pending.take() {
                Some(row) => row,
                None => match self.running.next(deadline).await? {
                    Event::Row(row) => row,
                    Event::Columns(columns) => {
                        // Of several statements, the first one with columns determines them.
                        if self.columns.is_empty() {
                            self.columns = columns;
                        }
                        continue;
                    }
                    Event::End(affected) => {
                        self.affected.push(affected);
                        continue;
                    }
                    Event::Done(outcome) => {
                        outcome?;
                        break false;
                    }
                },
            };
            // A page has at least one row of any size: rows are cut to the size of a page.
            if rows.len() >= size.rows || !rows.is_empty() && bytes + row.bytes > size.bytes {
                self.pending = Some(row);
                break true;
            }
            bytes += row.bytes;
            let name =
                |at: usize| self.columns.get(at).map_or_else(String::new, |column| column.name.clone());
            cut.extend(row.cut.iter().map(|(at, bytes)| TruncatedValue {
                row: rows.len(),
                column: name(*at),
                bytes: *bytes,
            }));
            rows.push(row.cells);
        };
        let row_count = rows.len();
        let columns = self.columns.clone();
        Ok((RowPage { columns, rows, row_count, truncated: has_more, result: None, cut }, has_more))
    }

    /// Runs the statements to their end, and discards the remaining rows.
    pub(crate) async fn finish(&mut self, deadline: &Deadline) -> Result<(), StatementError> {
        loop {
            match self.running.next(deadline).await? {
                Event::End(affected) => self.affected.push(affected),
                Event::Done(outcome) => return outcome,
                Event::Row(_) | Event::Columns(_) => {}
            }
        }
    }
}

/// The open results of all sessions.
pub(crate) struct CursorStore {
    stored: Mutex<StoredCursors>,
    /// The maximum number of one connection.
    most: usize,
    /// The time without use after which a result is closed.
    idle: Duration,
}

#[derive(Default)]
struct StoredCursors {
    results: Vec<StoredCursor>,
    /// The number of times that a result was stored.
    count: u64,
}

struct StoredCursor {
    id: String,
    session: Arc<str>,
    use_number: u64,
    cursor: ResultCursor,
}

impl CursorStore {
    pub(crate) fn new(most: usize, idle: Duration) -> Arc<Self> {
        Arc::new(Self { stored: Mutex::default(), most, idle })
    }

    /// Stores a result for a session, under its previous handle if it had one. If the connection has too many, the
    /// least recently used one is closed.
    pub(crate) fn keep(
        self: &Arc<Self>,
        session: &Arc<str>,
        cursor: ResultCursor,
        id: Option<String>,
    ) -> String {
        let (id, use_number) = {
            let mut stored = self.stored.lock();
            stored.count += 1;
            let use_number = stored.count;
            let id = id.unwrap_or_else(|| format!("rows_{use_number}"));
            let is_same = |open: &StoredCursor| Arc::ptr_eq(&open.cursor.connection, &cursor.connection);
            while stored.results.iter().filter(|open| is_same(open)).count() >= self.most {
                let oldest = stored.results.iter().position(is_same);
                oldest.map(|at| stored.results.remove(at));
            }
            stored.results.push(StoredCursor {
                id: id.clone(),
                session: Arc::clone(session),
                use_number,
                cursor,
            });
            (id, use_number)
        };
        let (results, idle) = (Arc::downgrade(self), self.idle);
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            if let Some(results) = results.upgrade() {
                results.stored.lock().results.retain(|open| open.use_number != use_number);
            }
        });
        id
    }

    /// Removes a result, to read its next page.
    pub(crate) fn take(&self, session: &str, id: &str) -> Option<ResultCursor> {
        let mut stored = self.stored.lock();
        let at = stored.results.iter().position(|open| open.id == id && &*open.session == session)?;
        Some(stored.results.remove(at).cursor)
    }

    /// Closes all results.
    pub(crate) fn close(&self) {
        self.stored.lock().results.clear();
    }

    /// Closes the results of a session.
    pub(crate) fn end_session(&self, session: &str) {
        self.stored.lock().results.retain(|open| *open.session != *session);
    }

    /// Closes the results of a connection.
    pub(crate) fn close_of(&self, connection: &Arc<Connection>) {
        self.stored.lock().results.retain(|open| !Arc::ptr_eq(&open.cursor.connection, connection));
    }
}
