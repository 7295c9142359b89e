//! What a document says of the answer of an operation.

use http::HeaderValue;
use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use crate::Error;
use crate::media;
use crate::schema::{Budget, Converter, Direction};
use crate::spec::Spec;

/// The schema of the first JSON answer of success, `{}` when there is none.
pub(crate) fn schema<'a>(operation: &'a Value, spec: Spec<'a>, budget: &mut Budget) -> Result<Value, Error> {
    for content in success_contents(operation, spec)? {
        if let Some((_, media)) = media::preferred_response(content) {
            let Some(schema) = spec.resolve(media)?.get("schema") else { break };
            let mut converter = Converter::new(spec, Direction::Output, budget);
            let mut schema = converter.convert_top(schema)?;
            let definitions = converter.definitions()?;
            if let Some(map) = schema.as_object_mut()
                && !definitions.is_empty()
            {
                map.insert("$defs".into(), definitions.into());
            }
            return Ok(schema);
        }
    }
    Ok(json!({}))
}

/// What the `Accept` header of a call says: the media type of the answer that the schema is of, anything else next.
pub(crate) fn accept<'a>(operation: &'a Value, spec: Spec<'a>) -> HeaderValue {
    let contents = success_contents(operation, spec).unwrap_or_default();
    let wanted = contents
        .iter()
        .find_map(|content| media::preferred_response(content))
        .map(|(media_type, _)| media_type)
        .or_else(|| contents.first().and_then(|content| content.keys().next()).map(String::as_str))
        .filter(|media_type| *media_type != media::ANY);
    wanted
        .and_then(|media_type| HeaderValue::from_str(&format!("{media_type}, */*;q=0.5")).ok())
        .unwrap_or(HeaderValue::from_static(media::ANY))
}

/// The `content` of each answer of success.
fn success_contents<'a>(operation: &'a Value, spec: Spec<'a>) -> Result<Vec<&'a JsonObject>, Error> {
    let responses = operation.get("responses").and_then(Value::as_object);
    let mut contents = Vec::new();
    for (_, response) in responses.into_iter().flatten().filter(|(code, _)| code.starts_with('2')) {
        contents.extend(spec.resolve(response)?.get("content").and_then(Value::as_object));
    }
    Ok(contents)
}
