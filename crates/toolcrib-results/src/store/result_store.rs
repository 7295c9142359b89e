//! Storage of results that a caller hands back to be read later, and access to stored data.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::ToolError;
use toolcrib_model::result::media_handles;
use toolcrib_port::{CallContext, Media, ResultStore};

use crate::Results;
use crate::limits::MAX_STORED_RESULT_BYTES;
use crate::process::parsed;
use crate::read_result::format_json::readable;
use crate::read_result::name::READ_RESULT;
use crate::store::archive::ResultArchive;
use crate::store::{Format, Owner, StoredResult};

/// The maximum number of images and audio of a result that are loaded.
const MAX_LOADED_MEDIA: usize = 64;

impl Results {
    /// Also stores the results of a session in this folder, so that the next process of the session can read their
    /// handles, regardless of the time. The content of the folder has the limits of a session: 100 results, 96 MiB.
    pub fn store_in(&self, session: &str, folder: &Path) -> io::Result<()> {
        self.store.store_in(session, folder)
    }

    /// Puts the results from now on into an archive too, and reads those of other processes from it.
    pub fn share(&self, archive: Arc<dyn ResultArchive>) {
        self.store.share(archive);
    }

    /// Waits until the archive has all results that were stored before.
    ///
    /// # Errors
    ///
    /// Returns an error if the archive cannot store them. This process can read them nevertheless.
    pub async fn save(&self) -> Result<(), ToolError> {
        self.store.save().await
    }

    /// Loads the images and audio of a result that another process has made, so that [`media`](ResultStore::media)
    /// returns them. Those that cannot be loaded are left out.
    pub async fn load_media(&self, result: &Value, context: &CallContext) {
        let owner = Owner::of(context);
        for media in media_handles(result, MAX_LOADED_MEDIA) {
            if let Err(error) = self.store.find(media.handle, &owner).await {
                tracing::warn!(%error, "an image of a result of another process cannot be read");
            }
        }
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
