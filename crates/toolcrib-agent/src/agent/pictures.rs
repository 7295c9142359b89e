//! Pictures of results, for models that see.

use toolcrib_model::ToolResult;
use toolcrib_model::result::media_handles;
use toolcrib_port::{CallContext, ResultStore};

use crate::chat::Picture;

/// The most pictures of one result that a model is shown.
const MAX_PICTURES: usize = 4;

/// The largest picture that a model is shown, in bytes of base64: 5 MiB, which servers take.
const MAX_PICTURE_BYTES: usize = 5 * 1024 * 1024;

/// The most pictures and sounds of a result that are looked at.
const MAX_LOOKED_AT: usize = 64;

/// The media types that servers take.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Returns the pictures of a result, as the executor kept them. What is too large, or of another type, is told by its
/// type and size alone, as all of them are.
pub(super) fn pictures(
    call_id: &str,
    result: &ToolResult,
    store: &dyn ResultStore,
    context: &CallContext,
) -> Vec<Picture> {
    let found = media_handles(&result.result, MAX_LOOKED_AT);
    let pictures = found.into_iter().filter(|media| media.kind == "image");
    let kept = pictures.filter_map(|media| store.media(media.handle, context));
    let shown =
        kept.filter(|media| media.data.len() <= MAX_PICTURE_BYTES && TYPES.contains(&&*media.media_type));
    let picture = |media: toolcrib_port::Media| Picture {
        call_id: call_id.to_owned(),
        media_type: media.media_type,
        data: media.data,
    };
    shown.take(MAX_PICTURES).map(picture).collect()
}
