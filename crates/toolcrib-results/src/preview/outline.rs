//! Outlines of large values: keys, types, counts and ranges, in one line.
//!
//! `{updated: str, items: [6,500 × {sku: str, stock: int 0..500, status: "open"|"void", note?: str}]}`: for a list, the
//! number of its items and their common shape; `?` after a key that not all of them have; the range of numbers and
//! dates; and the texts themselves if there are few.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use indexmap::IndexMap;
use serde_json::{Number, Value};
use toolcrib_model::text::truncate_bytes;

use crate::text::grouped;
use crate::tokens::TokenCounter;

/// The maximum number of keys of an object that are listed. An object with more keys is shown as a map.
const MAX_KEYS: usize = 64;

/// The maximum number of values that are analyzed; later ones are ignored.
const MAX_VALUES: usize = 1_000_000;

/// The maximum number of distinct texts that are listed instead of `str`.
const MAX_CHOICES: usize = 5;

/// The maximum length of a listed text, in bytes.
const MAX_CHOICE_BYTES: usize = 24;

/// The minimum average number of values per distinct text for texts to be listed. Texts that are shared by fewer values
/// are names rather than choices.
const VALUES_PER_CHOICE: usize = 3;

/// The maximum number of bytes of a key.
const MAX_KEY_BYTES: usize = 60;

/// The maximum depth of an outline.
const MAX_DEPTH: usize = 6;

/// The common shape of the values at one position.
#[derive(Default)]
pub(crate) struct Outline {
    count: usize,
    nulls: usize,
    booleans: usize,
    numbers: Option<Numbers>,
    texts: Option<Texts>,
    lists: Option<Box<Lists>>,
    objects: Option<Box<Objects>>,
}

struct Numbers {
    least: Number,
    greatest: Number,
    is_whole: bool,
}

struct Texts {
    count: usize,
    /// The distinct texts; `None` if they are too many or too long.
    choices: Option<BTreeSet<String>>,
    /// The range, if all are dates.
    dates: Option<(String, String)>,
}

struct Lists {
    least: usize,
    greatest: usize,
    items: Outline,
}

#[derive(Default)]
struct Objects {
    count: usize,
    keys: IndexMap<String, Outline>,
    /// The values under further keys, and the maximum number of keys of an object.
    others: Option<(Outline, usize)>,
}

/// A level of detail.
#[derive(Clone, Copy)]
struct Detail {
    depth: usize,
    keys: usize,
    has_ranges: bool,
}

/// The levels of detail, from the fullest to the shortest.
const DETAILS: [Detail; 7] = [
    Detail { depth: MAX_DEPTH, keys: MAX_KEYS, has_ranges: true },
    Detail { depth: 4, keys: 32, has_ranges: true },
    Detail { depth: 4, keys: 32, has_ranges: false },
    Detail { depth: 3, keys: 16, has_ranges: false },
    Detail { depth: 2, keys: 16, has_ranges: false },
    Detail { depth: 2, keys: 6, has_ranges: false },
    Detail { depth: 1, keys: 3, has_ranges: false },
];

impl Outline {
    /// Returns the outline of a value.
    pub(crate) fn of(value: &Value) -> Self {
        let (mut outline, mut left) = (Self::default(), MAX_VALUES);
        outline.add(value, 0, &mut left);
        outline
    }

    fn add(&mut self, value: &Value, depth: usize, left: &mut usize) {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        self.count += 1;
        match value {
            Value::Null => self.nulls += 1,
            Value::Bool(_) => self.booleans += 1,
            Value::Number(number) => match &mut self.numbers {
                None => self.numbers = Some(Numbers::new(number)),
                Some(numbers) => numbers.add(number),
            },
            Value::String(text) => self.texts.get_or_insert_with(Texts::new).add(text),
            Value::Array(items) => {
                let length = items.len();
                let new = || Box::new(Lists { least: length, greatest: length, items: Self::default() });
                let lists = self.lists.get_or_insert_with(new);
                (lists.least, lists.greatest) = (lists.least.min(length), lists.greatest.max(length));
                if depth < MAX_DEPTH {
                    for item in items {
                        lists.items.add(item, depth + 1, left);
                    }
                }
            }
            Value::Object(map) => {
                let objects = self.objects.get_or_insert_with(Box::default);
                objects.count += 1;
                if depth < MAX_DEPTH {
                    for (key, value) in map {
                        objects.at(key, map.len()).add(value, depth + 1, left);
                    }
                }
            }
        }
    }

    /// Returns the fullest text with at most a number of tokens, or the shortest text if none fits.
    pub(crate) fn within(&self, tokens: usize, counter: &TokenCounter) -> String {
        let mut text = String::new();
        for detail in DETAILS {
            text.clear();
            self.write(&mut text, detail.depth, detail);
            if counter.fits(&text, tokens) {
                break;
            }
        }
        text
    }

    fn write(&self, out: &mut String, depth: usize, detail: Detail) {
        let start = out.len();
        let next = |out: &mut String| {
            if out.len() > start {
                out.push('|');
            }
        };
        if let Some(objects) = &self.objects {
            objects.write(out, depth, detail);
        }
        if let Some(lists) = &self.lists {
            next(out);
            lists.write(out, depth, detail);
        }
        if let Some(texts) = &self.texts {
            next(out);
            texts.write(out, detail);
        }
        if let Some(numbers) = &self.numbers {
            next(out);
            numbers.write(out, detail);
        }
        if self.booleans > 0 {
            next(out);
            out.push_str("bool");
        }
        if self.nulls > 0 {
            next(out);
            out.push_str("null");
        }
        if out.len() == start {
            out.push('…');
        }
    }
}

impl Numbers {
    fn new(number: &Number) -> Self {
        Self { least: number.clone(), greatest: number.clone(), is_whole: !number.is_f64() }
    }

    fn add(&mut self, number: &Number) {
        self.is_whole &= !number.is_f64();
        if number.as_f64() < self.least.as_f64() {
            self.least = number.clone();
        }
        if number.as_f64() > self.greatest.as_f64() {
            self.greatest = number.clone();
        }
    }

    fn write(&self, out: &mut String, detail: Detail) {
        out.push_str(if self.is_whole { "int" } else { "num" });
        if detail.has_ranges && self.least == self.greatest {
            // Writing to a string cannot fail.
            let _ = write!(out, " {}", self.least);
        } else if detail.has_ranges {
            let _ = write!(out, " {}..{}", self.least, self.greatest);
        }
    }
}

impl Texts {
    fn new() -> Self {
        Self { count: 0, choices: Some(BTreeSet::new()), dates: None }
    }

    fn add(&mut self, text: &str) {
        self.count += 1;
        if let Some(choices) = &mut self.choices
            && !choices.contains(text)
        {
            if text.len() > MAX_CHOICE_BYTES || choices.len() == MAX_CHOICES {
                self.choices = None;
            } else {
                choices.insert(text.to_owned());
            }
        }
        if self.count > 1 && self.dates.is_none() {
            return;
        }
        self.dates = match self.dates.take() {
            _ if !is_date(text) => None,
            None => Some((text.to_owned(), text.to_owned())),
            Some((least, greatest)) if text < least.as_str() => Some((text.to_owned(), greatest)),
            Some((least, greatest)) if text > greatest.as_str() => Some((least, text.to_owned())),
            range => range,
        };
    }

    fn write(&self, out: &mut String, detail: Detail) {
        let choices = self.choices.as_ref().filter(|choices| {
            detail.has_ranges && (self.count >= VALUES_PER_CHOICE * choices.len() || choices.len() == 1)
        });
        match (choices, &self.dates) {
            (_, Some((least, greatest))) if detail.has_ranges && least != greatest => {
                let _ = write!(out, "str {least}..{greatest}");
            }
            (Some(choices), _) => {
                let quoted: Vec<_> =
                    choices.iter().map(|text| Value::from(text.as_str()).to_string()).collect();
                out.push_str(&quoted.join("|"));
            }
            _ => out.push_str("str"),
        }
    }
}

/// Returns true if a text is a date, or a date and a time, so that the order of such texts is that of their times.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let form = |at: usize, byte: u8| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    (10..=35).contains(&bytes.len())
        && bytes.iter().take(10).enumerate().all(|(at, byte)| form(at, *byte))
        && matches!(bytes.get(10), None | Some(b'T' | b' '))
        && bytes.iter().skip(11).all(|byte| byte.is_ascii_digit() || b":.+-ZT ".contains(byte))
}

impl Lists {
    fn write(&self, out: &mut String, depth: usize, detail: Detail) {
        out.push('[');
        out.push_str(&grouped(self.least));
        if self.greatest > self.least {
            let _ = write!(out, "..{}", grouped(self.greatest));
        }
        if self.items.count > 0 && depth > 0 {
            out.push_str(" × ");
            self.items.write(out, depth - 1, detail);
        }
        out.push(']');
    }
}

impl Objects {
    /// Returns the outline of the values under a key.
    fn at(&mut self, key: &str, siblings: usize) -> &mut Outline {
        if !self.keys.contains_key(key) && self.keys.len() == MAX_KEYS {
            let (others, most) = self.others.get_or_insert_default();
            *most = siblings.max(*most);
            return others;
        }
        self.keys.entry(key.to_owned()).or_default()
    }

    fn write(&self, out: &mut String, depth: usize, detail: Detail) {
        out.push('{');
        if let Some((others, most)) = &self.others {
            // The object is a map: its keys are data. Values under the first keys are not included, so a range would be
            // wrong.
            let _ = write!(out, "{} keys", grouped(*most));
            if depth > 0 {
                out.push_str(": ");
                others.write(out, depth - 1, Detail { has_ranges: false, ..detail });
            }
        } else if depth == 0 {
            let _ = write!(out, "{} keys", grouped(self.keys.len()));
        } else {
            for (position, (key, values)) in self.keys.iter().take(detail.keys).enumerate() {
                out.push_str(if position > 0 { ", " } else { "" });
                out.extend(
                    truncate_bytes(key, MAX_KEY_BYTES).chars().map(|c| if c.is_control() { ' ' } else { c }),
                );
                out.push_str(if values.count < self.count { "?: " } else { ": " });
                values.write(out, depth - 1, detail);
            }
            if self.keys.len() > detail.keys {
                let _ = write!(out, ", … {} more keys", grouped(self.keys.len() - detail.keys));
            }
        }
        out.push('}');
    }
}
