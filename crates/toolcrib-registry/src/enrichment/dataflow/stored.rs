//! The dataflow as bytes, for a cache on disk.
//!
//! All numbers are little-endian. Tools are their positions among the tools of the snapshot, names are positions in a
//! table of strings, and an edge that is in the lists of both of its tools is stored once.

use std::collections::HashMap;
use std::sync::Arc;

use super::edge::{DataflowEdge, ParameterPair};
use crate::enrichment::tool_key::ToolKey;

/// The edges of every tool in both directions.
pub(super) struct Edges {
    pub(super) consumers: Vec<Vec<DataflowEdge>>,
    pub(super) producers: Vec<Vec<DataflowEdge>>,
}

/// Writes the edges of tools, given the position of each tool.
pub(super) fn encode(
    places: &HashMap<Arc<ToolKey>, usize>,
    consumers: &[Vec<DataflowEdge>],
    producers: &[Vec<DataflowEdge>],
) -> Vec<u8> {
    let mut writer = Writer { places, strings: Vec::new(), by_string: HashMap::new(), edges: Vec::new() };
    let mut by_tools = HashMap::new();
    let mut count = 0;
    let mut lists = Vec::new();
    for list in consumers.iter().chain(producers) {
        put(&mut lists, list.len());
        for edge in list {
            let at = *by_tools
                .entry((writer.place(&edge.producer), writer.place(&edge.consumer)))
                .or_insert_with(|| {
                    writer.edge(edge);
                    count += 1;
                    count - 1
                });
            put(&mut lists, at);
        }
    }
    let mut bytes = Vec::new();
    put(&mut bytes, consumers.len());
    put(&mut bytes, writer.strings.len());
    for string in &writer.strings {
        put(&mut bytes, string.len());
        bytes.extend_from_slice(string.as_bytes());
    }
    put(&mut bytes, count);
    bytes.extend_from_slice(&writer.edges);
    bytes.extend_from_slice(&lists);
    bytes
}

struct Writer<'a> {
    places: &'a HashMap<Arc<ToolKey>, usize>,
    strings: Vec<Arc<str>>,
    by_string: HashMap<Arc<str>, usize>,
    edges: Vec<u8>,
}

impl Writer<'_> {
    fn place(&self, tool: &Arc<ToolKey>) -> usize {
        self.places.get(tool).copied().unwrap_or(usize::MAX)
    }

    fn edge(&mut self, edge: &DataflowEdge) {
        let (producer, consumer) = (self.place(&edge.producer), self.place(&edge.consumer));
        put(&mut self.edges, producer);
        put(&mut self.edges, consumer);
        put(&mut self.edges, edge.pairs.len());
        for pair in edge.pairs.iter() {
            let (output, argument) = (self.string(&pair.output), self.string(&pair.argument));
            put(&mut self.edges, output);
            put(&mut self.edges, argument);
            self.edges.extend_from_slice(&pair.score.to_le_bytes());
        }
    }

    fn string(&mut self, text: &Arc<str>) -> usize {
        let strings = &mut self.strings;
        *self.by_string.entry(Arc::clone(text)).or_insert_with_key(|text| {
            strings.push(Arc::clone(text));
            strings.len() - 1
        })
    }
}

/// Writes a number. One that does not fit is rejected when it is read.
fn put(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

/// Reads the edges of these tools. Returns `None` if the bytes are not those of as many tools.
pub(super) fn decode(bytes: &[u8], tools: &[Arc<ToolKey>]) -> Option<Edges> {
    let mut reader = Reader { rest: bytes };
    if reader.number()? != tools.len() {
        return None;
    }
    let mut strings: Vec<Arc<str>> = Vec::new();
    for _ in 0..reader.number()? {
        let length = reader.number()?;
        strings.push(std::str::from_utf8(reader.take(length)?).ok()?.into());
    }
    let mut edges = Vec::new();
    for _ in 0..reader.number()? {
        edges.push(reader.edge(tools, &strings)?);
    }
    let consumers = reader.lists(tools.len(), &edges)?;
    let producers = reader.lists(tools.len(), &edges)?;
    reader.rest.is_empty().then_some(Edges { consumers, producers })
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<usize> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    }

    fn score(&mut self) -> Option<f64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(f64::from_le_bytes(*bytes)).filter(|score| *score > 0.0 && *score <= 1.0)
    }

    fn edge(&mut self, tools: &[Arc<ToolKey>], strings: &[Arc<str>]) -> Option<DataflowEdge> {
        let (producer, consumer) = (self.number()?, self.number()?);
        let mut pairs = Vec::new();
        for _ in 0..self.number()? {
            let (output, argument, score) = (self.number()?, self.number()?, self.score()?);
            let name = |at: usize| strings.get(at).map(Arc::clone);
            pairs.push(ParameterPair { output: name(output)?, argument: name(argument)?, score });
        }
        let (producer, consumer) = (Arc::clone(tools.get(producer)?), Arc::clone(tools.get(consumer)?));
        Some(DataflowEdge { producer, consumer, score: pairs.first()?.score, pairs: pairs.into() })
    }

    fn lists(&mut self, tools: usize, edges: &[DataflowEdge]) -> Option<Vec<Vec<DataflowEdge>>> {
        let mut lists = Vec::with_capacity(tools);
        for _ in 0..tools {
            let mut list = Vec::new();
            for _ in 0..self.number()? {
                list.push(edges.get(self.number()?)?.clone());
            }
            lists.push(list);
        }
        Some(lists)
    }
}
