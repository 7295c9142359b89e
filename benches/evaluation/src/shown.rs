//! Readers of the answers of `search_tools` and `get_tool`, in each form that these have had.
//!
//! A new form is one function among `SEARCHES` or `LOOKS`; the first that can read an answer counts.

use serde_json::Value;

use crate::parameters::{Form, Parameter};
use crate::signature;

/// A tool that a search shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hit {
    pub(crate) name: String,
    /// All that is shown of it.
    pub(crate) text: String,
    /// The forms whose arguments are shown; none where only the name is, or a part of the arguments.
    pub(crate) forms: Vec<Form>,
}

/// The answer of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// `true` if the answer says that nothing fits well.
    pub(crate) is_weak: bool,
    pub(crate) hits: Vec<Hit>,
}

type ReadSearch = fn(&Value) -> Option<Vec<Hit>>;
type ReadLook = fn(&Value) -> Option<Vec<Form>>;

const SEARCHES: [ReadSearch; 2] = [signatures, cards];
const LOOKS: [ReadLook; 2] = [forms_of_card, form_of_signature];

/// Reads the answer of `search_tools`.
pub(crate) fn search(text: &str) -> Found {
    let value = leading_json(text).unwrap_or_default();
    let is_weak = value.get("outcome").and_then(Value::as_str).is_some_and(|outcome| outcome != "ok");
    let hits = value.get("results").and_then(|results| SEARCHES.iter().find_map(|read| read(results)));
    Found { is_weak, hits: hits.unwrap_or_default() }
}

/// Reads the answer of `get_tool`.
pub(crate) fn look(text: &str) -> Vec<Form> {
    let Some(value) = leading_json(text) else { return Vec::new() };
    // An answer that was too large is a preview of itself.
    let value = value.get("preview").unwrap_or(&value);
    LOOKS.iter().find_map(|read| read(value)).unwrap_or_default()
}

/// Returns the JSON at the beginning of a text; any text may follow.
pub(crate) fn leading_json(text: &str) -> Option<Value> {
    serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok()
}

/// Reads a list of signatures: `shop.price(item: str, currency?: 'EUR'|'USD') — Returns the price.`
fn signatures(results: &Value) -> Option<Vec<Hit>> {
    let hits = results.as_array()?.iter().map(|line| {
        let text = line.as_str()?;
        let signature = signature::read(text)?;
        let forms = if signature.is_whole { vec![signature.form] } else { Vec::new() };
        Some(Hit { name: signature.name, text: text.to_owned(), forms })
    });
    hits.collect()
}

/// Reads a list of objects: `arguments` are described where there was room for them, else there is an example of a
/// call.
fn cards(results: &Value) -> Option<Vec<Hit>> {
    let hits = results.as_array()?.iter().map(|card| {
        let name = card.get("name")?.as_str()?.to_owned();
        let described = card.get("arguments").and_then(Value::as_array);
        let example = card.pointer("/example_call/params").and_then(Value::as_object);
        let form = match (described, example) {
            (Some(lines), _) => lines.iter().map(|line| described_argument(line.as_str()?)).collect(),
            (None, Some(example)) => {
                Some(example.iter().map(|(name, value)| example_argument(name, value)).collect())
            }
            (None, None) => None,
        };
        let forms = form.map(|parameters| Form { parameters }).into_iter().collect();
        Some(Hit { name, text: card.to_string(), forms })
    });
    hits.collect()
}

/// Reads `status ("open" | "paid" | null, optional): Only orders of this status.`
fn described_argument(line: &str) -> Option<Parameter> {
    let (name, rest) = line.split_once(" (")?;
    let end = closing(rest)?;
    let kind = rest.get(..end)?;
    let is_required = !kind.ends_with(", optional");
    let choices = kind.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    let kind = kind.trim_end_matches(", optional").to_owned();
    Some(Parameter { name: name.to_owned(), is_required, kind, choices, members: Vec::new() })
}

/// Returns the place of the parenthesis that closes, outside of quotes.
fn closing(text: &str) -> Option<usize> {
    let (mut is_quoted, mut depth) = (false, 0_u32);
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted && depth == 0 => return Some(at),
            ')' if !is_quoted => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Reads an argument of an example; each one counts as required.
fn example_argument(name: &str, value: &Value) -> Parameter {
    let kind = match value {
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        _ => "",
    };
    let below = value.as_object().into_iter().flatten();
    let members = below.map(|(name, value)| example_argument(name, value)).collect();
    Parameter {
        name: name.to_owned(),
        is_required: true,
        kind: kind.to_owned(),
        members,
        ..Parameter::default()
    }
}

/// Reads the schemas of a tool: one under `parameters`, or one for each of its `forms`.
fn forms_of_card(card: &Value) -> Option<Vec<Form>> {
    let forms = match card.get("forms").and_then(Value::as_array) {
        Some(forms) => forms.iter().collect(),
        None => vec![card],
    };
    let read = forms.into_iter().filter_map(|form| {
        let schema = form.get("parameters").or_else(|| form.get("inputSchema"))?;
        schema.is_object().then(|| Form::of_schema(schema))
    });
    let forms: Vec<Form> = read.collect();
    (!forms.is_empty()).then_some(forms)
}

/// Reads signatures in place of schemas.
fn form_of_signature(card: &Value) -> Option<Vec<Form>> {
    let lines = match card {
        Value::String(_) => vec![card],
        _ => match (card.get("signatures").and_then(Value::as_array), card.get("signature")) {
            (Some(lines), _) => lines.iter().collect(),
            (None, line) => vec![line?],
        },
    };
    lines.into_iter().map(|line| Some(signature::read(line.as_str()?)?.form)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(form: &Form) -> Vec<(&str, bool)> {
        form.parameters.iter().map(|parameter| (parameter.name.as_str(), parameter.is_required)).collect()
    }

    #[test]
    fn cards_tell_arguments_or_only_an_example() {
        let text = r#"{"outcome":"ok","results":[
            {"name":"shop.list","arguments":["id (integer): The number.","status (\"open\" | \"(odd)\" | null, optional): x"]},
            {"name":"chat.post","example_call":{"name":"chat.post","params":{"channel":"text"}}},
            {"name":"bare","description":"Does it."}]}"#;
        let found = search(text);
        assert!(!found.is_weak);
        let [list, post, bare] = found.hits.as_slice() else { panic!("{found:?}") };
        assert_eq!(shape(&list.forms[0]), [("id", true), ("status", false)]);
        assert_eq!(list.forms[0].parameters[1].choices, ["open", "(odd)"]);
        assert_eq!(shape(&post.forms[0]), [("channel", true)]);
        assert!(bare.forms.is_empty());
    }

    #[test]
    fn signatures_tell_arguments_unless_some_are_left_out() {
        let found = search(
            r#"{"outcome":"weak","results":["a.b(id: int, all?: bool) — Does it.","a.c(id: int, …+2 optional) — Too."]}"#,
        );
        assert!(found.is_weak);
        let [whole, part] = found.hits.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (whole.name.as_str(), shape(&whole.forms[0])),
            ("a.b", vec![("id", true), ("all", false)])
        );
        assert_eq!((part.name.as_str(), part.forms.len()), ("a.c", 0));
    }

    #[test]
    fn a_look_has_a_schema_or_one_for_each_form() {
        let one = r#"{"name":"a","parameters":{"properties":{"x":{"type":"string"}}}}"#;
        assert_eq!(look(one).len(), 1);
        let two = r#"{"forms":[{"parameters":{"properties":{}}},{"parameters":{"properties":{}}}]}"#;
        assert_eq!(look(two).len(), 2);
        assert_eq!(shape(&look(r#"{"preview":{"signature":"a.b(x: str)"}}"#)[0]), [("x", true)]);
        assert!(look("nothing").is_empty());
    }
}
