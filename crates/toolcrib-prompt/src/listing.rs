//! Lists of tools, one line each: a name, and the first sentence of the description.

use std::collections::BTreeMap;

use toolcrib_model::QualifiedName;
use toolcrib_model::text::truncate_chars;

use crate::OfferedTool;
use crate::sanitize::one_line;

/// The most characters of the first sentence of a description, in a list.
const MAX_SENTENCE_CHARS: usize = 100;

/// The most characters of the name of a tool, in a list.
const MAX_NAME_CHARS: usize = 200;

/// The most tools of a list: at about 30 tokens each, a fifth of a window of 1.5 million tokens. The others have to be
/// found.
const MAX_LISTED_TOOLS: usize = 10_000;

/// A tool as a line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedTool {
    /// The tool.
    pub name: QualifiedName,
    /// The first sentence of its description; may be empty.
    pub sentence: String,
    /// The name that the model reads.
    shown_name: String,
}

impl ListedTool {
    pub(crate) fn new(tool: &OfferedTool) -> Self {
        let sentence = first_sentence(&tool.description);
        Self { name: tool.name.clone(), sentence, shown_name: tool.shown_name() }
    }

    /// Returns the line, with its line feed.
    pub(crate) fn line(&self) -> String {
        let name = one_line(&self.shown_name, MAX_NAME_CHARS);
        match self.sentence.as_str() {
            "" => format!("- {name}\n"),
            sentence => format!("- {name}: {sentence}\n"),
        }
    }
}

/// Returns the first sentence of a text on one line, without its full stop.
pub(crate) fn first_sentence(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.split_once(". ").map_or(line.as_str(), |(sentence, _)| sentence);
    let sentence = sentence.strip_suffix('.').unwrap_or(sentence);
    let kept = truncate_chars(sentence, MAX_SENTENCE_CHARS);
    if kept.len() == sentence.len() { sentence.to_owned() } else { format!("{}…", kept.trim_end()) }
}

/// Returns one line for each name, within the budget, sorted by name. Selects the first tool of each namespace, then
/// the second of each and so on, so that every namespace is represented.
pub(crate) fn listed<'a>(
    tools: impl Iterator<Item = &'a OfferedTool>,
    mut fits: impl FnMut(&ListedTool) -> bool,
) -> Vec<ListedTool> {
    let mut names = BTreeMap::new();
    for tool in tools {
        names.entry(&tool.name).or_insert(tool);
    }
    let mut places = BTreeMap::<&str, usize>::new();
    let mut order: Vec<(usize, &OfferedTool)> = names
        .into_values()
        .map(|tool| {
            let place = places.entry(tool.name.namespace()).or_default();
            *place += 1;
            (*place, tool)
        })
        .collect();
    // Stable: sorted by name within a round.
    order.sort_by_key(|(place, _)| *place);
    let lines = order.into_iter().take(MAX_LISTED_TOOLS).map(|(_, tool)| ListedTool::new(tool));
    let mut listed: Vec<_> = lines.take_while(|line| fits(line)).collect();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    listed
}
