//! Messages with a recipient: `<|channel|>commentary to=functions.name <|message|>{…}<|call|>`.

use super::call::TextCall;
use super::call_block::{CallBlock, end_of_broken};
use super::cursor::{Cursor, Stop};
use super::json_call::{BREAKS_OFF, arguments, is_name, unreadable};
use super::marker::{MarkerKind, marker};
use super::names::ToolNames;
use super::value::value;

/// The longest head, in bytes.
const MAX_HEAD_BYTES: usize = 512;

/// The content that a message head introduces.
#[derive(Debug)]
pub(super) enum Head {
    Calls(CallBlock),
    Thought { end: usize },
    Plain { end: usize },
}

/// Reads a head, and the call after it if it names a tool.
pub(super) fn head(cursor: &mut Cursor<'_>, names: &ToolNames) -> Result<Head, Stop> {
    let from = cursor.at();
    let end = loop {
        let at = cursor.at();
        if at - from > MAX_HEAD_BYTES {
            return Err(Stop::no("no head"));
        }
        match cursor.need()? {
            '\n' => return Err(Stop::no("no head")),
            '<' => match marker(cursor) {
                Ok(mark) if mark.kind == MarkerKind::Message => break at,
                Ok(mark) if mark.kind == MarkerKind::Channel => continue,
                Err(Stop::Out) => return Err(Stop::Out),
                _ => cursor.jump(at),
            },
            _ => {}
        }
        cursor.next();
    };
    let head = cursor.slice(from, end);
    let Some((_, tool)) = head.split_once("to=") else {
        let end = cursor.at();
        return Ok(if head.contains("analysis") { Head::Thought { end } } else { Head::Plain { end } });
    };
    let name = tool.split([' ', '<']).next().filter(|name| is_name(name)).unwrap_or_default();
    call(cursor, from, names.strip(name), names).map(Head::Calls)
}

fn call(cursor: &mut Cursor<'_>, from: usize, name: &str, names: &ToolNames) -> Result<CallBlock, Stop> {
    let read = match value(cursor) {
        Err(Stop::Out) if cursor.is_end() => {
            cursor.go_to_end();
            unreadable(name.to_owned(), BREAKS_OFF, cursor.slice_from(from))
        }
        Err(Stop::Out) => return Err(Stop::Out),
        Err(Stop::No(why)) => {
            let end = end_of_broken(cursor)?;
            cursor.jump(end);
            let why = format!("the call cannot be read: {why}");
            unreadable(name.to_owned(), why, cursor.slice(from, end))
        }
        Ok(value) => {
            let raw = cursor.slice(from, cursor.at()).to_owned();
            TextCall { name: names.strip(name).to_owned(), arguments: arguments("arguments", value), raw }
        }
    };
    let mut end = cursor.at();
    cursor.skip_blanks();
    if cursor.is_out() && !cursor.is_end() {
        return Err(Stop::Out);
    }
    match marker(cursor) {
        Err(Stop::Out) if !cursor.is_end() => return Err(Stop::Out),
        Ok(mark) if mark.is_close || mark.kind == MarkerKind::TurnEnd => end = cursor.at(),
        _ => {}
    }
    cursor.jump(end);
    Ok(CallBlock { calls: vec![read], end, fences: 0, is_spoken: false })
}
