//! The edges of each tool: its best neighbours, found by the parameters that match its own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::edge::{DataflowEdge, ParameterPair};
use super::matches::{Match, Matches};
use super::side::{Side, ToolParameter};
use crate::build::parallel;
use crate::enrichment::tool_key::ToolKey;

/// The maximum number of neighbours of a tool in one namespace and in each direction.
pub const MAX_NEIGHBORS_PER_NAMESPACE: usize = 10;

/// The maximum number of neighbours of a tool in each direction.
pub const MAX_NEIGHBORS: usize = 32;

/// The maximum number of tools that are compared for one parameter, in addition to those of its namespace. Tools
/// beyond it have a parameter that is as common as the name `id`.
const MAX_CANDIDATES: usize = 1_000;

/// Both sides of the dataflow with their matches.
pub(super) struct Graph<'a> {
    pub(super) tools: &'a [Arc<ToolKey>],
    /// The positions of the tools of each namespace, in order.
    namespaces: HashMap<&'a str, Vec<usize>>,
    results: &'a Side,
    arguments: &'a Side,
    matches: &'a Matches,
}

/// The edges from a tool, or to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Consumers,
    Producers,
}

/// The best match with another tool, and the number of matches.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    score: f64,
    count: usize,
}

impl<'a> Graph<'a> {
    pub(super) fn new(
        tools: &'a [Arc<ToolKey>],
        results: &'a Side,
        arguments: &'a Side,
        matches: &'a Matches,
    ) -> Self {
        let mut namespaces: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, tool) in tools.iter().enumerate() {
            namespaces.entry(tool.name.namespace()).or_default().push(at);
        }
        Self { tools, namespaces, results, arguments, matches }
    }

    /// Returns the edges of every tool, best first.
    pub(super) fn edges(&self, direction: Direction) -> Vec<Vec<DataflowEdge>> {
        let all: Vec<usize> = (0..self.tools.len()).collect();
        parallel::map(&all, |tool| self.edges_of(*tool, direction))
    }

    fn edges_of(&self, tool: usize, direction: Direction) -> Vec<DataflowEdge> {
        let mut per_namespace: BTreeMap<&str, usize> = BTreeMap::new();
        let mut edges = Vec::new();
        for other in self.ranked(tool, direction) {
            let Some(key) = self.tools.get(other) else { continue };
            let count = per_namespace.entry(key.name.namespace()).or_default();
            if *count == MAX_NEIGHBORS_PER_NAMESPACE {
                continue;
            }
            *count += 1;
            edges.extend(match direction {
                Direction::Consumers => self.edge(tool, other),
                Direction::Producers => self.edge(other, tool),
            });
            if edges.len() == MAX_NEIGHBORS {
                break;
            }
        }
        edges
    }

    /// Returns the candidates of a tool, best first. Of equals, those with more matches come first, then those of the same
    /// namespace, then any in an order that differs between tools, so that no tool is the neighbour of all.
    fn ranked(&self, tool: usize, direction: Direction) -> Vec<usize> {
        let Some(key) = self.tools.get(tool) else { return Vec::new() };
        let (own, others, matches) = match direction {
            Direction::Consumers => (self.results, self.arguments, &self.matches.of_results),
            Direction::Producers => (self.arguments, self.results, &self.matches.of_arguments),
        };
        let mut found: HashMap<usize, Candidate> = HashMap::new();
        for parameter in own.of_tool.get(tool).into_iter().flatten() {
            let mut left = MAX_CANDIDATES;
            for matched in matches.get(parameter.parameter).into_iter().flatten() {
                let tools = others.tools.get(matched.parameter).map_or(&[][..], Vec::as_slice);
                let mut add = |other: usize| {
                    let candidate = found.entry(other).or_default();
                    candidate.score = candidate.score.max(matched.score);
                    candidate.count += 1;
                };
                let siblings = self.namespaces.get(key.name.namespace());
                let siblings = siblings.into_iter().flatten();
                siblings.filter(|other| tools.binary_search(other).is_ok()).for_each(|other| add(*other));
                if matched.is_vague {
                    continue;
                }
                // The window starts at another place for each tool.
                let start = tools.partition_point(|other| *other < tool);
                let window = tools.iter().cycle().skip(start).take(tools.len().min(left));
                let foreign = window.filter(|other| !self.is_same_namespace(**other, key));
                foreign.for_each(|other| add(*other));
                left = left.saturating_sub(tools.len());
            }
        }
        found.retain(|other, _| self.tools.get(*other).is_some_and(|other| other.name != key.name));
        let mut ranked: Vec<(usize, Candidate)> = found.into_iter().collect();
        let total = self.tools.len();
        ranked.sort_by(|(a, one), (b, other)| {
            let rest = |at: usize, candidate: Candidate| {
                let distance = (at + total - tool) % total;
                (Reverse(candidate.count), !self.is_same_namespace(at, key), distance)
            };
            other.score.total_cmp(&one.score).then_with(|| rest(*a, *one).cmp(&rest(*b, *other)))
        });
        ranked.into_iter().map(|(other, _)| other).collect()
    }

    fn is_same_namespace(&self, other: usize, key: &ToolKey) -> bool {
        self.tools.get(other).is_some_and(|other| other.name.namespace() == key.name.namespace())
    }

    /// Returns the edge between two tools: for each argument the result that fits it best, the best pair first.
    fn edge(&self, producer: usize, consumer: usize) -> Option<DataflowEdge> {
        let (from, to) = (self.tools.get(producer)?, self.tools.get(consumer)?);
        let is_near = from.name.namespace() == to.name.namespace();
        let results = self.results.of_tool.get(producer)?;
        let mut pairs = Vec::new();
        for argument in self.arguments.of_tool.get(consumer)? {
            let matches = self.matches.of_arguments.get(argument.parameter).map_or(&[][..], Vec::as_slice);
            let counting = matches.iter().filter(|matched| is_near || !matched.is_vague);
            let best = counting.flat_map(|matched| with_result(results, matched)).next();
            pairs.extend(best.map(|(output, score)| ParameterPair {
                output: Arc::clone(&output.name),
                argument: Arc::clone(&argument.name),
                score,
            }));
        }
        pairs.sort_by(|a, b| b.score.total_cmp(&a.score));
        let score = pairs.first()?.score;
        Some(DataflowEdge {
            producer: Arc::clone(from),
            consumer: Arc::clone(to),
            score,
            pairs: pairs.into(),
        })
    }
}

/// Returns the results of a tool that are those of a match.
fn with_result<'a>(
    results: &'a [ToolParameter],
    matched: &'a Match,
) -> impl Iterator<Item = (&'a ToolParameter, f64)> {
    let of_match = results.iter().filter(|result| result.parameter == matched.parameter);
    of_match.map(|result| (result, matched.score))
}
