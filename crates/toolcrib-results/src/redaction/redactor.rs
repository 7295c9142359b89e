//! The redaction of secrets.

use std::borrow::Cow;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::Value;
use toolcrib_model::{JsonObject, Secret, ToolError};

/// The minimum length of a secret that is redacted. Shorter ones occur in many words by chance, and redacting them
/// would destroy texts; they should not be secrets.
pub const MIN_SECRET_BYTES: usize = 6;

/// The maximum length of a searched secret; of a longer one, its beginning and its lines are searched.
const MAX_SECRET_BYTES: usize = 16 * 1024;

/// The minimum length of a line of a secret that is searched separately, such as those of a key in PEM format.
const MIN_SECRET_LINE_BYTES: usize = 16;

/// The minimum length of base64 that is searched inside of longer base64, where it may occur by chance.
const MIN_BASE64_BYTES: usize = 8;

/// The maximum length of the name of a variable that is shown.
const MAX_NAME_BYTES: usize = 64;

/// A redactor of known secrets. It finds them verbatim, escaped as in JSON, percent-encoded as in URLs, in hexadecimal
/// digits, and in base64, also within longer base64, as in the header of basic authentication. Each becomes `[secret
/// NAME]`, by the name of its variable. It does not find other encodings, encodings of encodings, or a secret that is
/// split between several lines or texts.
#[derive(Default)]
pub struct Redactor {
    /// The search; `None` without secrets.
    search: Option<Search>,
}

struct Search {
    automaton: AhoCorasick,
    /// The replacement of each pattern.
    notes: Vec<String>,
}

impl Redactor {
    /// Creates a redactor of these secrets, each with the name of its variable. If they are too many for the search,
    /// none is redacted.
    pub fn new(secrets: &[(String, Secret)]) -> Self {
        let mut patterns: Vec<String> = Vec::new();
        let mut notes = Vec::new();
        for (name, secret) in secrets.iter().filter(|(_, secret)| Self::takes(secret)) {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            let note = if !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(is_name) {
                format!("[secret {name}]")
            } else {
                "[secret]".to_owned()
            };
            for form in forms(secret.expose()) {
                patterns.push(form);
                notes.push(note.clone());
            }
        }
        if patterns.is_empty() {
            return Self::default();
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns);
        Self { search: automaton.ok().map(|automaton| Search { automaton, notes }) }
    }

    /// Returns true if a secret is long enough to be redacted.
    pub(crate) fn takes(secret: &Secret) -> bool {
        secret.expose().trim().len() >= MIN_SECRET_BYTES
    }

    /// Returns a text without the secrets; the text itself if it contains none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Patterns are valid UTF-8, so that the remaining text is valid too.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).unwrap_or_default()),
        }
    }

    /// Returns bytes without the secrets.
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let Some(search) = &self.search else { return Cow::Borrowed(bytes) };
        let mut found = search.automaton.find_iter(bytes).peekable();
        if found.peek().is_none() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut done = 0;
        for found in found {
            out.extend_from_slice(bytes.get(done..found.start()).unwrap_or_default());
            out.extend_from_slice(search.note(found.pattern().as_usize()).as_bytes());
            done = found.end();
        }
        out.extend_from_slice(bytes.get(done..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Redacts the message and the hint of an error.
    pub fn redact_error(&self, error: &mut ToolError) {
        self.redact_text(&mut error.message);
        if let Some(hint) = &mut error.hint {
            self.redact_text(hint);
        }
    }

    /// Redacts a value: its texts at any depth and its keys. It recurses as deep as the value nests.
    pub fn redact_value(&self, value: &mut Value) {
        if self.search.is_none() {
            return;
        }
        match value {
            Value::String(text) => self.redact_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(map) => self.redact_object(map),
            _ => {}
        }
    }

    /// Returns a value without the secrets in its texts and keys, or `None` if it has none.
    pub fn redacted(&self, value: &Value) -> Option<Value> {
        self.search.as_ref()?;
        let mut redacted = value.clone();
        self.redact_value(&mut redacted);
        (redacted != *value).then_some(redacted)
    }

    /// Redacts an object.
    pub fn redact_object(&self, map: &mut JsonObject) {
        let Some(search) = &self.search else { return };
        map.values_mut().for_each(|value| self.redact_value(value));
        if !map.keys().any(|key| search.automaton.is_match(key)) {
            return;
        }
        for (key, value) in std::mem::take(map) {
            let mut shown = self.redact(&key).into_owned();
            // Two keys may differ only in their secrets.
            while map.contains_key(&shown) {
                shown.push('…');
            }
            map.insert(shown, value);
        }
    }

    fn redact_text(&self, text: &mut String) {
        let _ = self.redact_within(text, usize::MAX);
    }

    /// Redacts a text and truncates it to a number of bytes; returns true if it was truncated. No secret is cut in two,
    /// and the memory is limited to the text and its remaining part.
    pub(crate) fn redact_within(&self, text: &mut String, max_bytes: usize) -> bool {
        let cut = |text: &mut String| {
            let is_longer = text.len() > max_bytes;
            if is_longer {
                text.truncate(text.floor_char_boundary(max_bytes));
                text.shrink_to_fit();
            }
            is_longer
        };
        let Some(search) = &self.search else { return cut(text) };
        let mut found = search
            .automaton
            .find_iter(text.as_str())
            .take_while(|found| found.start() < max_bytes)
            .peekable();
        if found.peek().is_none() {
            drop(found);
            return cut(text);
        }
        let mut out = String::with_capacity(text.len().min(max_bytes));
        let mut done = 0;
        for found in found {
            out.push_str(text.get(done..found.start()).unwrap_or_default());
            out.push_str(search.note(found.pattern().as_usize()));
            done = found.end();
            if out.len() >= max_bytes {
                break;
            }
        }
        let rest = text.get(done..).unwrap_or_default();
        let kept = toolcrib_model::text::truncate_bytes(rest, max_bytes.saturating_sub(out.len()));
        out.push_str(kept);
        let is_longer = kept.len() < rest.len();
        *text = out;
        cut(text) || is_longer
    }
}

impl Search {
    fn note(&self, pattern: usize) -> &str {
        self.notes.get(pattern).map_or("[secret]", String::as_str)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} forms)", self.search.as_ref().map_or(0, |search| search.notes.len()))
    }
}

/// Returns all searched forms of a secret.
fn forms(secret: &str) -> Vec<String> {
    let secret = secret.trim();
    let secret = toolcrib_model::text::truncate_bytes(secret, MAX_SECRET_BYTES);
    let lines = secret.lines().map(str::trim);
    let lines = lines.filter(|line| line.len() >= MIN_SECRET_LINE_BYTES && !line.starts_with("-----"));
    let mut forms = Vec::new();
    for text in std::iter::once(secret).chain(lines.filter(|line| *line != secret)) {
        forms.push(text.to_owned());
        forms.extend([escaped(text, false), escaped(text, true)]);
        forms.extend([hex(text, true), hex(text, false)]);
        forms.extend([percent(text, true), percent(text, false), percent(text, true).replace("%20", "+")]);
        forms.extend(
            [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD].map(|base64| base64.encode(text)),
        );
        forms.extend((0..3).flat_map(|offset| base64_within(text.as_bytes(), offset)));
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Returns a text as in a JSON string; some writers escape the slash too.
fn escaped(text: &str, slash: bool) -> String {
    let json = Value::from(text).to_string();
    let inner = json.get(1..json.len() - 1).unwrap_or_default();
    if slash { inner.replace('/', "\\/") } else { inner.to_owned() }
}

/// Returns a percent-encoded text, with upper-case or lower-case digits.
fn percent(text: &str, upper: bool) -> String {
    let code = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if upper => format!("%{byte:02X}"),
        _ => format!("%{byte:02x}"),
    };
    text.bytes().map(code).collect()
}

/// Returns the bytes of a text as hexadecimal digits.
fn hex(text: &str, upper: bool) -> String {
    let digits = |byte: u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
    text.bytes().map(digits).collect()
}

/// Returns the letters of base64 that encode only these bytes, if `offset` other bytes precede them in their group of
/// three. This finds a password in `user:password` for any user.
fn base64_within(bytes: &[u8], offset: usize) -> Vec<String> {
    let mut padded = vec![0; offset];
    padded.extend_from_slice(bytes);
    // The first letters also encode bits of the preceding bytes, and the last ones bits of the following bytes.
    let before = (offset * 8).div_ceil(6);
    let whole = padded.len() * 8 / 6;
    let letters = [STANDARD.encode(&padded), URL_SAFE.encode(&padded)];
    let letters = letters.iter().filter_map(|letters| letters.get(before..whole));
    letters.filter(|letters| letters.len() >= MIN_BASE64_BYTES).map(str::to_owned).collect()
}
