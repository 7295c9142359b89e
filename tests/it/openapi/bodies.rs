//! Reads the body of a request, by the media type that it came with, and compares it with the arguments.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::binding::BodyArguments;
use super::decode::{Coding, Pair, is_undefined, same, take};
use super::reader::{Body, Content, Field, Layout, essence, is_json};
use super::schema_check;
use super::server::Recorded;

/// The bodies that the arguments mean: a whole one, or the fields of one.
enum Meant<'a> {
    Whole(&'a Value),
    Fields(Map<String, Value>),
}

/// Whether the request has the body that was meant. An error has the class before the first colon.
pub(super) fn check(
    body: Option<&Body<'_>>,
    named: &BodyArguments,
    arguments: &Map<String, Value>,
    request: &Recorded,
) -> Result<(), String> {
    let meant = match named {
        BodyArguments::None => None,
        BodyArguments::Whole(argument) => arguments.get(argument).map(Meant::Whole),
        BodyArguments::Fields(fields) => {
            let given = |(argument, property): &(String, String)| {
                Some((property.clone(), arguments.get(argument)?.clone()))
            };
            let fields: Map<String, Value> = fields.iter().filter_map(given).collect();
            let is_needed = !fields.is_empty() || body.is_some_and(|body| body.required);
            is_needed.then_some(Meant::Fields(fields))
        }
    };
    let (Some(body), Some(meant)) = (body, meant) else {
        let is_empty = matches!(request.body.as_slice(), b"" | b"{}");
        return if is_empty {
            Ok(())
        } else {
            Err(format!("a body that nobody gave: {}", shown(&request.body)))
        };
    };
    let Some(media_type) = request.header("content-type") else {
        // A form without fields is no bytes at all.
        let is_empty =
            request.body.is_empty() && matches!(&meant, Meant::Fields(fields) if fields.is_empty());
        return if is_empty { Ok(()) } else { Err("a body without its media type: none".to_owned()) };
    };
    let content = body.contents.iter().find(|content| covers(&content.media_type, &media_type));
    let content = content.ok_or_else(|| {
        let listed: Vec<_> = body.contents.iter().map(|content| content.media_type.as_str()).collect();
        format!("a media type that the document does not list: {media_type} of {listed:?}")
    })?;
    let essence = essence(&media_type);
    let whole = match &meant {
        Meant::Whole(value) => (*value).clone(),
        Meant::Fields(fields) => fields.clone().into(),
    };
    let is_structured = is_json(&essence) || essence.contains("form");
    if let Some(why) =
        content.schema.filter(|_| is_structured).and_then(|schema| schema_check::problem(schema, &whole))
    {
        return Err(format!("body that the document refuses, {why}"));
    }
    match &meant {
        _ if is_json(&essence) => json(&request.body, &meant),
        _ if essence == "application/x-www-form-urlencoded" => form(body, content, &request.body, &meant),
        _ if essence.starts_with("multipart/") => {
            multipart(body, content, &request.body, &media_type, &meant)
        }
        Meant::Whole(Value::String(text)) => {
            let is_text = request.body == text.as_bytes();
            let is_bytes = STANDARD.decode(text).is_ok_and(|bytes| bytes == request.body);
            if is_text || is_bytes {
                Ok(())
            } else {
                Err(format!("{essence} body: {}", shown(&request.body)))
            }
        }
        _ => Err(format!("{essence} body that is no text: {}", shown(&request.body))),
    }
}

/// Whether a media type or range of the document is what was sent. For a range, what nobody knows may be sent as just
/// that.
fn covers(listed: &str, sent: &str) -> bool {
    let (listed, sent) = (essence(listed), essence(sent));
    match listed.strip_suffix('*') {
        Some("*/") => true,
        Some(kind) => sent.starts_with(kind) || sent == "application/octet-stream",
        None => listed == sent,
    }
}

fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().take(300).collect()
}

fn json(body: &[u8], meant: &Meant<'_>) -> Result<(), String> {
    let sent: Value = serde_json::from_slice(body).map_err(|_| format!("JSON body: {}", shown(body)))?;
    let is_same = match meant {
        Meant::Whole(value) => sent == **value,
        Meant::Fields(fields) => sent.as_object() == Some(fields),
    };
    if is_same { Ok(()) } else { Err(format!("JSON body: {}", shown(body))) }
}

/// The fields of a body that is one.
fn fields(meant: &Meant<'_>) -> Result<Map<String, Value>, String> {
    match meant {
        Meant::Fields(fields) => Ok(fields.clone()),
        Meant::Whole(Value::Object(map)) => Ok(map.clone()),
        Meant::Whole(other) => Err(format!("a form that is no object: {other}")),
    }
}

fn form(body: &Body<'_>, content: &Content<'_>, bytes: &[u8], meant: &Meant<'_>) -> Result<(), String> {
    let text = String::from_utf8(bytes.to_vec()).map_err(|_| "form body: no UTF-8".to_owned())?;
    let mut pairs: Vec<Pair> = text
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        // The names are compared percent-decoded.
        .map(|(name, value)| (name.replace('+', "%20"), value.to_owned()))
        .collect();
    for (name, value) in &fields(meant)? {
        let layout = body.field(content, name).layout;
        let problem =
            |why: String| format!("form field, {}, {}: {name}: {why}", as_said(layout), kind(value));
        match (layout, value) {
            (Some(layout), _) => take(&mut pairs, name, layout, Coding::Form, value).map_err(problem)?,
            (None, value) if is_undefined(value) => pairs.retain(|(sent, _)| sent != name),
            (None, value) => {
                let items = items(value);
                for item in items {
                    let index =
                        pairs.iter().position(|(sent, _)| super::decode::percent(sent).as_ref() == Ok(name));
                    let (_, text) =
                        index.map(|index| pairs.remove(index)).ok_or_else(|| problem("missing".into()))?;
                    let text = Coding::Form.decode(&text).map_err(problem)?;
                    if !same(&text, item) {
                        return Err(problem(format!("`{text}` is not {item}")));
                    }
                }
            }
        }
    }
    if pairs.is_empty() { Ok(()) } else { Err(format!("form fields that nobody gave: {pairs:?}")) }
}

fn as_said(layout: Option<Layout>) -> String {
    layout.map_or_else(|| "no style".to_owned(), |layout| layout.to_string())
}

/// The items of a list, or the value.
fn items(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().filter(|item| !item.is_null()).collect(),
        other => vec![other],
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Array(items) if items.iter().any(|item| item.is_array() || item.is_object()) => "nested array",
        Value::Array(_) => "array",
        Value::Object(map) if map.values().any(|item| item.is_array() || item.is_object()) => "nested object",
        Value::Object(_) => "object",
        Value::Null => "null",
        _ => "scalar",
    }
}

/// A part of a multipart body.
struct Part {
    name: String,
    media_type: Option<String>,
    bytes: Vec<u8>,
}

fn multipart(
    body: &Body<'_>,
    content: &Content<'_>,
    bytes: &[u8],
    media_type: &str,
    meant: &Meant<'_>,
) -> Result<(), String> {
    let mut parts = parts(bytes, media_type).map_err(|why| format!("multipart body: {why}"))?;
    for (name, value) in &fields(meant)? {
        let field = body.field(content, name);
        let problem =
            |why: String| format!("part, {}, {}: {name}: {why}", as_said(field.layout), kind(value));
        if let (Some(layout), false) = (field.layout, field.file) {
            // The styles of parts: a name and a value, with nothing encoded.
            let (mine, others): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| {
                let names = value.as_object().into_iter().flat_map(Map::keys);
                part.name == *name
                    || part.name.starts_with(&format!("{name}["))
                    || names.into_iter().any(|key| part.name == *key)
            });
            parts = others;
            let mut pairs: Vec<Pair> = mine
                .iter()
                .map(|part| {
                    (part.name.replace('%', "%25"), String::from_utf8_lossy(&part.bytes).into_owned())
                })
                .collect();
            take(&mut pairs, name, layout, Coding::Raw, value).map_err(problem)?;
            if !pairs.is_empty() {
                return Err(problem(format!("more than was given: {pairs:?}")));
            }
            continue;
        }
        for item in items(value).into_iter().filter(|item| !item.is_null()) {
            let index = parts.iter().position(|part| part.name == *name);
            let part = index.map(|index| parts.remove(index)).ok_or_else(|| problem("missing".into()))?;
            part_is(&part, item, &field).map_err(problem)?;
        }
    }
    match parts.first() {
        None => Ok(()),
        Some(part) => Err(format!("a part that nobody gave: {}", part.name)),
    }
}

fn part_is(part: &Part, item: &Value, field: &Field) -> Result<(), String> {
    if let (Some(listed), Some(sent)) = (&field.content_type, &part.media_type)
        && !listed.split(',').any(|listed| covers(listed.trim(), sent))
    {
        return Err(format!("is sent as {sent}, not as {listed}"));
    }
    if field.file {
        let text = item.as_str().or_else(|| item.get("base64")?.as_str()).unwrap_or_default();
        let is_same = STANDARD.decode(text).is_ok_and(|bytes| bytes == part.bytes);
        return if is_same { Ok(()) } else { Err(format!("{} bytes are not {item}", part.bytes.len())) };
    }
    let is_json_part = part.media_type.as_deref().is_some_and(is_json);
    if (item.is_object() || item.is_array()) && field.content_type.is_none() && !is_json_part {
        return Err(format!("is an object, and is sent as {:?}", part.media_type));
    }
    let is_same = if is_json_part {
        serde_json::from_slice::<Value>(&part.bytes).is_ok_and(|value| value == *item)
    } else {
        same(&String::from_utf8_lossy(&part.bytes), item)
    };
    if is_same { Ok(()) } else { Err(format!("`{}` is not {item}", shown(&part.bytes))) }
}

/// Takes a multipart body apart at its boundary.
fn parts(body: &[u8], media_type: &str) -> Result<Vec<Part>, String> {
    let boundary =
        media_type.split_once("boundary=").map(|(_, rest)| rest.split(';').next().unwrap_or_default());
    let boundary = boundary.ok_or("no boundary")?.trim().trim_matches('"');
    let delimiter = format!("--{boundary}");
    let mut rest = body.strip_prefix(delimiter.as_bytes()).ok_or("does not begin with its boundary")?;
    let delimiter = format!("\r\n--{boundary}");
    let mut out = Vec::new();
    loop {
        if rest.starts_with(b"--") {
            return Ok(out);
        }
        rest = rest.strip_prefix(b"\r\n").ok_or("no line ends at a boundary")?;
        let end = find(rest, delimiter.as_bytes()).ok_or("no boundary ends it")?;
        out.push(part(&rest[..end])?);
        rest = &rest[end + delimiter.len()..];
    }
}

fn part(text: &[u8]) -> Result<Part, String> {
    let end = find(text, b"\r\n\r\n").ok_or("a part without headers")?;
    let (head, bytes) = (&text[..end], &text[end + 4..]);
    let head = String::from_utf8(head.to_vec()).map_err(|_| "headers that are no UTF-8".to_owned())?;
    let header = |wanted: &str| {
        head.split("\r\n")
            .filter_map(|line| line.split_once(':'))
            .find_map(|(name, value)| name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned()))
    };
    let disposition = header("content-disposition").ok_or("a part without a disposition")?;
    let name =
        disposition.split_once(" name=\"").and_then(|(_, rest)| rest.split_once('"')).ok_or("no name")?.0;
    let name = name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n");
    Ok(Part { name, media_type: header("content-type"), bytes: bytes.to_vec() })
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}
