//! Hints that other processes have changed a table.

use std::future::pending;

use tokio::sync::watch;

/// Hints that other processes have changed a table. They only save time: any of them may be missing, so their reader polls
/// the table as well.
#[derive(Debug, Default)]
pub struct Hints(Option<watch::Receiver<()>>);

impl Hints {
    /// Returns the hints of a sender. Those that it has sent before do not count.
    pub fn of(sender: &watch::Sender<()>) -> Self {
        Self(Some(sender.subscribe()))
    }

    /// Returns true if hints are to be expected.
    pub fn are_expected(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for the next hint, which may never come.
    pub async fn next(&mut self) {
        if let Some(receiver) = &mut self.0
            && receiver.changed().await.is_ok()
        {
            return;
        }
        pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_hint_wakes_its_reader_once_and_without_hints_nothing_does() {
        let sender = watch::Sender::default();
        let mut hints = Hints::of(&sender);
        sender.send_replace(());
        hints.next().await;
        let minute = Duration::from_mins(1);
        assert!(timeout(minute, hints.next()).await.is_err());
        drop(sender);
        assert!(timeout(minute, hints.next()).await.is_err());
        assert!(timeout(minute, Hints::default().next()).await.is_err());
    }
}
