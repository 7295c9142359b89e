//! The parameters of a tool that an answer shows, and arguments that are made from the knowledge of an agent.

use serde_json::{Map, Value, json};

/// The depth to which a schema is read.
const MAX_DEPTH: usize = 4;

/// One form of a tool: a tool with overloads has several.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Form {
    pub(crate) parameters: Vec<Parameter>,
}

/// A parameter, with those below it where it is an object that is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) is_required: bool,
    /// The type as it is shown: `string`, `str`, `integer`, …
    pub(crate) kind: String,
    pub(crate) choices: Vec<String>,
    pub(crate) members: Vec<Parameter>,
}

/// The knowledge of an agent: values by the names under which a tool may want them. `a|b` are two names of one
/// value; one that ends with `?` is passed only where it is required.
pub(crate) type Knowledge = Map<String, Value>;

impl Form {
    /// Reads a JSON Schema.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        Self { parameters: members(schema, schema, 0) }
    }

    /// Returns the arguments that the knowledge makes, where all of it has a place and nothing that is required is
    /// absent.
    pub(crate) fn fit(&self, knowledge: &Knowledge) -> Option<Value> {
        let mut arguments = Map::new();
        let mut placed = Vec::new();
        for (key, value) in knowledge {
            let is_optional = key.ends_with('?');
            let path = key.trim_end_matches('?').split('|').find_map(|name| find(&self.parameters, name));
            match path {
                Some(path) => {
                    let is_wanted = !is_optional || path.iter().all(|parameter| parameter.is_required);
                    if is_wanted {
                        put(&mut arguments, &path, value);
                        placed.push(path.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>());
                    }
                }
                None if is_optional => {}
                None => return None,
            }
        }
        let is_there = |path: &[&str]| placed.iter().any(|known| known.starts_with(path));
        required(&self.parameters, &mut Vec::new(), &is_there).then_some(Value::Object(arguments))
    }
}

/// Returns `true` if all required parameters are there; those of an object only if the object is there.
fn required<'a>(
    parameters: &'a [Parameter],
    path: &mut Vec<&'a str>,
    is_there: &dyn Fn(&[&str]) -> bool,
) -> bool {
    parameters.iter().all(|parameter| {
        path.push(&parameter.name);
        let is_present = is_there(path);
        let fits = match (is_present, parameter.members.is_empty()) {
            (false, _) => !parameter.is_required,
            (true, true) => true,
            // A value that was given whole brings its members along.
            (true, false) => {
                let has_members = parameter.members.iter().any(|member| {
                    path.push(&member.name);
                    let is_member = is_there(path);
                    path.pop();
                    is_member
                });
                !has_members || required(&parameter.members, path, is_there)
            }
        };
        path.pop();
        fits
    })
}

/// Returns the path to the parameter of this name; a parameter at the top is preferred to a nested one.
fn find<'a>(parameters: &'a [Parameter], name: &str) -> Option<Vec<&'a Parameter>> {
    if let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) {
        return Some(vec![parameter]);
    }
    parameters.iter().find_map(|parameter| {
        let mut path = vec![parameter];
        path.extend(find(&parameter.members, name)?);
        Some(path)
    })
}

fn put(arguments: &mut Map<String, Value>, path: &[&Parameter], value: &Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        arguments.insert(first.name.clone(), first.spelled(value));
        return;
    }
    let below = arguments.entry(first.name.clone()).or_insert_with(|| json!({}));
    if let Value::Object(below) = below {
        put(below, rest, value);
    }
}

impl Parameter {
    /// Writes a value as the parameter says: a text where it takes texts, one of its choices, a list where it takes
    /// lists.
    fn spelled(&self, value: &Value) -> Value {
        if let Some(text) = value.as_str() {
            let choice = self.choices.iter().find(|choice| choice.eq_ignore_ascii_case(text));
            if let Some(choice) = choice {
                return json!(choice);
            }
        }
        let is_text = self.kind.starts_with("str");
        let is_list = self.kind.starts_with("array") || self.kind.starts_with('[');
        match value {
            Value::Number(number) if is_text => json!(number.to_string()),
            Value::Array(_) | Value::Object(_) => value.clone(),
            _ if is_list => json!([value]),
            _ => value.clone(),
        }
    }
}

fn members(schema: &Value, root: &Value, depth: usize) -> Vec<Parameter> {
    let schema = resolved(schema, root);
    if depth >= MAX_DEPTH {
        return Vec::new();
    }
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let mut parameters = Vec::new();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let property = resolved(property, root);
        parameters.push(Parameter {
            name: name.clone(),
            is_required: required.contains(&name.as_str()),
            kind: kind(property),
            choices: choices(property),
            members: members(property, root, depth + 1),
        });
    }
    for part in ["allOf", "anyOf", "oneOf"] {
        for choice in schema.get(part).and_then(Value::as_array).into_iter().flatten() {
            for mut parameter in members(choice, root, depth + 1) {
                parameter.is_required &= part == "allOf";
                if !parameters.iter().any(|known| known.name == parameter.name) {
                    parameters.push(parameter);
                }
            }
        }
    }
    parameters
}

fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

fn kind(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

fn choices(schema: &Value) -> Vec<String> {
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knowledge(value: &Value) -> Knowledge {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn what_is_known_is_put_where_the_schema_has_it() {
        let form = Form::of_schema(&json!({
            "type": "object",
            "properties": {
                "ServiceSid": {"type": "string"},
                "body": {"$ref": "#/$defs/new"},
                "status": {"enum": ["open", "paid"]},
                "token": {"type": "string"},
            },
            "required": ["ServiceSid"],
            "$defs": {"new": {"type": "object", "properties": {"To": {"type": "string"}}, "required": ["To"]}},
        }));
        let known = json!({"ServiceSid": "VA1", "to|To": 49, "status": "Open", "token?": "t", "trace?": 1});
        let expected = json!({"ServiceSid": "VA1", "body": {"To": "49"}, "status": "open"});
        assert_eq!(form.fit(&knowledge(&known)), Some(expected));
    }

    #[test]
    fn no_arguments_are_made_while_something_is_missing_or_has_no_place() {
        let form = Form::of_schema(&json!({
            "properties": {"channel": {"type": "string"}, "text": {"type": "string"}}, "required": ["channel"],
        }));
        assert_eq!(form.fit(&knowledge(&json!({"text": "hello"}))), None);
        assert_eq!(form.fit(&knowledge(&json!({"channel": "C1", "colour": "red"}))), None);
        assert!(form.fit(&knowledge(&json!({"channel": "C1"}))).is_some());
    }
}
