//! Resolution of plain YAML scalars by the 1.2 core schema (YAML 1.2.2, section 10.3.2).

use serde_json::{Number, Value};

/// Returns the value of a plain scalar; `None` when it is a number that JSON cannot hold.
pub(crate) fn resolve(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
        "true" | "True" | "TRUE" => return Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Value::Bool(false)),
        ".nan" | ".NaN" | ".NAN" => return None,
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return None;
    }
    if let Some(digits) = text.strip_prefix("0o").filter(|digits| !digits.starts_with(['+', '-'])) {
        return Some(u64::from_str_radix(digits, 8).map_or_else(|_| text.into(), Value::from));
    }
    if let Some(digits) = text.strip_prefix("0x").filter(|digits| !digits.starts_with(['+', '-'])) {
        return Some(u64::from_str_radix(digits, 16).map_or_else(|_| text.into(), Value::from));
    }
    if is_integer(unsigned) {
        let digits = text.strip_prefix('+').unwrap_or(text);
        if let Ok(number) = digits.parse::<i64>() {
            return Some(number.into());
        }
        if let Ok(number) = digits.parse::<u64>() {
            return Some(number.into());
        }
        return float(text);
    }
    if is_float(unsigned) { float(text) } else { Some(text.into()) }
}

/// The digits of a plain scalar that is a decimal integer, without sign or zeros before them where they say nothing.
pub(crate) fn integer(text: &str) -> Option<String> {
    let (sign, unsigned) = match text.split_at_checked(1) {
        Some(("-", rest)) => ("-", rest),
        Some(("+", rest)) => ("", rest),
        _ => ("", text),
    };
    let digits = unsigned.trim_start_matches('0');
    (is_integer(unsigned) && !digits.is_empty()).then(|| format!("{sign}{digits}"))
}

fn float(text: &str) -> Option<Value> {
    text.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number)
}

fn is_integer(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(is_integer)
}
