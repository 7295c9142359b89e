//! Work that two threads share.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

/// Does two pieces of work, at the same time if `is_shared` and the machine has two processors. Small pieces are not
/// worth a thread.
pub(super) fn both<T: Send>(
    is_shared: bool,
    first: impl FnOnce() -> T,
    second: impl Fn() -> T + Sync,
) -> (T, T) {
    let is_shared = is_shared
        && thread::available_parallelism().is_ok_and(|processors| processors > NonZero::<usize>::MIN);
    if !is_shared {
        return (first(), second());
    }
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, &second);
        let first = first();
        // A process that may start no more threads does the work itself.
        let second = other
            .map_or_else(|_| second(), |other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (first, second)
    })
}
