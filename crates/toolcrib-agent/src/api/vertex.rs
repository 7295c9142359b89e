//! The models of Anthropic on Vertex AI.

use url::Url;

/// The end of the path of the models of Anthropic on Vertex AI.
const VERTEX_PUBLISHER: &str = "/publishers/anthropic";

/// Returns true for the models of Anthropic on Vertex AI, which have the model in the address of a request.
pub(super) fn is_vertex(base: &Url) -> bool {
    base.path().trim_end_matches('/').ends_with(VERTEX_PUBLISHER)
}
