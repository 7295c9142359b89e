//! What all clients share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ErrorData;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolcrib_runtime::{LOCAL_CLIENT, Runtime, SurfaceMode, sessions_of};

use crate::approval::Parked;
use crate::call::Running;
use crate::client::Client;
use crate::metrics::Metrics;
use crate::page::StatusPage;
use crate::surface::{ListCost, Shown};
use crate::{Error, ServerSettings};

/// An app as an MCP server. A clone is the same server.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
    pub(crate) page: Option<StatusPage>,
}

/// What all clients share.
pub(crate) struct Shared {
    pub(crate) runtime: Arc<Runtime>,
    mode: SurfaceMode,
    /// Whoever is on this machine, where nobody needs a token.
    pub(crate) local: Arc<Client>,
    /// What clients are shown of the tools of one generation, by the client's name.
    shown: Mutex<HashMap<String, Arc<Shown>>>,
    pub(crate) parked: Parked<Running>,
    pub(crate) metrics: Metrics,
    /// How many answers are still to be sent.
    unsent: watch::Sender<usize>,
    /// Set when no further calls are taken.
    pub(crate) draining: CancellationToken,
    /// Set when everything ends that still runs.
    pub(crate) closing: CancellationToken,
}

/// A call that is under way, while this is there.
pub(crate) struct UnderWay<'a>(&'a Shared);

/// An answer that is not sent to its end yet, while this is there. The end of the server waits for it.
pub(crate) struct Unsent(Arc<Shared>);

impl Server {
    /// A server of a running app. The app's approver should be a [`ClientApprover`](crate::ClientApprover), or clients are not
    /// asked.
    pub fn new(runtime: Arc<Runtime>, settings: ServerSettings) -> Result<Self, Error> {
        let mode = settings.surface.unwrap_or(runtime.app().config.serve.surface);
        let shared = Shared {
            runtime,
            mode,
            local: Arc::new(Client::new(LOCAL_CLIENT)?),
            shown: Mutex::default(),
            parked: Parked::new()?,
            metrics: Metrics::default(),
            unsent: watch::Sender::new(0),
            draining: CancellationToken::new(),
            closing: CancellationToken::new(),
        };
        Ok(Self { shared: Arc::new(shared), page: None })
    }

    /// Has a status page over HTTP, where the app wants one. Without this there is none.
    pub fn with_page(mut self, page: StatusPage) -> Self {
        self.page = Some(page);
        self
    }

    /// What the list of tools costs a client of this machine, which has no token.
    pub fn list_cost(&self) -> Result<ListCost, Error> {
        let listed = |mode| {
            let surface = self.shared.runtime.surface(mode, &self.shared.local.session)?;
            Ok::<_, Error>(Shown::new(surface, &self.shared.runtime))
        };
        Ok(ListCost::new(&listed(self.shared.mode)?, &listed(SurfaceMode::Direct)?))
    }
}

impl Shared {
    /// What a client is shown of the tools as they are now.
    pub(crate) fn shown(&self, client: &str) -> Result<Arc<Shown>, ErrorData> {
        let generation = self.runtime.snapshot().generation();
        {
            let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = shown.get(client).filter(|known| known.surface.generation == generation) {
                return Ok(Arc::clone(known));
            }
        }
        // Rules that speak of the client's sessions speak of this one too.
        let session = format!("{}-", sessions_of(client));
        let surface = self
            .runtime
            .surface(self.mode, &session)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let shown = Arc::new(Shown::new(surface, &self.runtime));
        let mut all = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(client.to_owned(), Arc::clone(&shown));
        Ok(shown)
    }

    /// Notes that a call is under way.
    pub(crate) fn begin(&self) -> Result<UnderWay<'_>, ErrorData> {
        if self.draining.is_cancelled() {
            return Err(ErrorData::internal_error(
                "the server is shutting down, and takes no further calls",
                None,
            ));
        }
        self.metrics.running.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(UnderWay(self))
    }

    /// Notes that a request has an answer that is to be sent.
    pub(crate) fn owe(self: &Arc<Self>) -> Unsent {
        self.unsent.send_modify(|unsent| *unsent += 1);
        Unsent(Arc::clone(self))
    }

    /// Waits until all answers are sent.
    pub(crate) async fn idle(&self) {
        let mut unsent = self.unsent.subscribe();
        // The sender is there as long as this is.
        let _ = unsent.wait_for(|unsent| *unsent == 0).await;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.metrics.running.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.0.unsent.send_modify(|unsent| *unsent = unsent.saturating_sub(1));
    }
}
