//! Takes the texts of a request apart, by style and `explode`, and compares them with the values that were meant.

use serde_json::Value;

use super::reader::{Layout, Style};

/// How characters stand for themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// In a URL or a cookie: all that is not unreserved is encoded; what is reserved may stay where that is allowed.
    Url { reserved: bool },
    /// In an urlencoded body: a plus is a space.
    Form,
    /// In headers and parts: all characters are themselves.
    Raw,
}

/// A name and a value as they stand between the separators.
pub(super) type Pair = (String, String);

impl Coding {
    pub(super) fn decode(self, text: &str) -> Result<String, String> {
        match self {
            Self::Raw => Ok(text.to_owned()),
            Self::Form => percent(&text.replace('+', " ")),
            Self::Url { reserved } => {
                // These have a meaning of their own in any query.
                let may_stay = |c: char| reserved && "!$'()*,;:@/?".contains(c);
                let plain = |c: char| c.is_ascii_alphanumeric() || "-._~%".contains(c) || may_stay(c);
                match text.chars().find(|c| !plain(*c)) {
                    Some(c) => Err(format!("`{c}` is not encoded in `{text}`")),
                    None => percent(text),
                }
            }
        }
    }
}

/// Undoes percent-encoding.
pub(super) fn percent(text: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let number = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (Some(byte), Some(rest)) = (number, part.get(2..)) else {
            return Err(format!("`{text}` has a `%` without two digits"));
        };
        bytes.push(byte);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).map_err(|_| format!("`{text}` is not UTF-8"))
}

/// Whether a decoded text is the value.
pub(super) fn same(sent: &str, meant: &Value) -> bool {
    match meant {
        Value::String(text) => sent == text,
        Value::Bool(flag) => sent == flag.to_string(),
        Value::Null => sent.is_empty() || sent == "null",
        Value::Number(number) => {
            serde_json::from_str::<Value>(sent).is_ok_and(|value| value.as_f64() == number.as_f64())
        }
        Value::Array(_) | Value::Object(_) => {
            serde_json::from_str::<Value>(sent).is_ok_and(|value| value == *meant)
        }
    }
}

/// Whether a value has no text: RFC 6570 leaves it out.
pub(super) fn is_undefined(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().all(Value::is_null),
        Value::Object(map) => map.values().all(Value::is_null),
        _ => false,
    }
}

/// Whether a text without a name, as in a path or a header, is the value.
pub(super) fn slot(
    name: &str,
    text: &str,
    layout: Layout,
    coding: Coding,
    meant: &Value,
) -> Result<(), String> {
    let Layout::Styled { style, explode, .. } = layout else {
        return content(&coding.decode(text)?, layout, meant);
    };
    match style {
        Style::Label => {
            let text = text.strip_prefix('.').ok_or_else(|| format!("`{text}` does not begin with a dot"))?;
            // Editions before 3.0.4 show dots where they name RFC 6570, which has commas.
            let separators: &[&str] = if explode { &["."] } else { &[",", "."] };
            joined(text, separators, explode, coding, meant)
        }
        // The editions show the name alone for what RFC 6570 leaves out.
        Style::Matrix if is_undefined(meant) && is_named(text.trim_start_matches(';'), name) => Ok(()),
        Style::Matrix => matrix(name, text, explode, coding, meant),
        Style::Space => joined(text, &[" ", "%20"], explode, coding, meant),
        Style::Tab => joined(text, &["\t", "%09"], explode, coding, meant),
        Style::Pipe => joined(text, &["%7C", "|"], explode, coding, meant),
        _ => joined(text, &[","], explode, coding, meant),
    }
}

/// As `content` says it.
fn content(text: &str, layout: Layout, meant: &Value) -> Result<(), String> {
    let is_same = match layout {
        Layout::Json => serde_json::from_str::<Value>(text).is_ok_and(|value| value == *meant),
        _ => same(text, meant),
    };
    if is_same { Ok(()) } else { Err(format!("`{text}` is not {meant}")) }
}

/// A value whose members stand between separators.
fn joined(
    text: &str,
    separators: &[&str],
    explode: bool,
    coding: Coding,
    meant: &Value,
) -> Result<(), String> {
    match meant {
        Value::Array(items) => members(text, separators, coding, &items.iter().collect::<Vec<_>>()),
        Value::Object(map) if explode => {
            let defined: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            let fits = |separator: &&str| {
                let parts: Vec<_> = text.split(*separator).collect();
                parts.len() == defined.len()
                    && parts.iter().zip(&defined).all(|(part, (key, value))| {
                        part.split_once('=').is_some_and(|(name, text)| {
                            coding.decode(name).is_ok_and(|name| name == **key)
                                && coding.decode(text).is_ok_and(|text| same(&text, value))
                        })
                    })
            };
            let texts: Vec<String> =
                defined.iter().map(|(key, value)| format!("{key}={}", plainly(value))).collect();
            if separators.iter().any(fits) || is_blurred(text, separators, coding, &texts) {
                Ok(())
            } else {
                Err(format!("`{text}` is not {meant}"))
            }
        }
        Value::Object(map) => {
            let keys: Vec<Value> = map.keys().map(|key| Value::from(key.as_str())).collect();
            let defined = keys.iter().zip(map.values()).filter(|(_, value)| !value.is_null());
            members(
                text,
                separators,
                coding,
                &defined.flat_map(|(key, value)| [key, value]).collect::<Vec<_>>(),
            )
        }
        scalar => {
            let text = coding.decode(text)?;
            if same(&text, scalar) { Ok(()) } else { Err(format!("`{text}` is not {scalar}")) }
        }
    }
}

fn members(text: &str, separators: &[&str], coding: Coding, meant: &[&Value]) -> Result<(), String> {
    let defined: Vec<&Value> = meant.iter().copied().filter(|value| !value.is_null()).collect();
    let mut problem = format!("`{text}` is not the members {meant:?}");
    for separator in separators {
        for wanted in [&defined[..], meant] {
            let parts: Vec<_> = text.split(separator).collect();
            let decoded: Result<Vec<_>, _> = parts.iter().map(|part| coding.decode(part)).collect();
            match decoded {
                Ok(parts) if parts.len() == wanted.len() => {
                    if parts.iter().zip(wanted).all(|(part, value)| same(part, value)) {
                        return Ok(());
                    }
                }
                Ok(_) => {}
                Err(why) => problem = why,
            }
        }
    }
    let texts: Vec<String> = defined.iter().map(|value| plainly(value)).collect();
    if is_blurred(text, separators, coding, &texts) { Ok(()) } else { Err(problem) }
}

/// Whether it is the text that the specification wants, although a member holds the separator: where that is encoded, or
/// needs no encoding, it cannot be told from the same character in a member.
fn is_blurred(text: &str, separators: &[&str], coding: Coding, members: &[String]) -> bool {
    let is_text = |text: &str, meant: &str| match coding {
        Coding::Raw => text == meant,
        _ => percent(text).is_ok_and(|text| text == meant),
    };
    separators.iter().any(|separator| {
        let is_plain = separator.len() > 1 || *separator == "." || coding == Coding::Raw;
        percent(separator).is_ok_and(|plain| {
            is_plain
                && members.iter().any(|member| member.contains(&plain))
                && is_text(text, &members.join(&plain))
        })
    })
}

/// The text of a value.
pub(super) fn plainly(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn matrix(name: &str, text: &str, explode: bool, coding: Coding, meant: &Value) -> Result<(), String> {
    let text = text.strip_prefix(';').ok_or_else(|| format!("`{text}` does not begin with a semicolon"))?;
    let mut pairs: Vec<Pair> = text
        .split(';')
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    take(&mut pairs, name, Layout::Styled { style: Style::Form, explode, reserved: false }, coding, meant)?;
    if pairs.is_empty() { Ok(()) } else { Err(format!("`{text}` has more than {meant}")) }
}

/// Takes the pairs of a value out of a query, a cookie or a form.
pub(super) fn take(
    pairs: &mut Vec<Pair>,
    name: &str,
    layout: Layout,
    coding: Coding,
    meant: &Value,
) -> Result<(), String> {
    let Layout::Styled { style, explode, .. } = layout else {
        return content(&coding.decode(&only(pairs, name, coding)?)?, layout, meant);
    };
    match (style, meant) {
        // Nothing, or the name alone, as the tables of the specification show it.
        _ if is_undefined(meant)
            && pairs.iter().all(|(sent, text)| text.is_empty() || !is_named(sent, name)) =>
        {
            pairs.retain(|(sent, _)| !is_named(sent, name));
            Ok(())
        }
        (Style::Deep, Value::Object(_)) => deep(pairs, name, coding, meant),
        (_, Value::Array(items)) if explode || style == Style::Deep => repeated(pairs, name, coding, items),
        (_, Value::Object(map)) if explode => {
            for (key, value) in map.iter().filter(|(_, value)| !is_undefined(value)) {
                let is_one = pairs.iter().filter(|(sent, _)| is_named(sent, key)).count() == 1;
                match value {
                    Value::Array(items) if !is_one || items.len() == 1 => {
                        repeated(pairs, key, coding, items)?;
                    }
                    _ => joined(&only(pairs, key, coding)?, &[","], false, coding, value)?,
                }
            }
            Ok(())
        }
        (_, scalar) if !scalar.is_array() && !scalar.is_object() => {
            joined(&only(pairs, name, coding)?, &[], false, coding, scalar)
        }
        _ => slot(name, &only(pairs, name, coding)?, without_explode(layout), coding, meant),
    }
}

fn without_explode(layout: Layout) -> Layout {
    match layout {
        Layout::Styled { style, reserved, .. } => Layout::Styled { style, explode: false, reserved },
        other => other,
    }
}

/// `name[key]=value`, and for what lies deeper, which no edition defines, the usual ways.
fn deep(pairs: &mut Vec<Pair>, name: &str, coding: Coding, meant: &Value) -> Result<(), String> {
    for (key, value) in meant.as_object().into_iter().flatten().filter(|(_, value)| !is_undefined(value)) {
        let inner = format!("{name}[{key}]");
        let is_there = pairs.iter().any(|(sent, _)| is_named(sent, &inner));
        match value {
            Value::Object(_) if !is_there => deep(pairs, &inner, coding, value)?,
            Value::Array(items) if is_there => repeated(pairs, &inner, coding, items)?,
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let numbered = format!("{inner}[{index}]");
                    let is_numbered = pairs.iter().any(|(sent, _)| is_named(sent, &numbered));
                    let key = if is_numbered { numbered } else { format!("{inner}[]") };
                    joined(&first(pairs, &key)?, &[], false, coding, item)?;
                }
            }
            _ => joined(&only(pairs, &inner, coding)?, &[","], false, coding, value)?,
        }
    }
    Ok(())
}

fn repeated(pairs: &mut Vec<Pair>, name: &str, coding: Coding, items: &[Value]) -> Result<(), String> {
    let (mine, others): (Vec<Pair>, Vec<Pair>) = pairs.drain(..).partition(|(sent, _)| is_named(sent, name));
    *pairs = others;
    let sent: Vec<String> = mine.iter().map(|(_, text)| coding.decode(text)).collect::<Result<_, _>>()?;
    let defined: Vec<&Value> = items.iter().filter(|value| !value.is_null()).collect();
    let all: Vec<&Value> = items.iter().collect();
    let fits = |wanted: &[&Value]| {
        sent.len() == wanted.len() && sent.iter().zip(wanted).all(|(sent, value)| same(sent, value))
    };
    if fits(&defined) || fits(&all) { Ok(()) } else { Err(format!("{sent:?} are not {all:?}")) }
}

fn is_named(sent: &str, name: &str) -> bool {
    percent(sent).is_ok_and(|sent| sent == name)
}

fn first(pairs: &mut Vec<Pair>, name: &str) -> Result<String, String> {
    match pairs.iter().position(|(sent, _)| is_named(sent, name)) {
        Some(index) => Ok(pairs.remove(index).1),
        None => Err(format!("`{name}` is missing")),
    }
}

/// The value of the one pair with a name.
fn only(pairs: &mut Vec<Pair>, name: &str, coding: Coding) -> Result<String, String> {
    let index = pairs.iter().position(|(sent, _)| is_named(sent, name));
    let (sent, value) =
        index.map(|index| pairs.remove(index)).ok_or_else(|| format!("`{name}` is missing"))?;
    if let Coding::Url { .. } = coding {
        Coding::Url { reserved: false }.decode(&sent)?;
    }
    if pairs.iter().any(|(sent, _)| is_named(sent, name)) {
        return Err(format!("`{name}` is there more than once"));
    }
    Ok(value)
}
