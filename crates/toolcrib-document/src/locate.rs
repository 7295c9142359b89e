//! The place of a value, found by reading the text a second time.
//!
//! Places are wanted only for errors, so none are kept while a text is read.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};

use crate::{Format, Position, yaml};

/// Returns the positions of the values with these JSON pointers, or of their keys. JSON is read as YAML.
pub(crate) fn locate(text: &str, format: Format, pointers: &[impl AsRef<str>]) -> Vec<Option<Position>> {
    if pointers.is_empty() {
        return Vec::new();
    }
    let wanted = Wanted::new(pointers);
    let mut search = Search { wanted: &wanted, found: vec![None; pointers.len()], left: pointers.len() };
    if format == Format::JsonLines && wanted.at(TOP).is_empty() {
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        for (index, (text, line)) in lines.enumerate() {
            if let Some(start) = wanted.below(TOP, &index.to_string()) {
                search.walk(text, start, line);
            }
        }
    } else {
        search.walk(text, TOP, 1);
    }
    search.found
}

/// The index of the root among the searched values.
const TOP: usize = 0;

/// The pointers as a tree, so that a walk compares one segment at a time however many there are.
struct Wanted {
    nodes: Vec<Segment>,
}

#[derive(Default)]
struct Segment {
    children: HashMap<String, usize>,
    /// The positions of the pointers that end here.
    ends: Vec<usize>,
}

impl Wanted {
    fn new(pointers: &[impl AsRef<str>]) -> Self {
        let mut nodes = vec![Segment::default()];
        for (position, pointer) in pointers.iter().enumerate() {
            let mut at = TOP;
            for segment in pointer.as_ref().split('/').skip(1) {
                let next = nodes.len();
                let Some(node) = nodes.get_mut(at) else { break };
                at = *node.children.entry(segment.replace("~1", "/").replace("~0", "~")).or_insert(next);
                if at == next {
                    nodes.push(Segment::default());
                }
            }
            if let Some(node) = nodes.get_mut(at) {
                node.ends.push(position);
            }
        }
        Self { nodes }
    }

    fn at(&self, node: usize) -> &[usize] {
        self.nodes.get(node).map(|node| node.ends.as_slice()).unwrap_or_default()
    }

    fn below(&self, node: usize, segment: &str) -> Option<usize> {
        self.nodes.get(node)?.children.get(segment).copied()
    }
}

/// An open mapping or sequence, with its index among the searched values if it is on the path to one.
struct Level {
    node: Option<usize>,
    children: Children,
}

/// The next child of an open mapping or sequence.
enum Children {
    Sequence { next: usize },
    Mapping { key: Option<(String, Position)> },
}

struct Search<'a> {
    wanted: &'a Wanted,
    found: Vec<Option<Position>>,
    left: usize,
}

impl Search<'_> {
    /// Walks through a text that starts at this line, and whose value has this index among the searched values. Stops at
    /// the end, at an error, or when all values are found.
    fn walk(&mut self, text: &str, start: usize, first_line: usize) {
        let mut levels: Vec<Level> = Vec::new();
        for event in Parser::new_from_str(text) {
            let Ok((event, span)) = event else { return };
            let here = yaml::start(span);
            let here = Position { line: here.line + first_line - 1, ..here };
            if matches!(event, Event::SequenceEnd | Event::MappingEnd) {
                levels.pop();
                continue;
            }
            if !matches!(
                event,
                Event::Scalar(..) | Event::Alias(_) | Event::SequenceStart(..) | Event::MappingStart(..)
            ) {
                continue;
            }
            let (node, place) = match levels.last_mut() {
                None => (Some(start), here),
                Some(Level { node, children: Children::Sequence { next } }) => {
                    *next += 1;
                    (node.and_then(|node| self.wanted.below(node, &(*next - 1).to_string())), here)
                }
                Some(Level { node, children: Children::Mapping { key } }) => {
                    let Some((key, place)) = key.take() else {
                        // A scalar where a key is due is the key.
                        let text = if let Event::Scalar(text, ..) = &event { text.as_ref() } else { "" };
                        *key = Some((text.to_owned(), here));
                        continue;
                    };
                    (node.and_then(|node| self.wanted.below(node, &key)), place)
                }
            };
            if let Some(node) = node {
                self.find(node, place);
                if self.left == 0 {
                    return;
                }
            }
            match event {
                Event::SequenceStart(..) => {
                    levels.push(Level { node, children: Children::Sequence { next: 0 } });
                }
                Event::MappingStart(..) => {
                    levels.push(Level { node, children: Children::Mapping { key: None } });
                }
                _ => {}
            }
        }
    }

    fn find(&mut self, node: usize, place: Position) {
        for position in self.wanted.at(node) {
            if let Some(found @ None) = self.found.get_mut(*position) {
                *found = Some(place);
                self.left -= 1;
            }
        }
    }
}
