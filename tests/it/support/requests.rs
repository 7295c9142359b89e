//! The requests of a run as a text that can be read, and holds every byte.

use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_testkit::ModelRequest;

/// What closes the list of messages, which stands last, and the body.
const END: &str = "]}";

/// The first request as a whole, and of each later one what it adds to the one before. Fails when a body is not the
/// shortest form of its JSON, so that nothing is hidden by laying it out in lines, or when a request does not begin
/// with the bytes of the one before, so that a server's prompt cache would miss it.
pub(crate) fn transcript(requests: &[ModelRequest]) -> String {
    let mut text = String::new();
    let mut before = String::new();
    for (number, request) in (1..).zip(requests) {
        let body = std::str::from_utf8(&request.body).unwrap();
        let value: Value = serde_json::from_str(body).unwrap();
        assert_eq!(value.to_string(), body, "request {number} is not compact JSON");
        let shown = if before.is_empty() {
            value
        } else {
            let kept = before.strip_suffix(END).unwrap();
            let added = body.strip_prefix(kept).expect("a request begins as the one before it");
            let added = added.strip_prefix(',').unwrap().strip_suffix('}').unwrap();
            serde_json::from_str(&format!("[{added}")).unwrap()
        };
        let what = if before.is_empty() { "the whole body" } else { "what it adds" };
        let lines = serde_json::to_string_pretty(&shown).unwrap();
        writeln!(text, "--- request {number}: {what}\n{lines}").unwrap();
        body.clone_into(&mut before);
    }
    assert_ne!(text, "", "nobody has asked the model");
    text
}
