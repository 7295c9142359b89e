//! Reads the signature of a tool: `shop.price(item: str, to?: {city: str}, …+2 optional) — Returns the price.`

use crate::parameters::{Form, Parameter};

/// The mark of arguments that were left out.
const LEFT_OUT: char = '…';

/// A signature as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) form: Form,
    /// `true` if all arguments are shown, with their types.
    pub(crate) is_whole: bool,
}

/// Reads the signature at the beginning of a text.
pub(crate) fn read(text: &str) -> Option<Signature> {
    let (name, rest) = text.split_once('(')?;
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    let end = end(rest, &[')'])?;
    let (parameters, is_whole) = fields(rest.get(..end)?);
    Some(Signature { name: name.to_owned(), form: Form { parameters }, is_whole })
}

/// Reads fields between commas. The flag is `true` if all are there.
fn fields(text: &str) -> (Vec<Parameter>, bool) {
    let (mut parameters, mut is_whole, mut rest) = (Vec::new(), true, text.trim());
    while !rest.is_empty() {
        let end = end(rest, &[',']).unwrap_or(rest.len());
        let (item, behind) = rest.split_at(end);
        let item = item.trim();
        if item.starts_with(LEFT_OUT) || item.starts_with('+') {
            is_whole = false;
        } else if let Some((parameter, is_typed)) = field(item) {
            is_whole &= is_typed;
            parameters.push(parameter);
        }
        rest = behind.trim_start_matches(',').trim();
    }
    (parameters, is_whole)
}

/// Reads `name?: type = default`. The flag is `true` if the type is there.
fn field(text: &str) -> Option<(Parameter, bool)> {
    let (name, kind) = match end(text, &[':']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.trim()),
        None => (text, ""),
    };
    let name = name.trim();
    let is_required = !name.ends_with('?');
    let name = name.trim_end_matches('?').trim_matches(['\'', '"']);
    let mut parameter =
        Parameter { name: name.to_owned(), is_required, kind: kind.to_owned(), ..Parameter::default() };
    if let Some(inside) = kind.strip_prefix('{') {
        let inside = end(inside, &['}']).and_then(|at| inside.get(..at)).unwrap_or(inside);
        let (members, _) = fields(inside);
        parameter.members = members;
    } else if !kind.starts_with("str(") {
        parameter.choices = choices(kind);
    }
    (!parameter.name.is_empty()).then_some((parameter, !kind.is_empty()))
}

/// Returns the texts in quotes among the alternatives of a type.
fn choices(kind: &str) -> Vec<String> {
    let kind = end(kind, &['=']).and_then(|at| kind.get(..at)).unwrap_or(kind);
    let quoted = kind.split('|').filter_map(|part| {
        let part = part.trim();
        let quote = part.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
        part.strip_prefix(quote)?.strip_suffix(quote)
    });
    quoted.map(str::to_owned).collect()
}

/// Returns the first position of a mark outside of brackets, quotes and patterns.
fn end(text: &str, marks: &[char]) -> Option<usize> {
    let (mut depth, mut at) = (0_u32, 0);
    while let Some(letter) = text.get(at..)?.chars().next() {
        if depth == 0 && marks.contains(&letter) {
            return Some(at);
        }
        let rest = text.get(at + letter.len_utf8()..)?;
        let skipped = match letter {
            '\'' | '"' => rest.find(letter).map(|end| end + 1),
            // A pattern ends with the parenthesis that it began with.
            '(' if rest.starts_with('/') => rest.find("/)").map(|end| end + 2),
            '(' | '{' | '[' => {
                depth += 1;
                None
            }
            ')' | '}' | ']' => {
                depth = depth.saturating_sub(1);
                None
            }
            _ => None,
        };
        at += letter.len_utf8() + skipped.unwrap_or(0);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_with_brackets_quotes_and_patterns_are_read_to_their_end() {
        let text = "v.Create(Sid: str(/^VA[0-9]{2,}$/), when?: 'a, b'|'c' = 'c', body?: {To: str, Tags?: str[]}) — Makes (it).";
        let signature = read(text).unwrap();
        assert_eq!((signature.name.as_str(), signature.is_whole), ("v.Create", true));
        let [sid, when, body] = signature.form.parameters.as_slice() else { panic!("{signature:?}") };
        assert_eq!((sid.name.as_str(), sid.is_required, sid.choices.len()), ("Sid", true, 0));
        assert_eq!(
            (when.is_required, when.choices.as_slice()),
            (false, &["a, b".to_owned(), "c".to_owned()][..])
        );
        let members: Vec<_> =
            body.members.iter().map(|member| (member.name.as_str(), member.is_required)).collect();
        assert_eq!(members, [("To", true), ("Tags", false)]);
    }

    #[test]
    fn names_alone_and_what_was_left_out_are_not_whole() {
        assert!(read("a.b()").unwrap().is_whole);
        for text in ["a.b(id, name) — x", "a.b(id: int, …+1 required, +2 optional)"] {
            assert!(!read(text).unwrap().is_whole, "{text}");
        }
        assert_eq!(read("a sentence (with parentheses)"), None);
    }
}
