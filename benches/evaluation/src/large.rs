//! Questions about a result that is too large to be shown, in the terms that its preview and `read_result` offer.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::agent::{Agent, Answer, beginning};

/// A question about a large result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question<'a> {
    /// The values of `take` in the rows of `list` that satisfy the condition.
    Rows { list: &'a str, condition: &'a str, take: &'a str },
    /// The number of rows of `list` that satisfy the condition; each row has the member `by`.
    Count { list: &'a str, condition: &'a str, by: &'a str },
    /// The sum of `of` over the rows of `list` that satisfy the condition.
    Sum { list: &'a str, condition: &'a str, of: &'a str },
    /// The lines that match a regular expression.
    Lines { pattern: &'a str },
}

impl Agent<'_> {
    /// Asks a question about a result of which only a preview was shown. Rows and lines are a list, counts and sums a
    /// number.
    pub(crate) fn ask(&mut self, preview: &Answer, question: Question<'_>) -> Result<Value> {
        let handle =
            preview.handle().with_context(|| format!("no handle in: {}", beginning(&preview.text)))?;
        for name in question.names() {
            ensure!(
                preview.text.contains(name),
                "the preview does not show {name:?}: {}",
                beginning(&preview.text)
            );
        }
        let mut request = if self.can_query { question.query() } else { question.path() };
        if let Some(request) = request.as_object_mut() {
            request.insert("handle".to_owned(), handle.into());
        }
        let answer = self.use_tool("read_result", &request)?.success()?;
        question.read(&answer)
    }
}

impl Question<'_> {
    /// Returns the names that the agent has to have seen.
    fn names(&self) -> Vec<&str> {
        match self {
            Self::Rows { condition, take, .. } => vec![first_word(condition), take],
            Self::Count { condition, by, .. } => vec![first_word(condition), by],
            Self::Sum { condition, of, .. } => vec![first_word(condition), of],
            Self::Lines { .. } => Vec::new(),
        }
    }

    /// Returns the request for a program that offers paths and patterns only: the agent adds up numbers itself.
    fn path(&self) -> Value {
        match self {
            Self::Rows { list, condition, take: last }
            | Self::Count { list, condition, by: last }
            | Self::Sum { list, condition, of: last } => {
                let conditions: Vec<String> = condition.split(" && ").map(|one| format!("@.{one}")).collect();
                let list = list.replace("[]", "[*]");
                let dot = if list.is_empty() { "" } else { "." };
                json!({"jsonpath": format!("${dot}{list}[?{}].{last}", conditions.join(" && "))})
            }
            Self::Lines { pattern } => json!({"grep": pattern}),
        }
    }

    /// Returns the request for a program that filters rows and computes sums.
    fn query(&self) -> Value {
        match self {
            Self::Rows { condition, take, .. } => json!({"where": condition, "fields": [take]}),
            Self::Count { condition, .. } => json!({"where": condition, "count": true}),
            // Nested rows need a path; without one the question is about the longest list.
            Self::Sum { list, condition, of } if list.contains("[]") => {
                let list = list.replace("[]", "[*]");
                json!({"jsonpath": format!("$.{list}[*]"), "where": condition, "sum": of})
            }
            Self::Sum { condition, of, .. } => json!({"where": condition, "sum": of}),
            Self::Lines { pattern } => json!({"grep": pattern}),
        }
    }

    /// Reads the answer, of either request.
    fn read(&self, answer: &Answer) -> Result<Value> {
        if let Self::Lines { .. } = self {
            let lines = answer.text.lines().filter(|line| !line.starts_with('[') && !line.is_empty());
            let lines = lines.map(|line| line.split_once(": ").map_or(line, |(_, line)| line));
            return Ok(lines.collect::<Vec<_>>().into());
        }
        let value = answer.value();
        let values = value.get("values").and_then(Value::as_array);
        let missing = || format!("no figures in: {}", beginning(&answer.text));
        Ok(match self {
            Self::Count { .. } => {
                value.get("count").or_else(|| value.get("matches")).cloned().with_context(missing)?
            }
            Self::Sum { .. } => match (value.get("sum"), values) {
                (Some(sum), _) => sum.clone(),
                (None, Some(values)) => {
                    if values.iter().any(|value| !value.is_number()) {
                        bail!("not all numbers are shown: {}", beginning(&answer.text));
                    }
                    json!(values.iter().filter_map(Value::as_f64).sum::<f64>())
                }
                (None, None) => bail!(missing()),
            },
            Self::Rows { take, .. } => {
                let values = values.with_context(missing)?;
                values.iter().map(|value| value.get(take).unwrap_or(value).clone()).collect()
            }
            Self::Lines { .. } => Value::Null,
        })
    }
}

fn first_word(condition: &str) -> &str {
    condition.split(' ').next().unwrap_or(condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Answer {
        Answer { text: text.into(), ..Answer::default() }
    }

    #[test]
    fn a_question_is_put_in_either_way() {
        let rows = Question::Rows { list: "items", condition: "stock < 2 && price > 9", take: "sku" };
        assert_eq!(rows.path(), json!({"jsonpath": "$.items[?@.stock < 2 && @.price > 9].sku"}));
        assert_eq!(rows.query(), json!({"where": "stock < 2 && price > 9", "fields": ["sku"]}));
        let sum = Question::Sum { list: "days[].groups", condition: "group == 'maps'", of: "revenue" };
        assert_eq!(sum.path(), json!({"jsonpath": "$.days[*].groups[?@.group == 'maps'].revenue"}));
        assert_eq!(
            sum.query(),
            json!({"jsonpath": "$.days[*].groups[*]", "where": "group == 'maps'", "sum": "revenue"})
        );
        let top = Question::Count { list: "", condition: "hall == 7", by: "sensor" };
        assert_eq!(top.path(), json!({"jsonpath": "$[?@.hall == 7].sensor"}));
    }

    #[test]
    fn answers_are_read_in_either_form() {
        let rows = Question::Rows { list: "items", condition: "stock < 2", take: "sku" };
        let bare = rows.read(&answer(r#"{"matches":2,"values":["A","B"]}"#)).unwrap();
        let fields =
            rows.read(&answer(r#"{"matches":2,"of":"$.items","values":[{"sku":"A"},{"sku":"B"}]}"#)).unwrap();
        assert_eq!((bare, fields), (json!(["A", "B"]), json!(["A", "B"])));
        let sum = Question::Sum { list: "days", condition: "x == 1", of: "total" };
        assert_eq!(sum.read(&answer(r#"{"matches":2,"values":[1.5,2.5]}"#)).unwrap(), json!(4.0));
        assert_eq!(sum.read(&answer(r#"{"matches":2,"sum":4.0}"#)).unwrap(), json!(4.0));
        assert!(sum.read(&answer(r#"{"matches":2,"values":[1.5,"… 7 more items"]}"#)).is_err());
        let lines = Question::Lines { pattern: "x" }
            .read(&answer("23: one x\n[1 matching line in 9 lines]"))
            .unwrap();
        assert_eq!(lines, json!(["one x"]));
    }
}
