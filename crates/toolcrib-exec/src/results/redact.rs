//! Secrets, taken out of texts.

use std::borrow::Cow;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::Value;
use toolcrib_model::{JsonObject, Secret, ToolError};

/// The least bytes of a secret that is taken out of texts. Shorter ones stand in many words by chance, and taking them
/// out would destroy the text; they should not be secrets.
pub const MIN_SECRET_BYTES: usize = 6;

/// The most bytes of a secret that are looked for: of a longer one its beginning, and its lines.
const MAX_SECRET_BYTES: usize = 16 * 1024;

/// The least bytes of a line of a secret that is looked for by itself, as those of a key in PEM format.
const MIN_SECRET_LINE_BYTES: usize = 16;

/// The least letters of base64 that are looked for inside of longer base64, where they may stand by chance.
const MIN_BASE64_BYTES: usize = 8;

/// The longest name of a variable that is told.
const MAX_NAME_BYTES: usize = 64;

/// Takes known secrets out of texts: as they are, escaped as in JSON, percent-encoded as in URLs, in hexadecimal digits,
/// and in base64, by themselves or within, as in the header of basic authentication. Each becomes `[secret NAME]`, by the name of its
/// variable. Encodings of encodings, and other ones, are not known,
/// nor is a secret whose parts stand on several lines or in several texts.
#[derive(Default)]
pub struct Redactor {
    /// `None` without secrets.
    search: Option<Search>,
}

struct Search {
    automaton: AhoCorasick,
    /// What stands in the place of each pattern.
    notes: Vec<String>,
}

impl Redactor {
    /// A redactor of these secrets, each with the name of its variable. Of those that are too many to be looked for at
    /// once, the first are.
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

    /// Whether a secret is long enough to be taken out.
    pub(super) fn takes(secret: &Secret) -> bool {
        secret.expose().trim().len() >= MIN_SECRET_BYTES
    }

    /// A text without the secrets; the text itself where there are none in it.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Patterns are texts, so that what is left of one is a text.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).unwrap_or_default()),
        }
    }

    /// Bytes without the secrets.
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

    /// Takes the secrets out of an error that somebody reads.
    pub fn redact_error(&self, error: &mut ToolError) {
        self.redact_text(&mut error.message);
        if let Some(hint) = &mut error.hint {
            self.redact_text(hint);
        }
    }

    /// Takes the secrets out of a value: its texts at any depth and its keys. It recurses as deep as the value nests.
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

    /// Takes the secrets out of an object.
    pub fn redact_object(&self, map: &mut JsonObject) {
        let Some(search) = &self.search else { return };
        map.values_mut().for_each(|value| self.redact_value(value));
        if !map.keys().any(|key| search.automaton.is_match(key)) {
            return;
        }
        for (key, value) in std::mem::take(map) {
            let mut shown = self.redact(&key).into_owned();
            // Two keys may differ in their secrets alone.
            while map.contains_key(&shown) {
                shown.push('…');
            }
            map.insert(shown, value);
        }
    }

    fn redact_text(&self, text: &mut String) {
        let _ = self.redact_within(text, usize::MAX);
    }

    /// Takes the secrets out of a text, and cuts it to a number of bytes; says whether anything was cut off. No secret is cut
    /// in two, and no more memory is used than the text and what is left of it.
    pub(super) fn redact_within(&self, text: &mut String, max_bytes: usize) -> bool {
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
        let kept = super::words::head(rest, max_bytes.saturating_sub(out.len()));
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

/// All forms of a secret that are looked for.
fn forms(secret: &str) -> Vec<String> {
    let secret = secret.trim();
    let secret = super::words::head(secret, MAX_SECRET_BYTES);
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

/// A text as it stands in a JSON string; some writers escape the slash as well.
fn escaped(text: &str, slash: bool) -> String {
    let json = Value::from(text).to_string();
    let inner = json.get(1..json.len() - 1).unwrap_or_default();
    if slash { inner.replace('/', "\\/") } else { inner.to_owned() }
}

/// A text as it stands in a URL, with the digits of the codes in one case or the other.
fn percent(text: &str, upper: bool) -> String {
    let code = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if upper => format!("%{byte:02X}"),
        _ => format!("%{byte:02x}"),
    };
    text.bytes().map(code).collect()
}

/// The bytes of a text as hexadecimal digits.
fn hex(text: &str, upper: bool) -> String {
    let digits = |byte: u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
    text.bytes().map(digits).collect()
}

/// The letters of base64 that stand for these bytes alone, when so many others stand before them in the same group of
/// three. That finds them in `user:password` too, whoever the user is.
fn base64_within(bytes: &[u8], offset: usize) -> Vec<String> {
    let mut padded = vec![0; offset];
    padded.extend_from_slice(bytes);
    // Letters that stand for bits of what comes before, and of what may come after.
    let before = (offset * 8).div_ceil(6);
    let whole = padded.len() * 8 / 6;
    let letters = [STANDARD.encode(&padded), URL_SAFE.encode(&padded)];
    let letters = letters.iter().filter_map(|letters| letters.get(before..whole));
    letters.filter(|letters| letters.len() >= MIN_BASE64_BYTES).map(str::to_owned).collect()
}
