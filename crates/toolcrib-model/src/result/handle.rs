//! The form of handles of stored results: `r_` and 26 letters, which encode 128 bits.

use std::borrow::Cow;

use serde_json::Value;

/// The letters of a handle: 32, so that each encodes five bits.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The bits of a letter.
const LETTER_BITS: u32 = 5;

/// The number of letters of a handle.
const LETTERS: u32 = u128::BITS.div_ceil(LETTER_BITS);

/// The text before the letters.
const PREFIX: &str = "r_";

/// Returns the handle of a number.
pub fn handle_of(number: u128) -> String {
    let letter = |place: u32| {
        let bits = usize::try_from((number >> (LETTER_BITS * place)) & 31).unwrap_or_default();
        ALPHABET.get(bits).map(|letter| char::from(*letter))
    };
    format!("{PREFIX}{}", (0..LETTERS).filter_map(letter).collect::<String>())
}

/// Returns true if a text has the form of a handle.
pub fn is_handle(text: &str) -> bool {
    text.strip_prefix(PREFIX).is_some_and(|letters| {
        letters.len() == LETTERS as usize && letters.bytes().all(|byte| ALPHABET.contains(&byte))
    })
}

/// Returns a text with another text in place of each handle.
///
/// ```
/// use toolcrib_model::result::{handle_of, replace_handles};
///
/// let text = format!("read_result(handle=\"{}\")", handle_of(7));
/// assert_eq!(replace_handles(&text, &mut |_| "r_…".to_owned()), "read_result(handle=\"r_…\")");
/// ```
pub fn replace_handles<'t>(text: &'t str, replace: &mut impl FnMut(&str) -> String) -> Cow<'t, str> {
    let mut replaced = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices(PREFIX) {
        let letters = text.get(at + PREFIX.len()..).unwrap_or_default();
        let letters = letters.bytes().take_while(|byte| ALPHABET.contains(byte)).count();
        let end = at + PREFIX.len() + letters;
        // A longer word only begins like a handle. The character before tells nothing: it may be that of an escape.
        if letters == LETTERS as usize {
            replaced.push_str(text.get(copied..at).unwrap_or_default());
            replaced.push_str(&replace(text.get(at..end).unwrap_or_default()));
            copied = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    replaced.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(replaced)
}

/// Puts another text in place of each handle in the texts of a value. The keys of objects stay as they are.
pub fn replace_handles_in(value: &mut Value, replace: &mut impl FnMut(&str) -> String) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(replaced) = replace_handles(text, replace) {
                *text = replaced;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_handles_in(item, replace)),
        Value::Object(members) => members.values_mut().for_each(|member| replace_handles_in(member, replace)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{handle_of, is_handle, replace_handles, replace_handles_in};

    #[test]
    fn each_number_has_its_handle() {
        for number in [0, 7, u128::MAX] {
            assert!(is_handle(&handle_of(number)));
        }
        assert_ne!(handle_of(0), handle_of(u128::MAX));
        assert!(!is_handle("r_") && !is_handle(&format!("{}a", handle_of(1))));
    }

    #[test]
    fn handles_alone_are_replaced() {
        let handle = handle_of(u128::MAX);
        let text = format!("{handle}, {handle}a, \\n{handle}, r_ and \"{handle}\"");
        let replaced = replace_handles(&text, &mut |_| "H".to_owned());
        assert_eq!(replaced, format!("H, {handle}a, \\nH, r_ and \"H\""));
        let mut value = json!({"a": [handle, 1], "b": {"c": format!("kept as {handle}")}});
        replace_handles_in(&mut value, &mut |found| found.len().to_string());
        assert_eq!(value, json!({"a": ["28", 1], "b": {"c": "kept as 28"}}));
    }
}
