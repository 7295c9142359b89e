//! Detection of secrets in the entry of a server. A value counts as a secret in doubt.

use std::ops::Range;

use toolcrib_results::{TOKEN_PREFIXES, is_secret};

/// The least bytes of a token that is known by its beginning.
const MIN_TOKEN_BYTES: usize = 16;

/// The least characters of a part of a URL's path that is taken for a key where it has letters and digits.
const MIN_KEY_CHARS: usize = 24;

/// The most digits of a number that is a port, a size or a time.
const MAX_DIGITS: usize = 6;

/// The schemes of credentials in a header, which are not secret.
const SCHEMES: [&str; 4] = ["Bearer ", "Basic ", "Token ", "token "];

/// Headers that say nothing about who asks.
const PLAIN_HEADERS: [&str; 5] =
    ["accept", "accept-language", "content-type", "mcp-protocol-version", "user-agent"];

/// Returns true if a name indicates a secret.
fn is_named_secret(name: &str) -> bool {
    is_secret("", "", name)
}

/// Returns true for a valid name of a variable.
pub(crate) fn is_variable(name: &str) -> bool {
    let is_begun = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_begun && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns true if the value of a variable is not secret.
pub(crate) fn is_plain_variable(name: &str, value: &str) -> bool {
    if is_harmless(value) {
        return true;
    }
    // A name that no program can look up says nothing about its value.
    if !is_variable(name) || looks_like_key(value) {
        return false;
    }
    let is_number = value.len() <= MAX_DIGITS && value.bytes().all(|byte| byte.is_ascii_digit());
    !is_named_secret(name) && (is_number || !is_secret("/env/value", "", name) && parts(value).is_empty())
}

/// Returns true if the value of a header is not secret.
pub(crate) fn is_plain_header(name: &str, value: &str) -> bool {
    is_harmless(value) || PLAIN_HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

fn is_harmless(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "none"
    )
}

/// Returns the position of the secret in the value of a header.
pub(crate) fn behind_scheme(value: &str) -> usize {
    SCHEMES.iter().find(|scheme| value.starts_with(**scheme)).map_or(0, |scheme| scheme.len())
}

/// Returns the secrets among the arguments of a program: which argument, and where in it.
pub(crate) fn in_arguments(arguments: &[&str]) -> Vec<(usize, Range<usize>)> {
    let mut found = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        let flag = at.checked_sub(1).and_then(|before| arguments.get(before));
        let is_value = flag.is_some_and(|flag| is_secret_flag(flag)) && !argument.starts_with('-');
        let ranges = if is_value && !is_harmless(argument) {
            let from = behind_scheme(argument);
            std::iter::once(from..argument.len()).collect()
        } else {
            parts(argument)
        };
        found.extend(ranges.into_iter().map(|range| (at, range)));
    }
    found.retain(|(at, range)| {
        let part = arguments.get(*at).and_then(|argument| argument.get(range.clone()));
        part.is_some_and(|part| !part.is_empty() && !part.contains("${"))
    });
    found
}

fn is_secret_flag(flag: &str) -> bool {
    flag.starts_with('-') && !flag.starts_with("--no-") && !flag.contains(['=', ':']) && is_named_secret(flag)
}

/// Returns the ranges of secrets in a text.
pub(crate) fn parts(text: &str) -> Vec<Range<usize>> {
    if TOKEN_PREFIXES.iter().any(|start| text.starts_with(start)) && text.len() >= MIN_TOKEN_BYTES {
        return std::iter::once(0..text.len()).collect();
    }
    if let Some(range) = named_part(text) {
        return vec![range];
    }
    text.find("://").map(|at| in_url(text, at + 3)).unwrap_or_default()
}

/// Returns the value in `--name=value`, `NAME=value` and `Name: value` whose name says that it is one.
fn named_part(text: &str) -> Option<Range<usize>> {
    let at = text.find(['=', ':'])?;
    let (name, rest) = text.split_at(at);
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let value = rest.get(1..)?.trim_start();
    if !is_name || value.starts_with("//") || is_harmless(value) || !is_named_secret(name) {
        return None;
    }
    let start = text.len() - value.len();
    Some(start + behind_scheme(value)..text.len())
}

/// Returns the password, the values of the query that are named so, and parts of the path that look like keys; `start`
/// is behind the scheme.
fn in_url(text: &str, start: usize) -> Vec<Range<usize>> {
    let rest = text.get(start..).unwrap_or_default();
    let end = start + rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = text.get(start..end).unwrap_or_default();
    let mut found = Vec::new();
    if let Some(at) = authority.rfind('@') {
        let from = authority.get(..at).and_then(|user| user.find(':')).map_or(0, |colon| colon + 1);
        found.push(start + from..start + at);
    }
    let mut at = end;
    let mut is_query = false;
    for part in text.get(end..).unwrap_or_default().split_inclusive(['/', '?', '&', '#']) {
        let value = part.trim_end_matches(['/', '?', '&', '#']);
        match value.split_once('=') {
            Some((name, value)) if is_query && (is_named_secret(name) || looks_like_key(value)) => {
                found.push(at + name.len() + 1..at + name.len() + 1 + value.len());
            }
            None if looks_like_key(value) => found.push(at..at + value.len()),
            _ => {}
        }
        is_query |= part.ends_with('?');
        at += part.len();
    }
    found
}

fn looks_like_key(text: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| text.bytes().any(|byte| kind(&byte));
    text.len() >= MIN_KEY_CHARS
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
}
