//! The tools that single sessions have besides those of the app.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{Loaded, Reject, RejectKind, ToolEngine};

use crate::build::{LoadedSource, build};
use crate::spellings::fold;
use crate::sync::busy;
use crate::{Entry, Snapshot};

/// The most sources that one session adds.
pub const MAX_SESSION_SOURCES: usize = 16;

/// The most tools that all sources of one session add. Those beyond are rejected.
pub const MAX_SESSION_TOOLS: usize = 512;

/// The tools that single sessions add to those of the app. Clones share them.
///
/// They stand in the snapshot of their session and in no other. They never change what a name means: what a text names
/// among the tools of the app, in any spelling, it names in each session.
#[derive(Clone, Default)]
pub struct SessionTools {
    state: Arc<RwLock<State>>,
}

impl fmt::Debug for SessionTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTools").field("sessions", &self.read().sessions.len()).finish_non_exhaustive()
    }
}

/// A source that one session adds.
pub struct SessionSource {
    /// The name of the source, which no other source of the process has or had.
    pub name: Arc<str>,
    /// The namespace of its tools, which is its alone.
    pub namespace: String,
    /// The tools.
    pub tools: Vec<Tool>,
    /// The engine that runs them.
    pub engine: Arc<dyn ToolEngine>,
}

/// The outcome of adding a source.
#[derive(Debug)]
pub struct AddedTools {
    /// The tools that the session has now.
    pub tools: Vec<Arc<Tool>>,
    /// The tools that it does not have, and why.
    pub rejected: Vec<Reject>,
}

/// The reason why a session cannot have a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionToolsError {
    /// The namespace, or one that reads like it, is in use.
    #[error("the namespace `{namespace}` is in use already")]
    NamespaceTaken {
        /// The namespace.
        namespace: String,
    },
    /// The session has [`MAX_SESSION_SOURCES`].
    #[error("the session has {MAX_SESSION_SOURCES} sources of its own, which is the maximum")]
    TooManySources,
}

#[derive(Default)]
struct State {
    /// The tools of the app.
    base: Arc<Snapshot>,
    /// The folded namespaces of the app: those that have tools, and those that belong to a source.
    taken: BTreeSet<String>,
    sessions: HashMap<Arc<str>, Session>,
}

#[derive(Default)]
struct Session {
    sources: Vec<Added>,
    snapshot: Arc<Snapshot>,
}

/// A source with its tools, compiled.
struct Added {
    name: Arc<str>,
    namespace: String,
    engine: Arc<dyn ToolEngine>,
    tools: Snapshot,
}

impl SessionTools {
    /// Adds a source to a session. Tools that cannot be used are rejected, and the others are added.
    ///
    /// # Errors
    ///
    /// Where the namespace is in use, or the session has no room for another source.
    pub async fn add(
        &self,
        session: &Arc<str>,
        source: SessionSource,
    ) -> Result<AddedTools, SessionToolsError> {
        self.check(session, &source.namespace)?;
        let SessionSource { name, namespace, tools, engine } = source;
        let mut loaded = Loaded::default();
        for tool in tools {
            if tool.name.namespace() != namespace {
                loaded.rejected.push(reject(
                    &name,
                    &tool.name,
                    RejectKind::NamespaceTaken,
                    format!("it is not in the namespace `{namespace}` of its source"),
                ));
            } else if loaded.tools.len() == MAX_SESSION_TOOLS {
                loaded.rejected.push(beyond(&name, &tool.name));
            } else {
                loaded.tools.push(tool);
            }
        }
        let compiled_as = Arc::clone(&name);
        // Schemas take time to compile.
        let tools =
            busy(move || build(&Snapshot::default(), &mut [LoadedSource::new(&compiled_as, None, loaded)]))
                .await;
        let mut state = self.write();
        // Another source may have been added meanwhile.
        state.check(session, &namespace)?;
        let (kept, mut rejected) = state.fitting(session, &name, &tools);
        rejected.splice(..0, tools.rejected().iter().cloned());
        let tools = Snapshot::of_entries(kept, rejected.clone());
        let added: Vec<_> = tools.iter().map(|entry| Arc::clone(&entry.tool)).collect();
        let State { base, taken, sessions } = &mut *state;
        let session = sessions.entry(Arc::clone(session)).or_default();
        session.sources.push(Added { name, namespace, engine, tools });
        session.rebuild(base, taken);
        Ok(AddedTools { tools: added, rejected })
    }

    /// Checks that a session can have another source with this namespace.
    ///
    /// # Errors
    ///
    /// The error that adding it would end with.
    pub fn check(&self, session: &str, namespace: &str) -> Result<(), SessionToolsError> {
        self.read().check(session, namespace)
    }

    /// Removes a source from a session.
    pub fn remove(&self, session: &str, source: &str) {
        let mut state = self.write();
        let State { base, taken, sessions } = &mut *state;
        let Some(of_session) = sessions.get_mut(session) else { return };
        of_session.sources.retain(|added| *added.name != *source);
        if of_session.sources.is_empty() {
            sessions.remove(session);
        } else {
            of_session.rebuild(base, taken);
        }
    }

    /// Removes all that a session has added.
    pub fn remove_session(&self, session: &str) {
        self.write().sessions.remove(session);
    }

    /// Returns the tools of the app with those of a session; `None` for a session that has added none.
    pub(crate) fn snapshot(&self, session: &str) -> Option<Arc<Snapshot>> {
        self.read().sessions.get(session).map(|session| Arc::clone(&session.snapshot))
    }

    /// Returns the engine of a source that a session has added.
    pub(crate) fn engine(&self, session: &str, source: &str) -> Option<Arc<dyn ToolEngine>> {
        let state = self.read();
        let added = state.sessions.get(session)?.sources.iter().find(|added| *added.name == *source)?;
        Some(Arc::clone(&added.engine))
    }

    /// Puts the tools of the app as they are now below those of all sessions. Namespaces in `owned` belong to sources, also
    /// where they have no tools.
    pub(crate) fn rebase<'a>(&self, base: &Arc<Snapshot>, owned: impl Iterator<Item = &'a str>) {
        let mut state = self.write();
        state.base = Arc::clone(base);
        state.taken = base.namespaces().map(fold).collect();
        state.taken.extend(owned.map(fold));
        let State { base, taken, sessions } = &mut *state;
        for session in sessions.values_mut() {
            session.rebuild(base, taken);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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

    /// Returns the tools of a new source that a session has room for and whose names mean nothing in the app, and the
    /// others as rejects.
    fn fitting(&self, session: &str, source: &str, tools: &Snapshot) -> (Vec<Arc<Entry>>, Vec<Reject>) {
        let known = self.sessions.get(session).map_or(&[][..], |session| &session.sources);
        let count: usize = known.iter().map(|added| added.tools.all().len()).sum();
        let mut room = MAX_SESSION_TOOLS.saturating_sub(count);
        let (mut kept, mut rejected) = (Vec::new(), Vec::new());
        for entry in tools.iter() {
            let name = &entry.tool.name;
            if self.base.names_any(name) {
                let reason = "the app has a tool whose name reads like this one".to_owned();
                rejected.push(reject(source, name, RejectKind::NamespaceTaken, reason));
            } else if room == 0 {
                rejected.push(beyond(source, name));
            } else {
                room -= 1;
                kept.push(Arc::clone(entry));
            }
        }
        (kept, rejected)
    }
}

impl Session {
    /// Makes the snapshot again. Tools whose namespace or name the app has come to use are left out.
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

fn beyond(source: &str, name: &QualifiedName) -> Reject {
    let reason = format!("the sources of one session add {MAX_SESSION_TOOLS} tools at most");
    reject(source, name, RejectKind::TooLarge, reason)
}
