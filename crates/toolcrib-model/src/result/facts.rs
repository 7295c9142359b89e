//! Facts about a result that its value does not show, for the reader.

use serde_json::Value;

use crate::ToolResult;
use crate::text::truncate::ellipsize_chars;
use crate::tool::traits::texts;

/// The most repairs, and the most schema violations, that are listed.
const MAX_LISTED: usize = 5;

/// The most characters of a value, and of a URL.
const MAX_VALUE_CHARS: usize = 80;

/// The most characters of a text of a server or a schema.
const MAX_TEXT_CHARS: usize = 300;

/// The most characters of arguments that a user has changed.
const MAX_ARGUMENTS_CHARS: usize = 2_000;

/// The reason phrases of HTTP statuses that are more than a plain success.
const REASONS: [(u64, &str); 8] = [
    (201, "Created"),
    (202, "Accepted"),
    (203, "Non-Authoritative Information"),
    (204, "No Content"),
    (205, "Reset Content"),
    (206, "Partial Content"),
    (207, "Multi-Status"),
    (226, "IM Used"),
];

impl ToolResult {
    /// Returns a line for each fact about the result, in brackets: repairs of the arguments, the status of an answer
    /// without content, the address of the next page, violations of the schema that the tool declares. Returns `None`
    /// if nothing is to be reported. Each line is shorter than its subject.
    pub fn facts(&self) -> Option<String> {
        // The facts of a background call were reported already.
        if let Some(told) = self.metadata.get("facts").and_then(Value::as_str) {
            return Some(told.to_owned());
        }
        let mut facts = Vec::new();
        facts.extend(self.edited());
        let changes = self.metadata.get("hook_changes").into_iter().flat_map(texts);
        facts.extend(changes.take(MAX_LISTED).map(|change| short(change, MAX_TEXT_CHARS)));
        let notes = self.metadata.get("hook_notes").into_iter().flat_map(texts);
        facts.extend(notes.take(MAX_LISTED).map(|note| short(note, MAX_TEXT_CHARS)));
        facts.extend(self.repaired());
        facts.extend(self.status());
        facts.extend(self.addresses());
        facts.extend(self.misfit());
        let metadata = |key: &str| self.metadata.get(key);
        if let Some(warning) = metadata("warning").and_then(Value::as_str) {
            facts.push(format!("warning: {}", short(warning, MAX_TEXT_CHARS)));
        }
        if let Some(parts) = metadata("too_deep") {
            facts.push(format!("cut: {parts} parts nested too deeply"));
        }
        if metadata("cached") == Some(&Value::Bool(true)) {
            let age = metadata("age_ms").and_then(Value::as_f64).unwrap_or_default() / 1_000.0;
            facts.push(format!("from the cache, {age:.0} s old"));
        }
        if facts.is_empty() && self.is_ok() && self.result.is_null() {
            facts.push("done; the tool returned no value".to_owned());
        }
        let line: Vec<_> = facts.into_iter().map(|fact| format!("[{fact}]")).collect();
        (!line.is_empty()).then(|| line.join(" "))
    }

    /// Returns the changes of the arguments by the user.
    fn edited(&self) -> Option<String> {
        let arguments = self.metadata.get("edited_arguments")?.to_string();
        Some(format!(
            "The user changed the arguments before it ran, to {}",
            short(&arguments, MAX_ARGUMENTS_CHARS)
        ))
    }

    fn repaired(&self) -> Option<String> {
        let repairs: Vec<&Value> = self.repairs().collect();
        if repairs.is_empty() {
            return None;
        }
        let told: Vec<_> = repairs.iter().take(MAX_LISTED).map(|change| repair(change)).collect();
        let more = repairs.len().saturating_sub(MAX_LISTED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        Some(format!("repaired: {}{more}", told.join(", ")))
    }

    fn status(&self) -> Option<String> {
        let status = self.metadata.get("status").and_then(Value::as_u64).filter(|_| self.is_ok())?;
        match REASONS.iter().find(|(code, _)| *code == status) {
            Some((_, reason)) => Some(format!("{status} {reason}")),
            // An answer that should have content.
            None if status == 200 && self.result.is_null() => Some("200 OK, without content".to_owned()),
            None => None,
        }
    }

    /// Returns the addresses of the next page and of a created resource, as the server reports them.
    fn addresses(&self) -> Vec<String> {
        let header = |name: &str| {
            self.metadata.get("headers").and_then(|headers| headers.get(name)).and_then(Value::as_str)
        };
        let next = header("link").and_then(next_page).map(|url| format!("next page: {}", address(url)));
        let location = header("location").map(|url| format!("location: {}", address(url)));
        next.into_iter().chain(location).collect()
    }

    fn misfit(&self) -> Option<String> {
        let texts = self.output_violations().take(MAX_LISTED);
        let told: Vec<_> = texts.map(|text| short(text, MAX_TEXT_CHARS)).collect();
        (!told.is_empty()).then(|| format!("does not fit the declared output: {}", told.join("; ")))
    }
}

/// Returns one change of the arguments: `status "Open" → "open"`.
fn repair(repair: &Value) -> String {
    let path = repair.get("path").and_then(Value::as_str).unwrap_or_default();
    let name = short(&path.trim_start_matches('/').replace('/', "."), MAX_VALUE_CHARS);
    let value = |key: &str| repair.get(key).map(|value| short(&value.to_string(), MAX_VALUE_CHARS));
    let bound =
        if repair.get("change").is_some_and(|change| change == "clamped") { ", its bound" } else { "" };
    match (value("from"), value("to")) {
        (Some(from), Some(to)) => format!("{name} {from} → {to}{bound}"),
        (None, Some(to)) => format!("{name} set to {to}"),
        (_, None) => format!("{name} left out"),
    }
}

/// Returns the address of the relation `next` in a `Link` header (RFC 8288).
fn next_page(links: &str) -> Option<&str> {
    links.split('<').skip(1).find_map(|link| {
        let (url, parameters) = link.split_once('>')?;
        let is_next = parameters.split(';').any(|parameter| {
            let Some((name, value)) = parameter.trim().trim_end_matches(',').split_once('=') else {
                return false;
            };
            name.trim().eq_ignore_ascii_case("rel")
                && value
                    .trim()
                    .trim_matches('"')
                    .split_whitespace()
                    .any(|rel| rel.eq_ignore_ascii_case("next"))
        });
        is_next.then_some(url)
    })
}

/// Returns a URL, or a note if it is too long: a truncated URL is useless.
fn address(url: &str) -> String {
    short(url, 4 * MAX_VALUE_CHARS)
}

/// Returns the beginning of a text, on one line.
fn short(text: &str, chars: usize) -> String {
    ellipsize_chars(text, chars).replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ToolResult;

    fn facts(key: &str, value: serde_json::Value) -> Option<String> {
        ToolResult::ok(None, "a::b", json!("found")).with_metadata(key, value).facts()
    }

    #[test]
    fn a_result_of_which_its_value_says_all_has_no_facts() {
        assert_eq!(ToolResult::ok(None, "a::b", json!({"a": 1})).with_metadata("ms", 5).facts(), None);
        assert_eq!(facts("status", json!(200)), None);
    }

    #[test]
    fn facts_tell_repairs_statuses_pages_and_breaches() {
        let repairs = json!([
            {"path": "/status", "change": "to_choice", "from": "Open", "to": "open"},
            {"path": "/max_results", "change": "clamped", "from": 21, "to": 20},
            {"path": "/filter/note", "change": "null_left_out", "from": null},
            {"path": "/limit", "change": "default_filled", "to": 20},
        ]);
        let links =
            r#"<https://a.example/?page=1>; rel="first", <https://a.example/?page=3&a=b,c>; rel="last next""#;
        for (key, value, expected) in [
            (
                "repairs",
                repairs,
                "[repaired: status \"Open\" → \"open\", max_results 21 → 20, its bound, filter.note left out]",
            ),
            ("status", json!(204), "[204 No Content]"),
            ("headers", json!({"link": links}), "[next page: https://a.example/?page=3&a=b,c]"),
            ("headers", json!({"location": "/orders/7"}), "[location: /orders/7]"),
            (
                "output_violations",
                json!(["`n` is no integer"]),
                "[does not fit the declared output: `n` is no integer]",
            ),
            ("warning", json!("cut\noff"), "[warning: cut off]"),
            (
                "edited_arguments",
                json!({"text": "b"}),
                "[The user changed the arguments before it ran, to {\"text\":\"b\"}]",
            ),
        ] {
            assert_eq!(facts(key, value).as_deref(), Some(expected));
        }
    }

    #[test]
    fn null_is_told_as_done() {
        let nothing = ToolResult::ok(None, "a::b", json!(null));
        assert_eq!(nothing.facts().unwrap(), "[done; the tool returned no value]");
        assert_eq!(nothing.with_metadata("status", 204).facts().unwrap(), "[204 No Content]");
    }

    #[test]
    fn facts_are_bounded() {
        let long = "x".repeat(100_000);
        let repairs = vec![json!({"path": long, "change": "x", "from": long, "to": long}); 1_000];
        let result = ToolResult::ok(None, "a::b", json!(null))
            .with_metadata("repairs", repairs)
            .with_metadata("warning", long.as_str())
            .with_metadata("headers", json!({"location": long, "link": format!("<{long}>; rel=next")}))
            .with_metadata("edited_arguments", json!({"a": long}))
            .with_metadata("output_violations", vec![long.clone(); 1_000]);
        assert!(result.facts().unwrap().len() < 8_000);
    }
}
