//! Values that several sections hold.

use serde::{Deserialize, Deserializer, de};
use toolcrib_document::nearest;

/// The longest name of a channel or an app, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Returns a key that is there has a value: `access:` with nothing behind it is a mistake, not no limit.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The largest amount of money that is taken for one.
const MAX_AMOUNT: f64 = 1e9;

/// Returns an amount of money.
pub(crate) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let amount = f64::deserialize(deserializer)?;
    if (0.0..=MAX_AMOUNT).contains(&amount) {
        return Ok(amount);
    }
    Err(de::Error::custom(format_args!("must be a number from 0 to {MAX_AMOUNT}, not {amount}")))
}

/// Returns an amount of money that is there.
pub(crate) fn some_amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    amount(deserializer).map(Some)
}

/// Returns the message of a name that is not known, with the nearest one that is.
pub(crate) fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    match nearest(given, known.iter().copied()) {
        Some(nearest) => format!("unknown {what} `{given}`, did you mean `{nearest}`?"),
        None if known.is_empty() => format!("unknown {what} `{given}`; none is defined"),
        None => format!("unknown {what} `{given}`; there is: {}", known.join(", ")),
    }
}

/// Refuses what is no name for a channel or an app: models say it.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), String> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if is_plain && (1..=MAX_NAME_CHARS).contains(&name.len()) {
        return Ok(());
    }
    Err(format!("`{name}` is no name for {what}: letters, digits, `-` and `_`, {MAX_NAME_CHARS} at most"))
}

/// Returns true if a pattern is a literal name.
pub(crate) fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', '{'])
}
