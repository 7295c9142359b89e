//! The matches between the distinct parameters of results and of arguments.

use std::collections::HashMap;

use super::side::Side;
use crate::enrichment::suppliers::NOUN_FACTOR;

/// The minimum similarity of two texts that are not equal.
const MIN_SIMILARITY: f64 = 0.5;

/// A measure of the similarity of parameters by their texts, such as the cosine of embeddings.
pub trait ParameterSimilarity: Send + Sync {
    /// Returns an id, which must change whenever the scores change.
    fn id(&self) -> &str;

    /// Returns, for each argument, the positions of the most similar outputs with their scores from 0 to 1, best first.
    /// Their number must be bounded. It may block.
    fn nearest(&self, outputs: &[String], arguments: &[String]) -> Result<Vec<Vec<(usize, f64)>>, String>;
}

/// A parameter of the other side that matches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) parameter: usize,
    pub(super) score: f64,
    /// True if the match counts between tools of one namespace only.
    pub(super) is_vague: bool,
}

/// The matches of every parameter of both sides, best first.
#[derive(Debug)]
pub(super) struct Matches {
    pub(super) of_arguments: Vec<Vec<Match>>,
    pub(super) of_results: Vec<Vec<Match>>,
}

impl Matches {
    /// Returns the matches of equal names.
    pub(super) fn by_name(results: &Side, arguments: &Side) -> Self {
        let outputs: HashMap<&str, usize> =
            results.texts.iter().enumerate().map(|(at, text)| (text.as_str(), at)).collect();
        let equal = |text: &String| outputs.get(text.as_str()).map(|at| (*at, 1.0)).into_iter().collect();
        let nearest = arguments.texts.iter().map(equal).collect::<Vec<_>>();
        Self::new(results, arguments, &nearest, |_, argument| argument)
    }

    /// Returns the matches of similar texts.
    pub(super) fn by_similarity(
        results: &Side,
        arguments: &Side,
        similarity: &dyn ParameterSimilarity,
    ) -> Result<Self, String> {
        let nearest = similarity.nearest(&results.texts, &arguments.texts)?;
        if nearest.len() != arguments.texts.len() {
            return Err(format!(
                "`{}` compared {} of {} arguments",
                similarity.id(),
                nearest.len(),
                arguments.texts.len()
            ));
        }
        Ok(Self::new(results, arguments, &nearest, |result, argument| result && argument))
    }

    /// Returns the matches of texts, given which vague parameters make a vague match.
    fn new(
        results: &Side,
        arguments: &Side,
        nearest: &[Vec<(usize, f64)>],
        is_vague: impl Fn(bool, bool) -> bool,
    ) -> Self {
        let mut by_text: Vec<Vec<usize>> = vec![Vec::new(); results.texts.len()];
        for (at, parameter) in results.parameters.iter().enumerate() {
            if let Some(own) = by_text.get_mut(parameter.text) {
                own.push(at);
            }
        }
        let mut of_results: Vec<Vec<Match>> = vec![Vec::new(); results.parameters.len()];
        let mut of_arguments = Vec::with_capacity(arguments.parameters.len());
        for (at, argument) in arguments.parameters.iter().enumerate() {
            let mut own = Vec::new();
            for (text, similarity) in nearest.get(argument.text).into_iter().flatten() {
                let similarity = similarity.min(1.0);
                // A score that is not a number is invalid.
                if similarity.is_nan() || similarity < MIN_SIMILARITY {
                    continue;
                }
                for found in by_text.get(*text).into_iter().flatten() {
                    let Some(result) = results.parameters.get(*found) else { continue };
                    let noun = if result.has_noun { NOUN_FACTOR } else { 1.0 };
                    let score = similarity * noun * result.kind.factor(&argument.kind);
                    if score <= 0.0 {
                        continue;
                    }
                    let is_vague = !result.has_noun && is_vague(result.is_vague, argument.is_vague);
                    own.push(Match { parameter: *found, score, is_vague });
                    if let Some(other) = of_results.get_mut(*found) {
                        other.push(Match { parameter: at, score, is_vague });
                    }
                }
            }
            of_arguments.push(own);
        }
        for list in of_arguments.iter_mut().chain(&mut of_results) {
            list.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.parameter.cmp(&b.parameter)));
        }
        Self { of_arguments, of_results }
    }
}
