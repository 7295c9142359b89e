//! How far a call is, for the client that made it.

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::sync::mpsc;
use toolcrib_port::{Progress, ProgressListener};

/// How many steps wait for a client that reads slowly. Further ones are left out.
const MAX_WAITING_STEPS: usize = 16;

/// Takes the steps of a call, without ever waiting.
pub(crate) struct Steps {
    sender: mpsc::Sender<Progress>,
}

/// Hands them to the client.
pub(crate) struct Reporter {
    steps: mpsc::Receiver<Progress>,
    /// Under which token the client wants them, if it does.
    target: Option<(Peer<RoleServer>, ProgressToken)>,
}

/// Both ends.
pub(crate) fn steps() -> (Steps, Reporter) {
    let (sender, steps) = mpsc::channel(MAX_WAITING_STEPS);
    (Steps { sender }, Reporter { steps, target: None })
}

impl ProgressListener for Steps {
    fn progress(&self, progress: &Progress) {
        let _ = self.sender.try_send(progress.clone());
    }
}

impl Reporter {
    /// Says who wants to hear, from now on.
    pub(crate) fn report_to(&mut self, target: Option<(Peer<RoleServer>, ProgressToken)>) {
        self.target = target;
    }

    /// Waits for the next step; never comes back where there will be none.
    pub(crate) async fn next(&mut self) -> Progress {
        match self.steps.recv().await {
            Some(step) => step,
            None => std::future::pending().await,
        }
    }

    /// Tells the client of a step.
    pub(crate) async fn tell(&self, step: Progress) {
        let Some((peer, token)) = &self.target else { return };
        let mut params = ProgressNotificationParam::new(token.clone(), step.done);
        params.total = step.total;
        params.message = step.message;
        // A client that is gone wants no progress.
        let _ = peer.notify_progress(params).await;
    }

    /// Tells the client of what it has not been told yet, before it gets the result.
    pub(crate) async fn finish(&mut self) {
        while let Ok(step) = self.steps.try_recv() {
            self.tell(step).await;
        }
    }
}
