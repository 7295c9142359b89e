//! Changes of the lists that a client sees, by changes of their items or by a reload of the app.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::sync::{broadcast, watch};
use toolcrib_model::Tool;
use toolcrib_policy::Principal;

use crate::app_version::AppVersion;
use crate::client::Client;
use crate::server::Shared;
use crate::surface::{Audience, standing_for};

/// A watcher for changes of the lists of one client.
pub(crate) struct ListChanges<'a> {
    shared: &'a Shared,
    client: &'a Client,
    renders_apps: bool,
    versions: watch::Receiver<Arc<AppVersion>>,
    receiver: broadcast::Receiver<Arc<toolcrib_registry::Change>>,
    overrides: watch::Receiver<u64>,
    lists: ListDigests,
}

/// The digests of the lists of a client at one time.
struct ListDigests {
    tools: Option<[u8; 32]>,
    prompts: [u8; 32],
    resources: [u8; 32],
}

/// The lists that have changed.
#[derive(Clone, Copy)]
pub(crate) struct ChangedLists {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl<'a> ListChanges<'a> {
    pub(crate) fn new(shared: &'a Shared, client: &'a Client, renders_apps: bool) -> Self {
        let mut versions = shared.versions();
        let (receiver, overrides) = subscribed(&mut versions);
        let lists = ListDigests::of(shared, client, renders_apps);
        Self { shared, client, renders_apps, versions, receiver, overrides, lists }
    }

    /// Waits until a list changes. Returns `None` if no further change is possible.
    pub(crate) async fn next(&mut self) -> Option<ChangedLists> {
        loop {
            tokio::select! {
                biased;
                swapped = self.versions.changed() => {
                    swapped.ok()?;
                    (self.receiver, self.overrides) = subscribed(&mut self.versions);
                }
                Ok(()) = self.overrides.changed() => {}
                // It does not matter which changes were missed. Once the app is closed, the next version follows.
                changed = self.receiver.recv() => if let Err(broadcast::error::RecvError::Closed) = changed {
                    self.versions.changed().await.ok()?;
                    (self.receiver, self.overrides) = subscribed(&mut self.versions);
                },
            }
            let now = ListDigests::of(self.shared, self.client, self.renders_apps);
            let changed = now.changed_since(&self.lists);
            self.lists = now;
            if changed.tools || changed.prompts || changed.resources {
                return Some(changed);
            }
        }
    }
}

impl ListDigests {
    fn of(shared: &Shared, client: &Client, renders_apps: bool) -> Self {
        let audience = Audience { client, renders_apps };
        let tools = shared.shown(audience).ok().map(|shown| shown.digest);
        let runtime = shared.runtime();
        let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy());
        let session = client.any_session();
        let visible: Vec<&Tool> = snapshot
            .iter()
            .map(|entry| entry.tool.as_ref())
            .filter(|tool| policy.is_visible(tool, Principal::new(&session)))
            .collect();
        let listed = |method| standing_for(method, visible.iter().copied());
        let view = runtime.view(&session);
        let skills: Vec<_> = view.skills().map(|skill| (&skill.name, skill.about())).collect();
        Self {
            tools,
            prompts: digest(&(&skills, listed("prompts/list"))),
            resources: digest(&(listed("resources/list"), listed("resources/templates/list"))),
        }
    }

    fn changed_since(&self, before: &Self) -> ChangedLists {
        ChangedLists {
            tools: self.tools != before.tools,
            prompts: self.prompts != before.prompts,
            resources: self.resources != before.resources,
        }
    }
}

/// Subscribes to the changes of the registry and of the overrides of the current app.
fn subscribed(
    versions: &mut watch::Receiver<Arc<AppVersion>>,
) -> (broadcast::Receiver<Arc<toolcrib_registry::Change>>, watch::Receiver<u64>) {
    let version = versions.borrow_and_update();
    (version.runtime.executor().registry().subscribe(), version.runtime.overrides().subscribe())
}

fn digest(value: &impl serde::Serialize) -> [u8; 32] {
    Sha256::digest(serde_json::to_vec(value).unwrap_or_default()).into()
}
