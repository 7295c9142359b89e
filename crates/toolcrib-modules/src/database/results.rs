//! Open results, from which further pages can be read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::answer::{Column, Cut, Page};
use super::cell::Row;
use super::connection::Connection;
use super::job::{Running, Until};
use super::session::{Event, Trouble};

/// An open result, and the position in it.
pub(super) struct Reading {
    pub(super) connection: Arc<Connection>,
    running: Running,
    columns: Vec<Column>,
    /// A row that did not fit into the last page.
    pending: Option<Row>,
    /// The number of rows that each statement changed.
    pub(super) affected: Vec<u64>,
}

/// The limits of one page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageSize {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

impl Reading {
    pub(super) fn new(connection: Arc<Connection>, running: Running) -> Self {
        Self { connection, running, columns: Vec::new(), pending: None, affected: Vec::new() }
    }

    /// Reads the next page. Returns true with it if there are more rows.
    pub(super) async fn page(&mut self, size: PageSize, until: &Until) -> Result<(Page, bool), Trouble> {
        let mut rows = Vec::new();
        let mut cut = Vec::new();
        let mut bytes = 0;
        let has_more = loop {
            let row = match self.pending.take() {
                Some(row) => row,
                None => match self.running.next(until).await? {
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
            cut.extend(row.cut.iter().map(|(at, bytes)| Cut {
                row: rows.len(),
                column: name(*at),
                bytes: *bytes,
            }));
            rows.push(row.cells);
        };
        let row_count = rows.len();
        let columns = self.columns.clone();
        Ok((Page { columns, rows, row_count, truncated: has_more, result: None, cut }, has_more))
    }

    /// Runs the statements to their end, and discards the remaining rows.
    pub(super) async fn finish(&mut self, until: &Until) -> Result<(), Trouble> {
        loop {
            match self.running.next(until).await? {
                Event::End(affected) => self.affected.push(affected),
                Event::Done(outcome) => return outcome,
                Event::Row(_) | Event::Columns(_) => {}
            }
        }
    }
}

/// The open results of all sessions.
pub(super) struct Results {
    kept: Mutex<Kept>,
    /// The maximum number of one connection.
    most: usize,
    /// The time without use after which a result is closed.
    idle: Duration,
}

#[derive(Default)]
struct Kept {
    results: Vec<Open>,
    /// The number of times that a result was stored.
    count: u64,
}

struct Open {
    id: String,
    session: Arc<str>,
    turn: u64,
    reading: Reading,
}

impl Results {
    pub(super) fn new(most: usize, idle: Duration) -> Arc<Self> {
        Arc::new(Self { kept: Mutex::default(), most, idle })
    }

    /// Stores a result for a session, under its previous handle if it had one. If the connection has too many, the
    /// least recently used one is closed.
    pub(super) fn keep(self: &Arc<Self>, session: &Arc<str>, reading: Reading, id: Option<String>) -> String {
        let (id, turn) = {
            let mut kept = self.lock();
            kept.count += 1;
            let turn = kept.count;
            let id = id.unwrap_or_else(|| format!("rows_{turn}"));
            let is_same = |open: &Open| Arc::ptr_eq(&open.reading.connection, &reading.connection);
            while kept.results.iter().filter(|open| is_same(open)).count() >= self.most {
                let oldest = kept.results.iter().position(is_same);
                oldest.map(|at| kept.results.remove(at));
            }
            kept.results.push(Open { id: id.clone(), session: Arc::clone(session), turn, reading });
            (id, turn)
        };
        let (results, idle) = (Arc::downgrade(self), self.idle);
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            if let Some(results) = results.upgrade() {
                results.lock().results.retain(|open| open.turn != turn);
            }
        });
        id
    }

    /// Removes a result, to read its next page.
    pub(super) fn take(&self, session: &str, id: &str) -> Option<Reading> {
        let mut kept = self.lock();
        let at = kept.results.iter().position(|open| open.id == id && &*open.session == session)?;
        Some(kept.results.remove(at).reading)
    }

    /// Closes all results.
    pub(super) fn close(&self) {
        self.lock().results.clear();
    }

    /// Closes the results of a session.
    pub(super) fn end_session(&self, session: &str) {
        self.lock().results.retain(|open| *open.session != *session);
    }

    /// Closes the results of a connection.
    pub(super) fn close_of(&self, connection: &Arc<Connection>) {
        self.lock().results.retain(|open| !Arc::ptr_eq(&open.reading.connection, connection));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
