//! Asynchronous reads for a caller that is not.

use std::thread;

/// Runs a future to its end on a thread with a runtime of one thread: the caller may be inside of another runtime, which
/// refuses to block.
pub(super) fn run<T: Send>(future: impl Future<Output = Result<T, String>> + Send) -> Result<T, String> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| format!("a secret cannot be read: {error}"))?.block_on(future)
    };
    thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|_| {
        Err("a secret cannot be read: its provider panicked; this is a fault in it".into())
    })
}
