//! Integers beyond 64 bits, which a [`Value`] holds as the nearest float only.

use std::collections::BTreeMap;
use std::ops::Bound;

use serde_json::Value;
use toolcrib_model::text::{pointer_part, string_end};

/// The digits of such integers by JSON pointer.
pub(crate) type ExactIntegers = BTreeMap<String, String>;

/// A value with its integers beyond 64 bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) exact: ExactIntegers,
}

/// Returns the integers at and below a pointer, as seen from there.
pub(crate) fn exact_at(exact: &ExactIntegers, pointer: &str) -> ExactIntegers {
    let below = |(place, digits): (&String, &String)| {
        let rest = place.strip_prefix(pointer)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| (rest.to_owned(), digits.clone()))
    };
    // Sorted, so that those below stand together; a file of many tools asks for each of them.
    exact
        .range::<str, _>((Bound::Included(pointer), Bound::Unbounded))
        .take_while(|(place, _)| place.starts_with(pointer))
        .filter_map(below)
        .collect()
}

/// Finds the integers of a JSON text that was parsed to a value. The numbers of both have the same order, since keys keep
/// their order and are unique.
pub(crate) fn find(text: &str, value: &Value) -> ExactIntegers {
    let mut exact = ExactIntegers::new();
    walk(value, &mut String::new(), &mut numbers(text), &mut exact);
    exact
}

fn walk<'a>(
    value: &Value,
    pointer: &mut String,
    numbers: &mut impl Iterator<Item = &'a str>,
    exact: &mut ExactIntegers,
) {
    let above = pointer.len();
    match value {
        Value::Number(number) => {
            if let Some(written) = numbers.next()
                && number.is_f64()
                && !written.contains(['.', 'e', 'E'])
            {
                // Python, whose form counts, knows no negative zero among integers.
                let digits = if written == "-0" { "0" } else { written };
                exact.insert(pointer.clone(), digits.to_owned());
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&position.to_string());
                walk(item, pointer, numbers, exact);
                pointer.truncate(above);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                pointer.push('/');
                pointer.push_str(&pointer_part(key));
                walk(item, pointer, numbers, exact);
                pointer.truncate(above);
            }
        }
        _ => {}
    }
}

/// Returns the numbers of a well-formed JSON text, as they are written.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
            let from = rest.get(at..)?;
            if let Some(string) = from.strip_prefix('"') {
                rest = string.get(string_end(string)..)?;
                continue;
            }
            let end = from
                .find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
                .unwrap_or(from.len());
            let (number, after) = from.split_at_checked(end)?;
            rest = after;
            return Some(number);
        }
    })
}
