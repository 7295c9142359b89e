//! What a reader hands back to be read later.

use std::io;
use std::path::Path;

use toolcrib_port::{CallContext, Media};

use super::Results;
use super::limits::MAX_KEPT_RESULT_BYTES;
use super::readable::readable;
use super::shape::parsed;
use super::store::{Format, Kept, Owner};

impl Results {
    /// Keeps a result of this tool that was shown already, as when it has to make room for others, and says how it is read.
    /// `None` where it cannot be kept.
    pub fn keep(&self, tool: &str, text: String, context: &CallContext) -> Option<String> {
        if text.len() > MAX_KEPT_RESULT_BYTES {
            return None;
        }
        let (text, format) = match parsed(&text) {
            Some(_) => (readable(&text, MAX_KEPT_RESULT_BYTES).unwrap_or(text), Format::Json),
            None => (text, Format::Text),
        };
        let owner = Owner::of(context);
        let (_, handle) = self.store.insert(Kept::new(owner, tool.to_owned(), text, format, None));
        handle.map(|handle| {
            format!("read the rest with read_result(handle=\"{handle}\", page=1), or with grep or lines")
        })
    }

    /// Keeps the results of a session in this folder too, so that their handles can be read by the next process that works
    /// with it, whatever time has passed. What is in the folder has the bounds of a session:
    /// [`MAX_KEPT_SESSION_RESULTS`](super::MAX_KEPT_SESSION_RESULTS) and
    /// [`MAX_KEPT_SESSION_BYTES`](super::MAX_KEPT_SESSION_BYTES).
    pub fn keep_in(&self, session: &str, folder: &Path) -> io::Result<()> {
        self.store.keep_in(session, folder)
    }

    /// The binary data that was taken out of a result. Somebody else's is not there.
    pub fn media(&self, handle: &str, context: &CallContext) -> Option<Media> {
        let kept = self.store.get(handle, &Owner::of(context))?;
        match &kept.format {
            Format::Binary { media_type, .. } => {
                Some(Media { media_type: media_type.clone(), data: kept.text.clone() })
            }
            Format::Text | Format::Json => None,
        }
    }
}
