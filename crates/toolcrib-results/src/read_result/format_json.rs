//! Formatting of JSON in lines, without blanks.

/// The maximum size of a list or an object that is written on one line.
const MAX_LINE_BYTES: usize = 400;

/// Formats a JSON text: short values are on one line, and others have a line for each of their entries. There are no
/// blanks, which would cost tokens. Numbers and texts stay as they are written. Returns `None` if the output exceeds a
/// number of bytes. The text must be valid JSON.
pub(crate) fn readable(json: &str, max_bytes: usize) -> Option<String> {
    let mut out = String::with_capacity(json.len().saturating_add(json.len() / 16).min(max_bytes));
    let mut at = 0;
    while let Some(token) = token(json, at) {
        at = token.end;
        match token.text.as_bytes().first() {
            Some(b'{' | b'[') => {
                if let Some(end) = on_one_line(json, token.start) {
                    write_line(&mut out, json, token.start, end);
                    at = end;
                } else {
                    out.push_str(token.text);
                    out.push('\n');
                }
            }
            Some(b'}' | b']') => {
                out.push('\n');
                out.push_str(token.text);
            }
            Some(b',') => {
                out.push_str(",\n");
            }
            _ => out.push_str(token.text),
        }
        if out.len() > max_bytes {
            return None;
        }
    }
    Some(out)
}

/// Returns the end of the list or object that begins here, if it is short.
fn on_one_line(json: &str, start: usize) -> Option<usize> {
    let (mut at, mut level, mut size) = (start, 0_usize, 0);
    while let Some(token) = token(json, at) {
        at = token.end;
        size += token.text.len();
        if size > MAX_LINE_BYTES {
            return None;
        }
        match token.text.as_bytes().first() {
            Some(b'{' | b'[') => level += 1,
            Some(b'}' | b']') => level -= 1,
            Some(b',' | b':') => size += 1,
            _ => {}
        }
        if level == 0 {
            return Some(at);
        }
    }
    None
}

fn write_line(out: &mut String, json: &str, start: usize, end: usize) {
    let mut at = start;
    while at < end
        && let Some(token) = token(json, at)
    {
        at = token.end;
        out.push_str(token.text);
    }
}

struct Token<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

/// Returns the next bracket, separator, string or literal.
fn token(json: &str, at: usize) -> Option<Token<'_>> {
    let rest = json.get(at..)?;
    let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    let rest = rest.get(blank..)?;
    let length = match rest.as_bytes().first()? {
        b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
        b'"' => string_length(rest),
        _ => rest.find(['{', '}', '[', ']', ',', ':', ' ', '\t', '\n', '\r', '"']).unwrap_or(rest.len()),
    };
    let start = at + blank;
    Some(Token { text: rest.get(..length)?, start, end: start + length })
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}
