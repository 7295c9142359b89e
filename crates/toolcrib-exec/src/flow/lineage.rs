//! What the calls above a call hold, so that a tool that calls tools does not wait for itself.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::gate::Gate;

/// The places that the calls above a call hold. The executor hands it from a call to the calls that it makes.
///
/// A call that is made by a call of the same source, or of the same tool, would wait for a place that is given back only
/// after it has ended. It therefore waits for a free place *or* for the one of the call above it, which is lent to one
/// such call at a time. Once the call above has ended, nothing of it is lent any more.
#[derive(Clone, Debug, Default)]
pub struct Lineage(Option<Arc<Above>>);

/// One place above.
#[derive(Debug)]
struct Above {
    gate: Arc<Gate>,
    /// Held by the call below that the place is lent to; closed when the call above has ended.
    place: Arc<Semaphore>,
    further: Lineage,
}

/// Ends the lending.
#[derive(Debug)]
pub(super) struct Lending(Arc<Semaphore>);

impl Lineage {
    /// The same with one place more.
    pub(super) fn below(&self, gate: Arc<Gate>) -> (Self, Option<Lending>) {
        let place = Arc::new(Semaphore::new(1));
        let lending = Lending(Arc::clone(&place));
        (Self(Some(Arc::new(Above { gate, place, further: self.clone() }))), Some(lending))
    }

    /// The nearest place of this gate that can be lent.
    pub(super) fn place_of(&self, gate: &Arc<Gate>) -> Option<&Arc<Semaphore>> {
        let mut next = self.0.as_deref();
        while let Some(above) = next {
            if Arc::ptr_eq(&above.gate, gate) && !above.place.is_closed() {
                return Some(&above.place);
            }
            next = above.further.0.as_deref();
        }
        None
    }
}

impl Drop for Lending {
    fn drop(&mut self) {
        self.0.close();
    }
}
