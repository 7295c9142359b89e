//! The choice of the best sample.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use toolcrib_model::text::{canonical_json, pointer_part};

use super::reply::{Outcome, Reply};

/// The most leaves of a reply that are compared.
const MAX_LEAVES: usize = 1_000;

/// A reply of the model, before it is checked.
///
/// Of several valid samples, the one with the highest mean log-probability of its tokens is taken if the server returns
/// it for all of them, and else the one that agrees most with the others: each sample has the mean, over its values, of
/// the share of samples that have the same value at the same place. Of equals, the first is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The text.
    pub text: String,
    /// The mean log-probability of its tokens, if the server returns it.
    pub mean_log_probability: Option<f64>,
}

/// Returns the best of the valid samples.
pub(super) fn best(samples: Vec<(Reply, Option<f64>)>) -> Option<Reply> {
    let probabilities: Option<Vec<f64>> = samples.iter().map(|(_, probability)| *probability).collect();
    let scores = probabilities.unwrap_or_else(|| agreement(&samples));
    let mut best: Option<(f64, Reply)> = None;
    for ((reply, _), score) in samples.into_iter().zip(scores) {
        if best.as_ref().is_none_or(|(highest, _)| score > *highest) {
            best = Some((score, reply));
        }
    }
    best.map(|(_, reply)| reply)
}

/// Returns the agreement of each sample with all of them.
fn agreement(samples: &[(Reply, Option<f64>)]) -> Vec<f64> {
    let leaves: Vec<BTreeSet<(String, String)>> = samples.iter().map(|(reply, _)| leaves_of(reply)).collect();
    let mut counts = BTreeMap::<&(String, String), usize>::new();
    for leaf in leaves.iter().flatten() {
        *counts.entry(leaf).or_default() += 1;
    }
    let mean = |leaves: &BTreeSet<(String, String)>| {
        let sum: usize = leaves.iter().filter_map(|leaf| counts.get(leaf)).sum();
        #[expect(clippy::cast_precision_loss, reason = "both are small")]
        let mean = sum as f64 / leaves.len().max(1) as f64;
        mean
    };
    leaves.iter().map(mean).collect()
}

/// Returns the normalized values of a reply with their places.
fn leaves_of(reply: &Reply) -> BTreeSet<(String, String)> {
    let mut leaves = BTreeSet::new();
    match &reply.outcome {
        Outcome::Result(value) => collect("/result".to_owned(), value, &mut leaves),
        // Messages are seldom equal, so that only the failure counts.
        Outcome::Error(_) => _ = leaves.insert(("/error".to_owned(), String::new())),
    }
    leaves
}

fn collect(place: String, value: &Value, leaves: &mut BTreeSet<(String, String)>) {
    if leaves.len() >= MAX_LEAVES {
        return;
    }
    match value {
        Value::Array(items) if !items.is_empty() => {
            for (position, item) in items.iter().enumerate() {
                collect(format!("{place}/{position}"), item, leaves);
            }
        }
        Value::Object(map) if !map.is_empty() => {
            for (key, item) in map {
                collect(format!("{place}/{}", pointer_part(key)), item, leaves);
            }
        }
        leaf => _ = leaves.insert((place, normalized(leaf))),
    }
}

/// Returns a value such that equal meanings are equal: texts without case and outer spaces, numbers without their form.
fn normalized(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_lowercase(),
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string())
        }
        other => canonical_json(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample(value: Value, probability: Option<f64>) -> (Reply, Option<f64>) {
        (Reply { outcome: Outcome::Result(value), state: None }, probability)
    }

    fn best_of(samples: Vec<(Reply, Option<f64>)>) -> Value {
        best(samples).unwrap().without_state()["result"].clone()
    }

    #[test]
    fn the_most_probable_sample_is_taken_if_all_have_a_probability() {
        let samples =
            vec![sample(json!(1), Some(-2.0)), sample(json!(2), Some(-0.5)), sample(json!(1), Some(-1.0))];
        assert_eq!(best_of(samples), json!(2));
    }

    #[test]
    fn without_probabilities_the_sample_that_agrees_most_is_taken() {
        let samples = vec![
            sample(json!({"city": "Bergen", "celsius": 3}), Some(-0.1)),
            sample(json!({"city": "Oslo", "celsius": 21}), None),
            sample(json!({"city": " oslo", "celsius": 21.0}), None),
        ];
        assert_eq!(best_of(samples), json!({"city": "Oslo", "celsius": 21}));
    }

    #[test]
    fn of_equal_samples_the_first_is_taken() {
        assert_eq!(best_of(vec![sample(json!("a"), None), sample(json!("b"), None)]), json!("a"));
        assert_eq!(best(Vec::new()), None);
    }
}
