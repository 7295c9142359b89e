//! The way to a value in the arguments.

use std::borrow::Cow;

use serde_json::Value;
use toolcrib_model::JsonObject;
use toolcrib_model::text::is_invisible;

use super::MAX_DEPTH;
use super::embedded::{Embedded, embedded};

/// The most `*` and numbers in a path. Each may double the ways that are looked into.
const MAX_LIST_PARTS: usize = 8;

/// A JSON Pointer (RFC 6901) with `*` for every member.
#[derive(Debug)]
pub(super) struct Pointer(Vec<Token>);

#[derive(Debug)]
struct Token {
    text: String,
    folded: String,
    /// The index of the item, for an array.
    index: Option<usize>,
}

impl Pointer {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix('/') else {
            return Err(format!(
                "`{text}` is no path into the arguments; write a JSON Pointer, as `/path` or `/options/force`"
            ));
        };
        let tokens = rest.split('/').map(Token::parse).collect::<Result<Vec<_>, _>>()?;
        if tokens.len() > MAX_DEPTH {
            return Err(format!("a path of {} parts, more than {MAX_DEPTH}", tokens.len()));
        }
        let wild = tokens.iter().filter(|token| token.is_of_list()).count();
        if wild > MAX_LIST_PARTS {
            return Err(format!("a path with {wild} `*` and numbers, more than {MAX_LIST_PARTS}"));
        }
        Ok(Self(tokens))
    }

    /// Returns true if the path may lead into the argument of this name.
    pub(super) fn may_enter(&self, argument: &str) -> bool {
        self.0.first().is_none_or(|token| token.is_of_list() || token.resembles(argument))
    }

    /// Returns true if any value that the path may refer to passes.
    pub(super) fn any(&self, arguments: &JsonObject, passes: &dyn Fn(&Value, usize) -> bool) -> bool {
        any_member(arguments, &self.0, 0, passes)
    }

    /// Returns true if the values at the path exist, and all of them pass.
    pub(super) fn every(&self, arguments: &JsonObject, passes: &dyn Fn(&Value) -> bool) -> bool {
        every_member(arguments, &self.0, passes)
    }
}

impl Token {
    fn parse(text: &str) -> Result<Self, String> {
        let mut plain = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            plain.push(match (c, c == '~') {
                (c, false) => c,
                (_, true) => match chars.next() {
                    Some('0') => '~',
                    Some('1') => '/',
                    _ => {
                        let problem = "in a JSON Pointer `~` is written `~0`, and `/` in a name `~1`";
                        return Err(problem.to_owned());
                    }
                },
            });
        }
        // As RFC 6901 has it: no sign, no leading zero.
        let is_index =
            plain.bytes().all(|byte| byte.is_ascii_digit()) && (plain == "0" || !plain.starts_with('0'));
        let index = if is_index { plain.parse().ok() } else { None };
        Ok(Self { folded: fold(&plain).into_owned(), index, text: plain })
    }

    fn means_all(&self) -> bool {
        self.text == "*"
    }

    /// Returns true if the step refers to items of a list.
    fn is_of_list(&self) -> bool {
        self.means_all() || self.index.is_some()
    }

    /// Returns true if a lenient parser would take the name for this one.
    fn resembles(&self, name: &str) -> bool {
        name == self.text || fold(name) == self.folded
    }
}

fn any(value: &Value, path: &[Token], depth: usize, passes: &dyn Fn(&Value, usize) -> bool) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let Some((token, rest)) = path.split_first() else { return passes(value, depth) };
    if let Value::String(text) = value {
        match embedded(text) {
            Embedded::Text => {}
            Embedded::Json(inner) => {
                if any(&inner, path, depth + 1, passes) {
                    return true;
                }
            }
            // A value is expected inside of it, and some parser may find one.
            Embedded::Malformed | Embedded::TooDeep => return true,
        }
    }
    let Value::Array(items) = value else {
        // A tool that takes a list may take its only item instead.
        return (token.is_of_list() && any(value, rest, depth, passes))
            || value.as_object().is_some_and(|map| any_member(map, path, depth, passes));
    };
    // And a list where one is expected.
    let rest = if token.is_of_list() { rest } else { path };
    match token.index {
        Some(index) => items.get(index).is_some_and(|item| any(item, rest, depth + 1, passes)),
        None => items.iter().any(|item| any(item, rest, depth + 1, passes)),
    }
}

fn any_member(
    map: &JsonObject,
    path: &[Token],
    depth: usize,
    passes: &dyn Fn(&Value, usize) -> bool,
) -> bool {
    let Some((token, rest)) = path.split_first() else { return false };
    map.iter()
        .filter(|(name, _)| token.means_all() || token.resembles(name))
        .any(|(_, value)| any(value, rest, depth + 1, passes))
}

fn every(value: &Value, path: &[Token], passes: &dyn Fn(&Value) -> bool) -> bool {
    let Some((token, rest)) = path.split_first() else { return passes(value) };
    match value {
        Value::Object(map) => every_member(map, path, passes),
        Value::Array(items) if token.means_all() => {
            !items.is_empty() && items.iter().all(|item| every(item, rest, passes))
        }
        Value::Array(items) => {
            token.index.and_then(|index| items.get(index)).is_some_and(|item| every(item, rest, passes))
        }
        _ => false,
    }
}

fn every_member(map: &JsonObject, path: &[Token], passes: &dyn Fn(&Value) -> bool) -> bool {
    let Some((token, rest)) = path.split_first() else { return false };
    if token.means_all() {
        return !map.is_empty() && map.values().all(|value| every(value, rest, passes));
    }
    // A reader that does not care for case might take another one.
    let is_alone = map.keys().filter(|name| token.resembles(name)).count() == 1;
    is_alone && map.get(&token.text).is_some_and(|value| every(value, rest, passes))
}

/// Returns a name in lower case and without invisible characters, as lenient parsers compare it.
fn fold(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte)) {
        return Cow::Borrowed(name);
    }
    // Up and down again: `ſ` and the sign of Kelvin meet `s` and `k` on one of the two ways.
    let visible = name.chars().filter(|c| !is_invisible(*c));
    visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect::<String>().into()
}
