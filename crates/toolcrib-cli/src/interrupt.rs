//! Ctrl-C and SIGTERM.

use tokio_util::sync::CancellationToken;

/// Waits until somebody wants this process to end.
pub(crate) async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Without signals there is nothing to wait for.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// A token that the first interruption cancels. A second one ends the process at once; the children go with it.
pub(crate) fn cancel_on_interrupt() -> CancellationToken {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    tokio::spawn(async move {
        interrupted().await;
        eprintln!("stopping; once more to leave at once");
        cancelled.cancel();
        interrupted().await;
        std::process::exit(i32::from(crate::exit::Exit::Failed as u8));
    });
    token
}
