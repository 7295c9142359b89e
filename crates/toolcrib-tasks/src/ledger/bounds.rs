//! Limits on the number of tasks.

use std::sync::Arc;

use toolcrib_model::ToolError;

use super::task::{Live, LocalState, Task};

/// The tasks that share a limit.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    Session,
    Client,
    All,
}

/// The states that count towards a limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Active,
    Ended,
    Both,
}

/// A limit on the number of tasks.
pub(crate) struct Bound {
    scope: Scope,
    counted: Counted,
    limit: usize,
    evicts: bool,
    refusal: Option<fn(usize, usize) -> ToolError>,
}

impl Bound {
    pub(crate) fn new(scope: Scope, counted: Counted, limit: usize) -> Self {
        Self { scope, counted, limit, evicts: false, refusal: None }
    }

    /// Lets the tasks that ended first make room for a new one.
    pub(crate) fn evicting(self) -> Self {
        Self { evicts: true, ..self }
    }

    /// Refuses a task without room, with the error for the number of tasks and the limit. A bound without a refusal
    /// admits all tasks.
    pub(crate) fn refusing(self, refusal: fn(usize, usize) -> ToolError) -> Self {
        Self { refusal: Some(refusal), ..self }
    }

    fn counts<T: Task, L: LocalState>(&self, new: &Live<T, L>, other: &Live<T, L>) -> bool {
        let is_in_scope = match self.scope {
            Scope::Session => other.owner.session == new.owner.session,
            Scope::Client => other.owner.shares_client_with(&new.owner),
            Scope::All => true,
        };
        is_in_scope
            && match self.counted {
                Counted::Active => other.task().ended().is_none(),
                Counted::Ended => other.task().ended().is_some(),
                Counted::Both => true,
            }
    }
}

/// Returns the tasks to remove in order to make room for a new one, or an error if there is no room.
pub(super) fn make_room<'a, T: Task, L: LocalState>(
    new: &Live<T, L>,
    known: &(impl Iterator<Item = &'a Arc<Live<T, L>>> + Clone),
    bounds: &[Bound],
) -> Result<Vec<Arc<Live<T, L>>>, ToolError> {
    let mut removed: Vec<Arc<Live<T, L>>> = Vec::new();
    for bound in bounds {
        let is_kept = |other: &Arc<Live<T, L>>| !removed.iter().any(|removed| Arc::ptr_eq(removed, other));
        let counted: Vec<_> =
            known.clone().filter(|other| bound.counts(new, other) && is_kept(other)).collect();
        let added = usize::from(bound.counted != Counted::Ended);
        let surplus = (counted.len() + added).saturating_sub(bound.limit);
        let evictable = counted.iter().filter(|other| bound.evicts && !other.is_running());
        let mut ended: Vec<_> = evictable.filter_map(|other| Some((other.task().ended()?, *other))).collect();
        if let Some(refusal) = bound.refusal.filter(|_| ended.len() < surplus) {
            return Err(refusal(counted.len(), bound.limit));
        }
        ended.sort_by(|(one, a), (other, b)| (one, &a.id).cmp(&(other, &b.id)));
        removed.extend(ended.into_iter().take(surplus).map(|(_, other)| Arc::clone(other)));
    }
    Ok(removed)
}
