//! Score accumulators: the scores of all tools while a query runs.

use super::inverted_index::Posting;
use super::{Candidate, SATURATION};

/// The score of each tool while a query runs. Between two queries all of them are zero.
pub(super) struct ScoreAccumulator {
    tools: Vec<ToolScore>,
    /// The tools that match.
    matched: Vec<u32>,
    /// The sums over the variants of the current term, for each tool.
    sums: Vec<Sum>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    frequency: f32,
    fields: u8,
}

#[derive(Clone, Copy, Default)]
struct ToolScore {
    score: f32,
    fields: u8,
    terms: u64,
}

impl ScoreAccumulator {
    pub(super) fn new(tools: usize) -> Self {
        Self {
            tools: vec![ToolScore::default(); tools],
            matched: Vec::new(),
            sums: vec![Sum::default(); tools],
        }
    }

    /// Adds the occurrences of a term to the score of a tool. `bit` is the number of the term.
    pub(super) fn add(&mut self, document: u32, frequency: f32, fields: u8, idf: f32, bit: usize) {
        let Some(row) = self.tools.get_mut(document as usize) else { return };
        if row.terms == 0 {
            self.matched.push(document);
        }
        row.score += idf * frequency * (SATURATION + 1.0) / (frequency + SATURATION);
        row.fields |= fields;
        row.terms |= 1 << bit;
    }

    /// Adds the occurrences of a term that has several variants, each with its share of the weight.
    pub(super) fn add_together(&mut self, variants: &[(&[Posting], f32)], idf: f32, bit: usize) {
        let mut documents = Vec::new();
        for (postings, share) in variants {
            for Posting { document, frequency, fields } in *postings {
                let Some(sum) = self.sums.get_mut(*document as usize) else { continue };
                if sum.fields == 0 {
                    documents.push(*document);
                }
                sum.frequency += share * frequency;
                sum.fields |= fields;
            }
        }
        for document in documents {
            let Sum { frequency, fields } =
                self.sums.get_mut(document as usize).map(std::mem::take).unwrap_or_default();
            self.add(document, frequency, fields, idf, bit);
        }
    }

    /// Returns every tool that matches, and resets the accumulator.
    pub(super) fn take_matches(&mut self) -> Vec<Candidate> {
        let tools = &mut self.tools;
        let candidates = self.matched.drain(..).filter_map(|document| {
            let ToolScore { score, fields, terms } = std::mem::take(tools.get_mut(document as usize)?);
            Some(Candidate { document, score, terms, fields })
        });
        candidates.collect()
    }
}
