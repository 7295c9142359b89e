//! What all clients share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rmcp::model::ErrorData;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_runtime::{Runtime, SurfaceMode, sessions_of};

use crate::approval::Parked;
use crate::client::Client;
use crate::http::Door;
use crate::metrics::Metrics;
use crate::page::StatusPage;
use crate::running::Running;
use crate::surface::{ListCost, Shown};
use crate::tasks::Tasks;
use crate::version::{Lease, Version};
use crate::{Error, ServerSettings};

/// An app as an MCP server. A clone is the same server.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
    pub(crate) page: Option<StatusPage>,
}

/// What all clients share.
pub(crate) struct Shared {
    /// The app as it is now.
    pub(crate) version: watch::Sender<Arc<Version>>,
    /// Held while another version takes its place.
    pub(crate) reloading: AsyncMutex<()>,
    /// The versions before it that still have calls.
    pub(crate) retiring: TaskTracker,
    /// What the requests to each listener share.
    pub(crate) doors: Mutex<Vec<Weak<Door>>>,
    pub(crate) settings: ServerSettings,
    /// Whoever is on this machine, where nobody needs a token.
    pub(crate) local: Arc<Client>,
    /// What clients are shown of the tools of one generation, by the client's name.
    shown: Mutex<HashMap<String, Arc<Shown>>>,
    pub(crate) parked: Parked<Running>,
    pub(crate) tasks: Tasks,
    pub(crate) metrics: Metrics,
    /// How many answers are still to be sent.
    unsent: watch::Sender<usize>,
    /// Set when no further calls are taken.
    pub(crate) draining: CancellationToken,
    /// Set when everything ends that still runs.
    pub(crate) closing: CancellationToken,
}

/// A call that is under way, while this is there.
pub(crate) struct UnderWay<'a>(&'a Metrics);

/// An answer that is not sent to its end yet, while this is there. The end of the server waits for it.
pub(crate) struct Unsent(Arc<Shared>);

impl Server {
    /// A server of a running app. The app's approver should be a [`ClientApprover`](crate::ClientApprover), or clients are not
    /// asked.
    pub fn new(runtime: Arc<Runtime>, settings: ServerSettings) -> Result<Self, Error> {
        let local = Arc::new(Client::local(settings.user.as_deref())?);
        let shared = Shared {
            version: watch::Sender::new(Arc::new(Version::new(runtime))),
            reloading: AsyncMutex::default(),
            retiring: TaskTracker::new(),
            doors: Mutex::default(),
            settings,
            local,
            shown: Mutex::default(),
            parked: Parked::new()?,
            tasks: Tasks::default(),
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
        let runtime = self.shared.runtime();
        let listed = |mode| {
            let surface = runtime.surface(mode, &self.shared.local.session)?;
            Ok::<_, Error>(Shown::new(surface, &runtime))
        };
        Ok(ListCost::new(&listed(self.shared.mode(&runtime))?, &listed(SurfaceMode::Direct)?))
    }
}

impl Shared {
    /// The app as it is now. What is done for a request is done with the lease of its caller.
    pub(crate) fn runtime(&self) -> Arc<Runtime> {
        Arc::clone(&self.version.borrow().runtime)
    }

    pub(crate) fn version(&self) -> Arc<Version> {
        Arc::clone(&self.version.borrow())
    }

    /// The app as it is now, which is not closed meanwhile.
    pub(crate) fn lease(&self) -> Lease {
        self.version.borrow().lease()
    }

    /// Tells of the versions to come.
    pub(crate) fn versions(&self) -> watch::Receiver<Arc<Version>> {
        self.version.subscribe()
    }

    fn mode(&self, runtime: &Runtime) -> SurfaceMode {
        self.settings.surface.unwrap_or(runtime.app().config.serve.surface)
    }

    /// What a client is shown of the tools as they are now.
    pub(crate) fn shown(&self, client: &str) -> Result<Arc<Shown>, ErrorData> {
        self.shown_of(&self.runtime(), client)
    }

    /// The same, of one version of the app.
    pub(crate) fn shown_of(&self, runtime: &Arc<Runtime>, client: &str) -> Result<Arc<Shown>, ErrorData> {
        let generation = runtime.snapshot().generation();
        {
            let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = shown.get(client).filter(|known| known.is_of(runtime, generation)) {
                return Ok(Arc::clone(known));
            }
        }
        // Rules that speak of the client's sessions speak of this one too.
        let session = format!("{}-", sessions_of(client));
        let surface = runtime
            .surface(self.mode(runtime), &session)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let shown = Arc::new(Shown::new(surface, runtime));
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
        Ok(UnderWay(&self.metrics))
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
        self.0.running.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.0.unsent.send_modify(|unsent| *unsent = unsent.saturating_sub(1));
    }
}
