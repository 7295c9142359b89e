//! The effects of hooks on a call.

use std::sync::Arc;

use crate::audit::HookRecord;

/// The effects of hooks on a call so far.
#[derive(Debug, Default)]
pub(crate) struct HookEffects {
    /// The verdicts that changed anything, for the audit record.
    pub(crate) records: Vec<HookRecord>,
    /// The changes of the arguments, for the model.
    pub(crate) changes: Vec<String>,
    /// The hook that asks a person, with its reason.
    pub(super) asking: Option<(Arc<str>, String)>,
}
