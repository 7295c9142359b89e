//! A tolerant scanner for JSON text that a strict parser rejects. It finds the members of an object and the elements of
//! an array.
//!
//! The scanner only follows quotes and brackets, in one pass and without recursion. It returns values verbatim, so that
//! each can be parsed separately.

/// A position in JSON text.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn new(text: &'a [u8]) -> Self {
        let mut cursor = Self { rest: text };
        cursor.skip_space();
        cursor
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Skips this byte, and the space after it, if it is the next one.
    fn step_over(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                self.skip_space();
                true
            }
            _ => false,
        }
    }

    /// Takes this many bytes, and skips the space after them.
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        self.skip_space();
        Some(taken)
    }

    /// Takes the value at this position; `None` if the value is missing or has no end.
    fn value(&mut self) -> Option<&'a [u8]> {
        let length = match self.rest.first()? {
            b'"' => string_length(self.rest)?,
            b'{' | b'[' => nested_length(self.rest)?,
            b',' | b':' | b'}' | b']' => return None,
            _ => {
                let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                self.rest.iter().position(is_end).unwrap_or(self.rest.len())
            }
        };
        self.take(length)
    }
}

/// Returns the length of the string at the start of the text, including its quotes.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Returns the length of the object or array at the start of the text.
fn nested_length(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0_usize, 0_usize);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at += string_length(text.get(at..)?)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the members of the object at the start of the text, up to the first syntax error.
pub(crate) fn members(text: &[u8]) -> Vec<(String, &[u8])> {
    let mut cursor = Cursor::new(text);
    let mut members = Vec::new();
    if !cursor.step_over(b'{') {
        return members;
    }
    while let Some(key) = cursor.value() {
        if !cursor.step_over(b':') {
            break;
        }
        let Some(value) = cursor.value() else { break };
        // Callers search for valid names only.
        if let Ok(key) = serde_json::from_slice(key) {
            members.push((key, value));
        }
        if !cursor.step_over(b',') {
            break;
        }
    }
    members
}

/// Returns the elements of the array in the text; `None` if the text is not an array, or has no end.
pub(crate) fn elements(text: &[u8]) -> Option<Vec<&[u8]>> {
    let mut cursor = Cursor::new(text);
    let mut elements = Vec::new();
    if !cursor.step_over(b'[') {
        return None;
    }
    if cursor.step_over(b']') {
        return Some(elements);
    }
    loop {
        elements.push(cursor.value()?);
        if cursor.step_over(b']') {
            return Some(elements);
        }
        if !cursor.step_over(b',') {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{elements, members};

    fn keys(text: &str) -> Vec<(String, String)> {
        let text_of = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        members(text.as_bytes()).into_iter().map(|(key, value)| (key, text_of(value))).collect()
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn members_are_found_around_values_that_no_parser_reads() {
        let text = r#" {"a": NaN, "b":"\ud83d}\"{", "c" : [{"id":1},[]] , "id":7} "#;
        let found = keys(text);
        let expected =
            [pair("a", "NaN"), pair("b", r#""\ud83d}\"{""#), pair("c", r#"[{"id":1},[]]"#), pair("id", "7")];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_members_before_a_break_are_found() {
        assert_eq!(keys(r#"{"id":7,"result":{"x":["#), [pair("id", "7")]);
        assert_eq!(keys(r#"{"id" 7}"#), []);
        assert_eq!(keys("listening on stdio"), []);
        assert_eq!(keys("{"), []);
        assert_eq!(keys("{}"), []);
        assert_eq!(keys(""), []);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!(r#"{{"x":{}{},"id":7}}"#, "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(keys(&deep).last(), Some(&pair("id", "7")));
    }

    #[test]
    fn elements_are_found_one_by_one() {
        let found = elements(br#"[{"a":"]"}, NaN ,"x"]"#).unwrap();
        assert_eq!(found, [&br#"{"a":"]"}"#[..], b"NaN", br#""x""#]);
        assert_eq!(elements(b"[]"), Some(vec![]));
        assert_eq!(elements(b"[1"), None);
        assert_eq!(elements(b"{}"), None);
    }
}
