//! The record that a suspended call has not begun, by which another process knows that it can begin it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Mutex;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::CallJournal;
use toolcrib_tasks::store::{Change, Record, RecordKind, StoreError};

use crate::approval::SUSPENSION_TIME;
use crate::replica::Replica;

/// The time for which records of a suspended call exist: its token has ended by then.
const RECORD_LIFETIME: Duration = SUSPENSION_TIME.saturating_add(Duration::from_mins(1));

/// The contents of the token by which a client resumes a call at any process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SharedToken {
    /// The process that holds the call.
    pub(crate) process: String,
    /// The number of the call there.
    pub(crate) call: u64,
    /// The number of the suspension of this call.
    turn: u32,
}

/// The start of a call that may be suspended, in the records of the store.
///
/// A suspended call has two records. The first is taken by the process that resumes it, so that its token is valid once.
/// The second says that it has not begun. It is taken by the process that begins it: the one that holds it, or another
/// one when that one has ended.
pub(crate) struct StartRecord {
    replica: Arc<Replica>,
    number: u64,
    id: String,
    state: Mutex<StartState>,
}

struct StartState {
    turn: u32,
    start: Start,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The call was never suspended, and has not begun.
    Unrecorded,
    /// A record says that it has not begun.
    Recorded,
    Begun,
}

impl SharedToken {
    /// Returns the id of the record that is taken when the call is resumed.
    pub(crate) fn suspension(&self) -> String {
        format!("{}.{}", self.not_begun(), self.turn)
    }

    /// Returns the id of the record that says that the call has not begun.
    pub(crate) fn not_begun(&self) -> String {
        format!("{}.{}", self.process, self.call)
    }
}

impl StartRecord {
    pub(crate) fn new(replica: &Arc<Replica>) -> Arc<Self> {
        let (number, id) = replica.new_call();
        let state = Mutex::new(StartState { turn: 0, start: Start::Unrecorded });
        Arc::new(Self { replica: Arc::clone(replica), number, id, state })
    }

    /// Returns the number of the call in this process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Records that the call is suspended, and returns the contents of the token by which it is resumed.
    pub(crate) async fn suspend(&self) -> Result<SharedToken, StoreError> {
        let mut state = self.state.lock().await;
        state.turn += 1;
        let process = self.replica.id().to_owned();
        let token = SharedToken { process, call: self.number, turn: state.turn };
        let put = |kind, id| Change::PutFor {
            record: Record { kind, id, session: String::new(), body: json!({}) },
            lifetime: RECORD_LIFETIME,
        };
        let mut changes = vec![put(RecordKind::Suspended, token.suspension())];
        if state.start != Start::Begun {
            changes.push(put(RecordKind::NotBegun, self.id.clone()));
        }
        self.replica.store().apply(changes).await?;
        if state.start == Start::Unrecorded {
            state.start = Start::Recorded;
        }
        Ok(token)
    }

    /// Removes the record of a call that has ended. That of a call which is cancelled because this process ends stays, so
    /// that another one can begin it.
    pub(crate) async fn end(&self) {
        if self.state.lock().await.start == Start::Recorded {
            self.replica.remove_later(RecordKind::NotBegun, self.id.clone());
        }
    }
}

#[async_trait]
impl CallJournal for StartRecord {
    async fn record_start(&self) -> Result<(), ToolError> {
        let mut state = self.state.lock().await;
        if state.start == Start::Recorded {
            let taken = self.replica.take(RecordKind::NotBegun, &self.id).await;
            let is_first = taken.map_err(|error| {
                ToolError::new(
                    ErrorKind::Unavailable,
                    format!("the start of the call cannot be recorded: {error}"),
                )
                .with_hint("the call did not run; try again later")
            })?;
            if !is_first {
                let message = "another process has taken the call over, so it does not run here";
                return Err(ToolError::new(ErrorKind::Cancelled, message));
            }
        }
        state.start = Start::Begun;
        Ok(())
    }
}
