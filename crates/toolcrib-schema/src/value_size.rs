//! Properties of a value that are computed before all other checks.

use std::io;

use serde_json::Value;

/// The deepest nesting of a value. Readers of JSON stop there too.
pub(crate) const MAX_VALUE_DEPTH: u64 = 128;

/// Properties of a value that are computed in one pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// The nesting of lists and mappings, counted up to [`MAX_VALUE_DEPTH`].
    pub(crate) levels: u64,
    /// The number of values plus the bytes of text and names.
    pub(crate) amount: u64,
    /// True if an integer is written with a fraction, such as `1.0`.
    pub(crate) has_whole_float: bool,
    /// True if a name contains the character NUL, which ends names for some parsers.
    pub(crate) has_nul_name: bool,
}

impl Shape {
    pub(crate) fn of(value: &Value) -> Self {
        let mut shape = Self::default();
        shape.look(value, 1);
        shape
    }

    /// It recurses, but not further than the deepest level that is taken.
    fn look(&mut self, value: &Value, level: u64) {
        self.levels = self.levels.max(level);
        self.amount += 1;
        if level > MAX_VALUE_DEPTH {
            return;
        }
        match value {
            Value::String(text) => self.amount += bytes(text),
            Value::Number(number) => self.has_whole_float |= number.is_f64() && is_whole(number.as_f64()),
            Value::Array(items) => items.iter().for_each(|item| self.look(item, level + 1)),
            Value::Object(map) => {
                for (name, member) in map {
                    self.amount += bytes(name);
                    self.has_nul_name |= name.as_bytes().contains(&0);
                    self.look(member, level + 1);
                }
            }
            _ => {}
        }
    }
}

fn bytes(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

fn is_whole(number: Option<f64>) -> bool {
    number.is_some_and(|number| number.fract() == 0.0)
}

/// Returns the cost of copying a value: its values, and the text in them.
pub(crate) fn size(value: &Value) -> u64 {
    match value {
        Value::String(text) => return 1 + text_units(text),
        Value::Array(_) | Value::Object(_) => {}
        _ => return 1,
    }
    let mut size = 0_u64;
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        size += 1;
        match value {
            Value::String(text) => size += text_units(text),
            Value::Array(items) => left.extend(items),
            Value::Object(map) => {
                size += map.keys().map(|name| text_units(name)).sum::<u64>();
                left.extend(map.values());
            }
            _ => {}
        }
    }
    size
}

/// The bytes of text that count as one value.
const TEXT_UNIT: usize = 64;

fn text_units(text: &str) -> u64 {
    u64::try_from(text.len() / TEXT_UNIT).unwrap_or(u64::MAX)
}

/// Returns the JSON text of a value if it has at most `most` bytes, or else its beginning as an error.
pub(crate) fn json_within(value: &Value, most: usize) -> Result<Vec<u8>, Vec<u8>> {
    let mut start = Start { kept: Vec::new(), most };
    // It ends with an error when the text is longer than what is kept of it.
    match serde_json::to_writer(&mut start, value) {
        Ok(()) => Ok(start.kept),
        Err(_) => Err(start.kept),
    }
}

/// Keeps the first bytes that are written, and then refuses more.
struct Start {
    kept: Vec<u8>,
    most: usize,
}

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let free = self.most.saturating_sub(self.kept.len());
        let taken = bytes.get(..free).unwrap_or(bytes);
        self.kept.extend_from_slice(taken);
        if taken.len() == bytes.len() { Ok(bytes.len()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
