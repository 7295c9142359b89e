//! Storage of results that a caller hands back to be read later, and access to stored data.

use std::io;
use std::path::Path;

use toolcrib_port::{CallContext, Media, ResultStore};

use crate::Results;
use crate::limits::MAX_STORED_RESULT_BYTES;
use crate::process::parsed;
use crate::read_result::format_json::readable;
use crate::read_result::name::READ_RESULT;
use crate::store::{Format, Owner, StoredResult};

impl Results {
    /// Also stores the results of a session in this folder, so that the next process of the session can read their
    /// handles, regardless of the time. The content of the folder has the limits of a session: 100 results, 96 MiB.
    pub fn store_in(&self, session: &str, folder: &Path) -> io::Result<()> {
        self.store.store_in(session, folder)
    }
}

impl ResultStore for Results {
    fn store(&self, tool: &str, text: String, context: &CallContext) -> Option<String> {
        if text.len() > MAX_STORED_RESULT_BYTES {
            return None;
        }
        let (text, format) = match parsed(&text) {
            Some(_) => (readable(&text, MAX_STORED_RESULT_BYTES).unwrap_or(text), Format::Json),
            None => (text, Format::Text),
        };
        let owner = Owner::of(context);
        let (_, handle) = self.store.insert(StoredResult::new(owner, tool.to_owned(), text, format, None));
        handle.map(|handle| {
            format!("read the rest with {READ_RESULT}(handle=\"{handle}\", page=1), or with grep or lines")
        })
    }

    fn media(&self, handle: &str, context: &CallContext) -> Option<Media> {
        let stored = self.store.get(handle, &Owner::of(context))?;
        match &stored.format {
            Format::Binary { media_type, .. } => {
                Some(Media { media_type: media_type.clone(), data: stored.text.clone() })
            }
            Format::Text | Format::Json => None,
        }
    }
}
