//! The place of a value, found by reading the text a second time.
//!
//! Places are wanted only for errors, so none are kept while a text is read.

use saphyr_parser::{Event, Parser};

use crate::{Format, Position, yaml};

/// Where the value with this JSON pointer, or its key, starts. JSON is read as the YAML that it nearly is.
pub(crate) fn locate(text: &str, format: Format, pointer: &str) -> Option<Position> {
    let wanted: Vec<String> =
        pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect();
    match (format, wanted.split_first()) {
        (Format::JsonLines, Some((line, rest))) => {
            let index: usize = line.parse().ok()?;
            let (text, line) =
                text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()).nth(index)?;
            let found = walk(text, rest)?;
            Some(Position { line, ..found })
        }
        _ => walk(text, &wanted),
    }
}

/// One open mapping or sequence: which of its children comes next.
enum Level {
    Sequence { next: usize },
    Mapping { key: Option<(String, Position)> },
}

fn walk(text: &str, wanted: &[String]) -> Option<Position> {
    let mut levels: Vec<Level> = Vec::new();
    // How many levels from the top are on the way to what is wanted.
    let mut matched = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        let here = yaml::start(span);
        if matches!(event, Event::SequenceEnd | Event::MappingEnd) {
            levels.pop();
            matched = matched.min(levels.len());
            continue;
        }
        if !matches!(
            event,
            Event::Scalar(..) | Event::Alias(_) | Event::SequenceStart(..) | Event::MappingStart(..)
        ) {
            continue;
        }
        // A scalar where a key is due is the key.
        if let Some(Level::Mapping { key: key @ None }) = levels.last_mut() {
            if let Event::Scalar(text, ..) = &event {
                *key = Some((text.to_string(), here));
            } else {
                *key = Some((String::new(), here));
            }
            continue;
        }
        let (segment, place) = match levels.last_mut() {
            None => (None, here),
            Some(Level::Sequence { next }) => {
                *next += 1;
                (Some((*next - 1).to_string()), here)
            }
            Some(Level::Mapping { key }) => match key.take() {
                Some((key, place)) => (Some(key), place),
                None => (None, here),
            },
        };
        let depth = levels.len();
        let on_the_way = match &segment {
            None => true,
            Some(segment) => matched + 1 == depth && wanted.get(depth - 1) == Some(segment),
        };
        if on_the_way && depth == wanted.len() {
            return Some(place);
        }
        match event {
            Event::SequenceStart(..) => levels.push(Level::Sequence { next: 0 }),
            Event::MappingStart(..) => levels.push(Level::Mapping { key: None }),
            _ => continue,
        }
        if on_the_way {
            matched = depth;
        }
    }
    None
}
