//! The interface of budgets, which agent runs draw on.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::Instant;
use toolcrib_model::{Amount, Resource};

/// The budget of an agent run and of all that it starts. Each charge also counts for every budget above it.
pub trait RunBudget: fmt::Debug + Send + Sync {
    /// Returns its deadline, or an earlier one of a budget above.
    fn end(&self) -> Option<Instant>;

    /// Returns the resource that is exhausted here or above: tokens or cost.
    fn exhausted(&self) -> Option<Resource>;

    /// Returns true if no call is left, here or above.
    fn has_no_calls(&self) -> bool;

    /// Takes one call, if one is left here and above.
    #[must_use]
    fn take_call(&self) -> bool;

    /// Counts what was spent, here and above.
    fn charge(&self, amount: Amount);

    /// Reserves the most that a request may take, here and above. Returns `None` while other reservations leave nothing,
    /// and the resource that is exhausted as an error.
    fn reserve(self: Arc<Self>, most: Amount) -> Result<Option<Box<dyn Reservation>>, Resource>;

    /// Returns the signal for the end of a reservation.
    fn released(&self) -> &Arc<Notify>;
}

/// An amount that is reserved until this is dropped.
#[must_use]
pub trait Reservation: Send + Sync {}
