//! The record that a background call begins.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::ToolError;
use toolcrib_port::CallJournal;

use super::BackgroundInner;
use super::call::LiveCall;
use super::task::BackgroundTask;
use crate::action::unrecorded_start;

/// The journal of a call that may be made again only while it has not begun.
pub(super) struct CallStart {
    pub(super) inner: Arc<BackgroundInner>,
    pub(super) live: Arc<LiveCall>,
}

#[async_trait]
impl CallJournal for CallStart {
    async fn record_start(&self) -> Result<(), ToolError> {
        let Self { inner, live } = self;
        let _change_lock = live.change_lock.lock().await;
        let task = BackgroundTask { has_begun: true, ..BackgroundTask::clone(&live.task()) };
        let saved = inner.ledger.commit(live, task, Vec::new()).await;
        // A call that the store does not contain is lost with the program, and is not made again.
        saved.or_else(|error| if live.is_stored() { Err(unrecorded_start(&error)) } else { Ok(()) })
    }
}
