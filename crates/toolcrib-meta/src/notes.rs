//! The descriptions that sources give of themselves, for callers that look at their tools.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use toolcrib_model::JsonObject;
use toolcrib_policy::Principal;
use toolcrib_port::ToolLoader;

/// The most characters of what a source says of how its tools are meant to be used.
pub const MAX_SOURCE_NOTE: usize = 600;

/// The most sources whose notes come with one search.
const MAX_NOTES: usize = 2;

/// The most sessions of which it is known what they were told. The one that searched first is forgotten first, and is told again.
const MAX_SESSIONS: usize = 256;

/// The key of the notes in an answer. It says that their text is not ours.
pub(crate) const NOTES: &str = "external_notes";

/// The descriptions that sources give of themselves.
#[derive(Default)]
pub(crate) struct SourceNotes {
    loaders: OnceLock<Vec<Arc<dyn ToolLoader>>>,
    /// The namespaces whose notes each session was told.
    told: Mutex<VecDeque<(String, BTreeSet<String>)>>,
}

impl SourceNotes {
    /// Sets the sources. Only the first are taken.
    pub(crate) fn set(&self, loaders: Vec<Arc<dyn ToolLoader>>) {
        // They are set once, at start.
        let _ = self.loaders.set(loaders);
    }

    fn of<T>(&self, namespace: &str, say: impl Fn(&dyn ToolLoader) -> Option<T>) -> Option<T> {
        let mut own = self.loaders.get()?.iter().filter(|one| one.exclusive_namespace() == Some(namespace));
        own.find_map(|loader| say(loader.as_ref()))
    }

    /// Returns what the source of a namespace is: its title, else how its tools are meant to be used.
    pub(crate) fn about(&self, namespace: &str) -> Option<String> {
        self.of(namespace, |loader| loader.about()).or_else(|| self.note(namespace))
    }

    /// Returns what the source of a namespace says of how its tools are meant to be used, shortened.
    pub(crate) fn note(&self, namespace: &str) -> Option<String> {
        let text = self.of(namespace, |loader| loader.instructions())?;
        let text = text.trim();
        match text.char_indices().nth(MAX_SOURCE_NOTE) {
            Some((end, _)) => Some(format!("{}…", text.get(..end).unwrap_or_default())),
            None => Some(text.to_owned()).filter(|text| !text.is_empty()),
        }
    }

    /// Returns the notes of sources whose tools were found, each once for a session. An agent has them in its prompt.
    pub(crate) fn first<'a>(
        &self,
        namespaces: impl Iterator<Item = &'a str>,
        principal: Principal<'_>,
    ) -> JsonObject {
        if principal.agent.is_some() || self.loaders.get().is_none() {
            return JsonObject::new();
        }
        let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told = match all.iter().position(|(session, _)| session == principal.session) {
            Some(place) => all.remove(place).map(|(_, told)| told).unwrap_or_default(),
            None => BTreeSet::new(),
        };
        let mut notes = JsonObject::new();
        for namespace in namespaces {
            if notes.len() >= MAX_NOTES {
                break;
            }
            if told.contains(namespace) {
                continue;
            }
            if let Some(note) = self.note(namespace) {
                told.insert(namespace.to_owned());
                notes.insert(namespace.to_owned(), note.into());
            }
        }
        if all.len() >= MAX_SESSIONS {
            all.pop_front();
        }
        all.push_back((principal.session.to_owned(), told));
        notes
    }
}
