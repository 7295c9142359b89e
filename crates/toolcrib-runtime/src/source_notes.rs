//! The notes of sources on their tools.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolcrib_app::CallerView;
use toolcrib_port::ToolLoader;

use crate::services::AppServices;

/// The description that a source gives of itself. Its texts are those of strangers, and have to be shown as such.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceNote {
    /// The namespace of its tools.
    pub namespace: String,
    /// Its title and description, on one line.
    pub about: Option<String>,
    /// Its advice on the use of its tools.
    pub instructions: Option<String>,
}

impl SourceNote {
    /// Creates the note of the source with this namespace.
    pub fn new(namespace: impl Into<String>, about: Option<String>, instructions: Option<String>) -> Self {
        Self { namespace: namespace.into(), about, instructions }
    }
}

impl AppServices {
    /// See [`Runtime::source_notes`](crate::Runtime::source_notes).
    pub(crate) fn notes_for(&self, view: &CallerView<'_>) -> Vec<SourceNote> {
        let note = |loader: &Arc<dyn ToolLoader>| {
            let namespace = loader.exclusive_namespace()?;
            Some(SourceNote::new(namespace, loader.about(), loader.instructions()))
        };
        let mut notes: Vec<_> = self.loaders_of(view).filter_map(note).collect();
        notes.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        notes
    }

    /// Returns the usage notes of the sources of the tools that a caller may use, by source.
    pub(crate) fn usage_notes(&self, view: &CallerView<'_>) -> Vec<(String, String)> {
        let notes = self.loaders_of(view);
        let mut notes: Vec<_> =
            notes.filter_map(|loader| Some((title(loader.as_ref()), loader.instructions()?))).collect();
        notes.sort();
        notes
    }

    fn loaders_of(&self, view: &CallerView<'_>) -> impl Iterator<Item = &Arc<dyn ToolLoader>> {
        let sources: BTreeSet<String> = view.entries().map(|entry| entry.source.to_string()).collect();
        self.loaders.iter().filter(move |loader| sources.contains(loader.source()))
    }
}

/// Returns the name of a source for models: its kind and its namespace, since a path is of no use to them.
fn title(loader: &dyn ToolLoader) -> String {
    let source = loader.source();
    match (source.split_once(' '), loader.exclusive_namespace()) {
        (Some((kind, _)), Some(namespace)) => format!("{kind} {namespace}"),
        (Some((kind, _)), None) => kind.to_owned(),
        (None, _) => source.to_owned(),
    }
}
