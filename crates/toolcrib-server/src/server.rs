//! The state that all clients share.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rmcp::model::ErrorData;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_app::sections::serve::SurfaceMode;
use toolcrib_port::{CallPhase, PhaseTracker};
use toolcrib_runtime::Runtime;

use crate::app_version::{AppVersion, Lease, Listener};
use crate::approval::{PendingApprovals, SuspendedCalls};
use crate::calls::execution::{CallProgress, RunningCall};
use crate::calls::tasks::Tasks;
use crate::client::Client;
use crate::console::Console;
use crate::http::DRAIN;
use crate::metrics::Metrics;
use crate::replica::worker::work;
use crate::surface::{Audience, ListCost, VisibleTools};
use crate::{Error, ServerSettings};

/// The most calls that a shutdown names.
const MAX_NAMED_CALLS: usize = 5;

/// An app as an MCP server. A clone is the same server.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
    pub(crate) console: Option<Console>,
    pub(crate) approvals: Option<PendingApprovals>,
}

/// The state that all clients share.
pub(crate) struct Shared {
    /// The current version of the app.
    pub(crate) version: watch::Sender<Arc<AppVersion>>,
    /// Held during a reload.
    pub(crate) reloading: AsyncMutex<()>,
    /// The earlier versions that still have calls.
    pub(crate) retiring: TaskTracker,
    pub(crate) listeners: Mutex<Vec<Weak<dyn Listener>>>,
    pub(crate) settings: ServerSettings,
    /// The client for local processes, if no token is required.
    pub(crate) local: Arc<Client>,
    /// The tools that clients see, of one generation, by the beginning of the names of the client's sessions, and by its
    /// support for user interfaces.
    shown: Mutex<HashMap<(String, bool), Arc<VisibleTools>>>,
    pub(crate) suspended: SuspendedCalls<RunningCall>,
    pub(crate) tasks: Tasks,
    pub(crate) metrics: Metrics,
    /// The calls that clients wait for, by their numbers.
    calls: Mutex<BTreeMap<u64, CallProgress>>,
    /// The number of answers that are not sent yet.
    unsent: watch::Sender<usize>,
    /// Cancelled when no further calls are accepted.
    pub(crate) draining: CancellationToken,
    /// Cancelled when all running calls must end.
    pub(crate) closing: CancellationToken,
}

/// A running call, counted until this is dropped.
pub(crate) struct RunningCallGuard<'a>(&'a Metrics);

/// The entry of a call that a client waits for, which is removed when this is dropped.
pub(crate) struct ListedCall<'a> {
    shared: &'a Shared,
    number: u64,
}

/// An answer that is not completely sent, counted until this is dropped. The shutdown of the server waits for it.
pub(crate) struct UnsentAnswer(Arc<Shared>);

impl Server {
    /// Creates a server of a running app. The app's approver should be a [`ClientApprover`](crate::ClientApprover),
    /// otherwise clients are not asked.
    pub fn new(runtime: Arc<Runtime>, settings: ServerSettings) -> Result<Self, Error> {
        let local = Arc::new(Client::local(settings.user.as_deref(), settings.replica.as_deref())?);
        let tasks = Tasks::new(settings.replica.as_deref());
        let shared = Shared {
            version: watch::Sender::new(Arc::new(AppVersion::new(runtime))),
            reloading: AsyncMutex::default(),
            retiring: TaskTracker::new(),
            listeners: Mutex::default(),
            settings,
            local,
            shown: Mutex::default(),
            suspended: SuspendedCalls::new()?,
            tasks,
            metrics: Metrics::default(),
            calls: Mutex::default(),
            unsent: watch::Sender::new(0),
            draining: CancellationToken::new(),
            closing: CancellationToken::new(),
        };
        Ok(Self { shared: Arc::new(shared), console: None, approvals: None })
    }

    /// Lets people answer these pending approvals by the links that the app's channels send them, and operators at all
    /// processes that share the store, if there is a [`Replica`](crate::Replica). Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting of a channel is invalid, or a variable of it is not set.
    pub fn with_approvals(mut self, pending: &PendingApprovals) -> Result<Self, Error> {
        pending.open_channels(self.shared.runtime().app(), self.shared.settings.replica.as_deref())?;
        self.shared.listeners.lock().push(pending.listener());
        self.approvals = Some(pending.clone());
        if let Some(replica) = &self.shared.settings.replica {
            pending.join(replica);
            let server = Arc::downgrade(&self.shared);
            tokio::spawn(work(Arc::clone(replica), pending.clone(), server));
        }
        Ok(self)
    }

    /// Adds a console over HTTP, which the app may disable. By default, there is no console.
    pub fn with_console(mut self, console: Console) -> Self {
        self.console = Some(console);
        self
    }

    /// Says which calls of clients a shutdown waits for, and how long; `None` if it waits for none.
    pub fn shutdown_notice(&self) -> Option<String> {
        let calls = self.shared.calls.lock();
        let is_waiting = |call: &&CallProgress| call.phase.phase() == CallPhase::WaitingForPerson;
        let (waiting, running): (Vec<_>, Vec<_>) = calls.values().partition(is_waiting);
        let mut parts = Vec::new();
        if !running.is_empty() {
            let names = listed(running.iter().map(|call| format!("`{}`", call.tool)));
            parts.push(format!("waiting up to {} s for running calls: {names}", DRAIN.as_secs()));
        }
        if !waiting.is_empty() {
            let names = listed(waiting.iter().map(|call| format!("`{}`", call.tool)));
            parts.push(format!("calls that wait for a person end now: {names}"));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Returns the token cost of the tool list for a local client without a token.
    pub fn list_cost(&self) -> Result<ListCost, Error> {
        let runtime = self.shared.runtime();
        let audience = Audience { client: &self.shared.local, renders_apps: false };
        let listed = |mode| Ok::<_, Error>(VisibleTools::of_client(&runtime, mode, audience)?);
        Ok(ListCost::new(&listed(self.shared.settings.surface)?, &listed(Some(SurfaceMode::Direct))?))
    }
}

/// Joins the first names of a list.
fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MAX_NAMED_CALLS);
    let mut text = names.take(MAX_NAMED_CALLS).collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(text, ", and {more} more");
    }
    text
}

impl Shared {
    /// Returns a client with this name.
    pub(crate) fn client(&self, name: String) -> Result<Client, Error> {
        Client::new(name, self.settings.replica.as_deref())
    }

    /// Returns the current app. Requests use the lease of their caller instead.
    pub(crate) fn runtime(&self) -> Arc<Runtime> {
        Arc::clone(&self.version.borrow().runtime)
    }

    pub(crate) fn version(&self) -> Arc<AppVersion> {
        Arc::clone(&self.version.borrow())
    }

    /// Returns a lease of the current app, which keeps it from being closed.
    pub(crate) fn lease(&self) -> Lease {
        self.version.borrow().lease()
    }

    /// Returns a receiver of the versions to come.
    pub(crate) fn versions(&self) -> watch::Receiver<Arc<AppVersion>> {
        self.version.subscribe()
    }

    /// Returns the tools that a client currently sees.
    pub(crate) fn shown(&self, audience: Audience<'_>) -> Result<Arc<VisibleTools>, ErrorData> {
        self.shown_of(&self.runtime(), audience)
    }

    /// Returns the tools of one version of the app that a client sees.
    pub(crate) fn shown_of(
        &self,
        runtime: &Arc<Runtime>,
        audience: Audience<'_>,
    ) -> Result<Arc<VisibleTools>, ErrorData> {
        let generation = runtime.snapshot().generation();
        let key = (audience.client.sessions(), audience.renders_apps);
        {
            let shown = self.shown.lock();
            if let Some(known) = shown.get(&key).filter(|known| known.is_of(runtime, generation)) {
                return Ok(Arc::clone(known));
            }
        }
        let shown = VisibleTools::of_client(runtime, self.settings.surface, audience)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let shown = Arc::new(shown);
        let mut all = self.shown.lock();
        all.insert(key, Arc::clone(&shown));
        Ok(shown)
    }

    /// Records a running call. Returns an error if the server is shutting down.
    pub(crate) fn begin_request(&self) -> Result<RunningCallGuard<'_>, ErrorData> {
        if self.draining.is_cancelled() {
            return Err(ErrorData::internal_error(
                "the server is shutting down, and takes no further calls",
                None,
            ));
        }
        self.metrics.running.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(RunningCallGuard(&self.metrics))
    }

    /// Lists a call that a client waits for.
    pub(crate) fn list_call(&self, call: CallProgress) -> ListedCall<'_> {
        let mut calls = self.calls.lock();
        let number = calls.last_key_value().map_or(0, |(last, _)| last + 1);
        calls.insert(number, call);
        ListedCall { shared: self, number }
    }

    /// Waits until no further calls are accepted and a call waits for a person.
    pub(crate) async fn interrupted(&self, phase: &PhaseTracker) {
        self.draining.cancelled().await;
        phase.wait_until(|phase| phase == CallPhase::WaitingForPerson).await;
    }

    /// Records a request whose answer has to be sent.
    pub(crate) fn track_answer(self: &Arc<Self>) -> UnsentAnswer {
        self.unsent.send_modify(|unsent| *unsent += 1);
        UnsentAnswer(Arc::clone(self))
    }

    /// Waits until all answers are sent.
    pub(crate) async fn idle(&self) {
        let mut unsent = self.unsent.subscribe();
        // The sender lives as long as this value.
        let _ = unsent.wait_for(|unsent| *unsent == 0).await;
    }
}

impl Drop for RunningCallGuard<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Drop for ListedCall<'_> {
    fn drop(&mut self) {
        self.shared.calls.lock().remove(&self.number);
    }
}

impl Drop for UnsentAnswer {
    fn drop(&mut self) {
        self.0.unsent.send_modify(|unsent| *unsent = unsent.saturating_sub(1));
    }
}
