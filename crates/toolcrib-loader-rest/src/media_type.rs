//! Media types: the choice for a request, and the recognition of JSON and text.

use serde_json::Value;
use toolcrib_io::http::essence;
use toolcrib_model::JsonObject;

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";

/// The media type of unknown bytes.
pub(crate) const UNKNOWN: &str = "application/octet-stream";

/// Any media type. For a request it means JSON.
pub(crate) const ANY: &str = "*/*";

/// The encoding of a body, by media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MediaKind {
    // In the order of preference for a request.
    Json,
    Form,
    Multipart,
    Text,
    Binary,
}

impl MediaKind {
    pub(crate) fn of(media_type: &str) -> Self {
        let essence = essence(media_type);
        let (kind, subtype) = essence.split_once('/').unwrap_or((&essence, ""));
        match essence.as_str() {
            ANY | "application/*" => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            _ if kind == "multipart" => Self::Multipart,
            _ if subtype == "json" || subtype.ends_with("+json") => Self::Json,
            _ if kind == "text" || is_text_subtype(subtype) => Self::Text,
            _ => Self::Binary,
        }
    }
}

fn is_text_subtype(subtype: &str) -> bool {
    matches!(
        subtype,
        "xml"
            | "yaml"
            | "x-yaml"
            | "javascript"
            | "graphql"
            | "x-ndjson"
            | "ndjson"
            | "jsonl"
            | "x-jsonlines"
            | "sql"
            | "toml"
    ) || subtype.ends_with("+xml")
        || subtype.ends_with("+yaml")
}

/// Returns the media type to send for a range such as `text/*`.
pub(crate) fn concrete(media_type: &str) -> &str {
    match (media_type.contains('*'), MediaKind::of(media_type)) {
        (false, _) => media_type,
        (true, MediaKind::Json) => JSON,
        (true, MediaKind::Text) => "text/plain",
        (true, MediaKind::Multipart) => "multipart/form-data",
        (true, _) => UNKNOWN,
    }
}

/// The delimiters of an item in a sequence of JSON texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemDelimiters {
    pub(crate) before: &'static str,
    pub(crate) behind: &'static str,
}

/// Returns the delimiters of the items in a sequence of JSON texts, or `None` if the media type is not such a sequence.
pub(crate) fn frame(media_type: &str) -> Option<ItemDelimiters> {
    let essence = essence(media_type);
    match essence.split_once('/').map_or("", |(_, subtype)| subtype) {
        "jsonl" | "ndjson" | "x-ndjson" | "x-jsonlines" => Some(ItemDelimiters { before: "", behind: "\n" }),
        // RFC 7464 and RFC 8142.
        subtype if subtype == "json-seq" || subtype.ends_with("+json-seq") => {
            Some(ItemDelimiters { before: "\x1e", behind: "\n" })
        }
        _ => None,
    }
}

/// Returns the entry of a request's `content` that is used for calls: JSON first. Among several kinds of JSON, plain
/// JSON comes first, then a merge patch, whose body resembles the resource, and last a patch as a list of operations.
pub(crate) fn preferred_request(content: &JsonObject) -> Option<(&str, &Value)> {
    let rank = |media_type: &str| match essence(media_type).as_str() {
        JSON => 0,
        "application/merge-patch+json" => 1,
        "application/json-patch+json" => 3,
        _ => 2,
    };
    content
        .iter()
        .map(|(media_type, value)| (media_type.as_str(), value))
        .min_by_key(|(media_type, _)| (MediaKind::of(media_type), rank(media_type)))
}

/// Returns the JSON entry of a response's `content`. Plain JSON comes first.
pub(crate) fn preferred_response(content: &JsonObject) -> Option<(&str, &Value)> {
    content
        .iter()
        .map(|(media_type, value)| (media_type.as_str(), value))
        .filter(|(media_type, _)| MediaKind::of(media_type) == MediaKind::Json)
        .min_by_key(|(media_type, _)| (essence(media_type) != JSON, media_type.contains(';')))
}
