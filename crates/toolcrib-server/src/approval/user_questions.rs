//! Answers to questions of agents and servers to their user.

#[cfg(test)]
mod tests;

use serde_json::Value;
use toolcrib_model::{JsonObject, UserAnswer, UserQuestion};

/// Checks an answer against its question.
pub(crate) fn check_answer(question: &UserQuestion, answer: &UserAnswer) -> Result<(), String> {
    let UserAnswer::Approved { choice, fields, .. } = answer else { return Ok(()) };
    let is_picked = choice.as_ref().is_some_and(|choice| question.choices.contains(choice));
    if !question.choices.is_empty() && !is_picked {
        return Err("pick one of the choices".to_owned());
    }
    check_fields(question, fields)
}

fn check_fields(question: &UserQuestion, given: &JsonObject) -> Result<(), String> {
    for field in &question.fields {
        match given.get(&field.name) {
            Some(value) if !field.kind.accepts(value) => {
                return Err(format!("the field `{}` cannot hold that", field.label));
            }
            None if field.required && field.default.is_none() => {
                return Err(format!("the field `{}` has to be filled in", field.label));
            }
            _ => {}
        }
    }
    let is_known = |name: &String| question.fields.iter().any(|field| field.name == *name);
    match given.iter().find(|(name, _): &(&String, &Value)| !is_known(name)) {
        Some((name, _)) => Err(format!("there is no field `{name}`")),
        None => Ok(()),
    }
}
