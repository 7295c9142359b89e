//! Progress notifications for the client that made a call.

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::sync::mpsc;
use toolcrib_port::{Progress, ProgressListener};

/// The maximum number of notifications that wait for a slow client. Further ones are dropped.
const MAX_WAITING_STEPS: usize = 16;

/// A listener that queues the steps of a call without waiting.
pub(crate) struct ProgressQueue {
    sender: mpsc::Sender<Progress>,
}

/// A sender of the queued steps to the client.
pub(crate) struct ProgressReporter {
    steps: mpsc::Receiver<Progress>,
    /// The client and its progress token, if it requested progress.
    target: Option<(Peer<RoleServer>, ProgressToken)>,
}

/// Creates a listener and its reporter.
pub(crate) fn progress_queue() -> (ProgressQueue, ProgressReporter) {
    let (sender, steps) = mpsc::channel(MAX_WAITING_STEPS);
    (ProgressQueue { sender }, ProgressReporter { steps, target: None })
}

impl ProgressListener for ProgressQueue {
    fn progress(&self, progress: &Progress) {
        let _ = self.sender.try_send(progress.clone());
    }
}

impl ProgressReporter {
    /// Sets the client that receives the progress from now on.
    pub(crate) fn report_to(&mut self, target: Option<(Peer<RoleServer>, ProgressToken)>) {
        self.target = target;
    }

    /// Waits for the next step. Never returns if there are no more.
    pub(crate) async fn next(&mut self) -> Progress {
        match self.steps.recv().await {
            Some(step) => step,
            None => std::future::pending().await,
        }
    }

    /// Sends a step to the client.
    pub(crate) async fn tell(&self, step: Progress) {
        let Some((peer, token)) = &self.target else { return };
        let mut params = ProgressNotificationParam::new(token.clone(), step.done);
        params.total = step.total;
        params.message = step.message;
        // A client that has disconnected needs no progress.
        let _ = peer.notify_progress(params).await;
    }

    /// Sends the remaining steps to the client before it receives the result.
    pub(crate) async fn finish(&mut self) {
        while let Ok(step) = self.steps.try_recv() {
            self.tell(step).await;
        }
    }
}
