//! Work on many items, spread over the cores.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, available_parallelism};

/// How many items a thread takes at a time: few enough that all end at nearly the same moment, however much work one item
/// is.
const CHUNK: usize = 32;

/// The most threads at work. Beyond it memory is the limit.
const MAX_THREADS: usize = 16;

/// Makes something of each item, in the order of the items. A few items are not worth a second thread.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MAX_THREADS).min(items.len() / CHUNK);
    if threads < 2 {
        return items.iter().map(make).collect();
    }
    let mut made: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let chunks = Mutex::new(items.chunks(CHUNK).zip(made.chunks_mut(CHUNK)));
    let work = || {
        let next = || chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some((items, made)) = next() {
            for (item, made) in items.iter().zip(made) {
                *made = Some(make(item));
            }
        }
    };
    thread::scope(|scope| {
        // A thread that the system does not give is done without.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (1..threads).filter_map(start).collect();
        work();
        for helper in helpers {
            if let Err(panic) = helper.join() {
                resume_unwind(panic);
            }
        }
    });
    made.into_iter().flatten().collect()
}
