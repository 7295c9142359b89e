//! A parallel map over slices.

use std::panic::resume_unwind;
use std::thread::{self, available_parallelism};

use parking_lot::Mutex;

/// The number of items that a thread takes at a time: few enough that all threads end at nearly the same time,
/// regardless of the work per item.
const CHUNK: usize = 32;

/// The maximum number of threads. With more, memory is the bottleneck.
const MAX_THREADS: usize = 16;

/// Maps the items in parallel, and returns the results in order. A few items run on the current thread alone.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MAX_THREADS).min(items.len() / CHUNK);
    if threads < 2 {
        return items.iter().map(make).collect();
    }
    let mut made: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let chunks = Mutex::new(items.chunks(CHUNK).zip(made.chunks_mut(CHUNK)));
    let work = || {
        let next = || chunks.lock().next();
        while let Some((items, made)) = next() {
            for (item, made) in items.iter().zip(made) {
                *made = Some(make(item));
            }
        }
    };
    thread::scope(|scope| {
        // If the system refuses a thread, the others do its work.
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
