//! Notes of sources on the use of their tools, for callers that search.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use toolcrib_model::JsonObject;
use toolcrib_model::text::ellipsize_chars;
use toolcrib_policy::Principal;
use toolcrib_port::ToolLoader;

/// The most characters of the note of a source.
pub(crate) const MAX_SOURCE_NOTE: usize = 600;

/// The most sources whose notes come with one search.
const MAX_NOTES: usize = 2;

/// The most sessions whose shown notes are remembered. The session that searched first is removed first, and its notes
/// are shown again.
const MAX_SESSIONS: usize = 256;

/// The key of the notes in an answer. It marks their text as external.
pub(crate) const NOTES: &str = "external_notes";

/// The notes of sources.
#[derive(Default)]
pub(crate) struct SourceNotes {
    loaders: Vec<Arc<dyn ToolLoader>>,
    /// The namespaces whose notes each session was shown.
    told: Mutex<VecDeque<(String, BTreeSet<String>)>>,
}

impl SourceNotes {
    pub(crate) fn new(loaders: Vec<Arc<dyn ToolLoader>>) -> Self {
        Self { loaders, told: Mutex::default() }
    }

    fn of<T>(&self, namespace: &str, say: impl Fn(&dyn ToolLoader) -> Option<T>) -> Option<T> {
        let mut own = self.loaders.iter().filter(|one| one.exclusive_namespace() == Some(namespace));
        own.find_map(|loader| say(loader.as_ref()))
    }

    /// Returns the description of a namespace's source: its title, else its note.
    pub(crate) fn about(&self, namespace: &str) -> Option<String> {
        self.of(namespace, |loader| loader.about()).or_else(|| self.note(namespace))
    }

    /// Returns the note of a namespace's source, shortened.
    pub(crate) fn note(&self, namespace: &str) -> Option<String> {
        let text = self.of(namespace, |loader| loader.instructions())?;
        Some(ellipsize_chars(text.trim(), MAX_SOURCE_NOTE).into_owned()).filter(|text| !text.is_empty())
    }

    /// Returns the notes of sources whose tools were found, each once per session. An agent has them in its prompt.
    pub(crate) fn first<'a>(
        &self,
        namespaces: impl Iterator<Item = &'a str>,
        principal: Principal<'_>,
    ) -> JsonObject {
        if principal.agent.is_some() || self.loaders.is_empty() {
            return JsonObject::new();
        }
        let mut all = self.told.lock();
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
