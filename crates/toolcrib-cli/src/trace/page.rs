//! A timeline as HTML.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use toolcrib_model::text::truncate_bytes;

use super::journal::duration;
use super::{Event, EventKind, MAX_PAGE_TEXT_BYTES, MAX_TEXT_BYTES, Timeline};
use crate::ui::printable::{Layout, printable};

/// The width of the tracks in units of the drawing. They scale to the page.
const TRACK: u64 = 1_000;

/// The height of the tracks.
const HEIGHT: u64 = 10;

/// The least width of a bar, so that it can be seen.
const MIN_BAR: u64 = 3;

/// The page may load nothing, and runs no script.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Returns the page of a timeline. It needs no other file and no script.
pub(crate) fn page(timeline: &Timeline) -> String {
    let end = |event: &Event| Some(event.start_ms? + event.took_ms.unwrap_or(0));
    let total = timeline.events.iter().filter_map(end).max().unwrap_or(0).max(1);
    let mut left = MAX_PAGE_TEXT_BYTES;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(CONTENT_POLICY);
                title { "Trace of " (shown(&timeline.title)) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                h1 { "Trace of " (shown(&timeline.title)) }
                dl.facts {
                    @for (name, value) in &timeline.facts {
                        div { dt { (name) } dd { (shown(value)) } }
                    }
                }
                @if timeline.events.is_empty() { p { "Nothing happened." } }
                @for event in &timeline.events { (row(event, total, &mut left)) }
                @if timeline.left_out > 0 {
                    p { (timeline.left_out) " more events are left out." }
                }
            }
        }
    };
    page.into_string()
}

fn row(event: &Event, total: u64, left: &mut usize) -> Markup {
    let kind = match event.kind {
        EventKind::Prompt => "prompt",
        EventKind::Turn => "turn",
        EventKind::Call => "call",
        EventKind::Note => "other",
    };
    let time = event.took_ms.map(duration).unwrap_or_default();
    html! {
        details.(kind).failed[event.is_failed] {
            summary {
                span.name {
                    (shown(&event.label))
                    @if !event.note.is_empty() { span.note { (shown(&event.note)) } }
                    @if event.is_failed { span.note { "failed" } }
                }
                (track(event, total))
                span.time { (time) }
            }
            dl {
                @if let Some(start) = event.start_ms { dt { "starts after" } dd { (duration(start)) } }
                @for (name, text) in &event.details { dt { (name) } dd { (detail(text, left)) } }
            }
        }
    }
}

/// Returns the bar of an event on the time of all of them. Its times are also part of the text.
fn track(event: &Event, total: u64) -> Markup {
    let Some(start) = event.start_ms else { return html! { span {} } };
    let scale = |ms: u64| ms.saturating_mul(TRACK) / total;
    let width = scale(event.took_ms.unwrap_or(0)).max(MIN_BAR);
    let x = scale(start).min(TRACK - width.min(TRACK));
    html! {
        svg.track viewBox=(format!("0 0 {TRACK} {HEIGHT}")) preserveAspectRatio="none" aria-hidden="true" {
            rect x=(x) y="0" width=(width) height=(HEIGHT) {}
        }
    }
}

/// Returns a text of an event: JSON over several lines, and no more than is left of the page's bound.
fn detail(text: &str, left: &mut usize) -> Markup {
    let json: Option<Value> =
        serde_json::from_str(text).ok().filter(|value: &Value| value.is_object() || value.is_array());
    let text = json.map_or_else(|| text.to_owned(), |value| format!("{value:#}"));
    let part = truncate_bytes(&text, MAX_TEXT_BYTES.min(*left));
    *left -= part.len();
    let missing = text.len() - part.len();
    html! {
        pre { (shown(part)) @if missing > 0 { "\n… " (missing) " more bytes" } }
    }
}

/// Returns a text without control characters and characters that hide others.
fn shown(text: &str) -> String {
    printable(text, Layout::Lines)
}
