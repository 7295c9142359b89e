//! Tools that sessions add to those of the app.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{LoadOutcome, Reject, RejectKind, ToolEngine};

use crate::build::{LoadedSource, build};
use crate::lookup::fold;
use crate::shape::Shapes;
use crate::sync::run_blocking;
use crate::{Entry, Snapshot};

/// The maximum number of sources that one session adds.
pub const MAX_SESSION_SOURCES: usize = 16;

/// The maximum number of tools that all sources of one session add. Further tools are rejected.
pub(crate) const MAX_SESSION_TOOLS: usize = 512;

/// The tools that sessions add to those of the app. Clones share them.
///
/// They are in the snapshot of their session and in no other. They never change the meaning of a name: a text that
/// names a tool of the app, in any spelling, names the same tool in each session.
#[derive(Clone, Default)]
pub struct SessionTools {
    state: Arc<RwLock<SessionsState>>,
}

impl fmt::Debug for SessionTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTools")
            .field("sessions", &self.state.read().sessions.len())
            .finish_non_exhaustive()
    }
}

/// A source that a session adds.
pub struct SessionSource {
    /// The name of the source, unique over the lifetime of the process.
    pub name: Arc<str>,
    /// The namespace of the tools, which belongs to this source exclusively.
    pub namespace: String,
    /// The tools.
    pub tools: Vec<Tool>,
    /// The engine that runs them.
    pub engine: Arc<dyn ToolEngine>,
}

/// The outcome of adding a source.
#[derive(Debug)]
pub struct AddedTools {
    /// The tools that were added.
    pub tools: Vec<Arc<Tool>>,
    /// The tools that were not added, with reasons.
    pub rejected: Vec<Reject>,
}

/// The error for a source that a session cannot add.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionToolsError {
    /// The namespace, or one with an equivalent spelling, is in use.
    #[error("the namespace `{namespace}` is in use already")]
    NamespaceTaken {
        /// The namespace.
        namespace: String,
    },
    /// The session has [`MAX_SESSION_SOURCES`] already.
    #[error("the session has {MAX_SESSION_SOURCES} sources, which is the maximum")]
    TooManySources,
}

#[derive(Default)]
struct SessionsState {
    /// The tools of the app.
    base: Arc<Snapshot>,
    /// The folded namespaces of the app: those with tools, and those that belong to a source.
    taken: BTreeSet<String>,
    sessions: HashMap<Arc<str>, Session>,
}

#[derive(Default)]
struct Session {
    sources: Vec<AddedSource>,
    snapshot: Arc<Snapshot>,
}

/// A source with its compiled tools.
struct AddedSource {
    name: Arc<str>,
    namespace: String,
    engine: Arc<dyn ToolEngine>,
    tools: Snapshot,
}

impl SessionTools {
    /// Adds a source to a session. Tools that cannot be used are rejected; the others are added.
    ///
    /// # Errors
    ///
    /// Returns an error if the namespace is in use, or if the session has the maximum number of sources.
    pub async fn add(
        &self,
        session: &Arc<str>,
        source: SessionSource,
    ) -> Result<AddedTools, SessionToolsError> {
        self.check(session, &source.namespace)?;
        let SessionSource { name, namespace, tools, engine } = source;
        let mut loaded = LoadOutcome::default();
        for tool in tools {
            if tool.name.namespace() != namespace {
                loaded.rejected.push(reject(
                    &name,
                    &tool.name,
                    RejectKind::NamespaceTaken,
                    format!("it is not in the namespace `{namespace}` of its source"),
                ));
            } else if loaded.tools.len() == MAX_SESSION_TOOLS {
                loaded.rejected.push(too_many_tools(&name, &tool.name));
            } else {
                loaded.tools.push(tool);
            }
        }
        let compiled_as = Arc::clone(&name);
        // Schemas take time to compile.
        let tools = run_blocking(move || {
            let sources = &mut [LoadedSource::new(&compiled_as, None, loaded)];
            build(&Snapshot::default(), sources, &Shapes::default())
        })
        .await;
        let mut state = self.state.write();
        // Another source may have been added meanwhile.
        state.check(session, &namespace)?;
        let (kept, mut rejected) = state.split_addable(session, &name, &tools);
        rejected.splice(..0, tools.rejected().iter().cloned());
        let tools = Snapshot::of_entries(kept, rejected.clone());
        let added: Vec<_> = tools.iter().map(|entry| Arc::clone(&entry.tool)).collect();
        let SessionsState { base, taken, sessions } = &mut *state;
        let session = sessions.entry(Arc::clone(session)).or_default();
        session.sources.push(AddedSource { name, namespace, engine, tools });
        session.rebuild(base, taken);
        Ok(AddedTools { tools: added, rejected })
    }

    /// Checks that a source with this namespace can be added to a session.
    ///
    /// # Errors
    ///
    /// Returns the error that adding it would return.
    pub fn check(&self, session: &str, namespace: &str) -> Result<(), SessionToolsError> {
        self.state.read().check(session, namespace)
    }

    /// Removes a source from a session.
    pub fn remove(&self, session: &str, source: &str) {
        let mut state = self.state.write();
        let SessionsState { base, taken, sessions } = &mut *state;
        let Some(of_session) = sessions.get_mut(session) else { return };
        of_session.sources.retain(|added| *added.name != *source);
        if of_session.sources.is_empty() {
            sessions.remove(session);
        } else {
            of_session.rebuild(base, taken);
        }
    }

    /// Removes all sources of a session.
    pub fn remove_session(&self, session: &str) {
        self.state.write().sessions.remove(session);
    }

    /// Returns the tools of the app with those of a session; `None` for a session that has added none.
    pub(crate) fn snapshot(&self, session: &str) -> Option<Arc<Snapshot>> {
        self.state.read().sessions.get(session).map(|session| Arc::clone(&session.snapshot))
    }

    /// Returns the engine of a source that a session has added.
    pub(crate) fn engine(&self, session: &str, source: &str) -> Option<Arc<dyn ToolEngine>> {
        let state = self.state.read();
        let added = state.sessions.get(session)?.sources.iter().find(|added| *added.name == *source)?;
        Some(Arc::clone(&added.engine))
    }

    /// Replaces the tools of the app below those of all sessions. The namespaces in `owned` belong to sources, even if
    /// they have no tools.
    pub(crate) fn rebase<'a>(&self, base: &Arc<Snapshot>, owned: impl Iterator<Item = &'a str>) {
        let mut state = self.state.write();
        state.base = Arc::clone(base);
        state.taken = base.namespaces().map(fold).collect();
        state.taken.extend(owned.map(fold));
        let SessionsState { base, taken, sessions } = &mut *state;
        for session in sessions.values_mut() {
            session.rebuild(base, taken);
        }
    }
}

impl SessionsState {
    fn check(&self, session: &str, namespace: &str) -> Result<(), SessionToolsError> {
        let folded = fold(namespace);
        let sources = self.sessions.get(session).map_or(&[][..], |session| &session.sources);
        if self.taken.contains(&folded) || sources.iter().any(|added| fold(&added.namespace) == folded) {
            return Err(SessionToolsError::NamespaceTaken { namespace: namespace.to_owned() });
        }
        if sources.len() >= MAX_SESSION_SOURCES {
            return Err(SessionToolsError::TooManySources);
        }
        Ok(())
    }

    /// Splits the tools of a new source into those that can be added, and rejects: tools beyond the maximum, and tools
    /// whose names mean something in the app.
    fn split_addable(&self, session: &str, source: &str, tools: &Snapshot) -> (Vec<Arc<Entry>>, Vec<Reject>) {
        let known = self.sessions.get(session).map_or(&[][..], |session| &session.sources);
        let count: usize = known.iter().map(|added| added.tools.all().len()).sum();
        let mut remaining = MAX_SESSION_TOOLS.saturating_sub(count);
        let (mut kept, mut rejected) = (Vec::new(), Vec::new());
        for entry in tools.iter() {
            let name = &entry.tool.name;
            if self.base.names_any(name) {
                let reason = "the app has a tool whose name reads like this one".to_owned();
                rejected.push(reject(source, name, RejectKind::NamespaceTaken, reason));
            } else if remaining == 0 {
                rejected.push(too_many_tools(source, name));
            } else {
                remaining -= 1;
                kept.push(Arc::clone(entry));
            }
        }
        (kept, rejected)
    }
}

impl Session {
    /// Rebuilds the snapshot. Tools whose namespace or name is now in use by the app are left out.
    fn rebuild(&mut self, base: &Arc<Snapshot>, taken: &BTreeSet<String>) {
        let sources = self.sources.iter().filter(|added| !taken.contains(&fold(&added.namespace)));
        let (mut entries, mut rejected) = (Vec::new(), Vec::new());
        for added in sources {
            entries.extend(added.tools.iter().filter(|entry| !base.names_any(&entry.tool.name)).cloned());
            rejected.extend(added.tools.rejected().iter().cloned());
        }
        self.snapshot = Arc::new(Snapshot::layered(base, Snapshot::of_entries(entries, rejected)));
    }
}

fn reject(source: &str, name: &QualifiedName, kind: RejectKind, reason: String) -> Reject {
    Reject::tool(source, name.to_string(), kind, reason)
}

fn too_many_tools(source: &str, name: &QualifiedName) -> Reject {
    let reason = format!("the sources of one session add {MAX_SESSION_TOOLS} tools at most");
    reject(source, name, RejectKind::TooLarge, reason)
}
