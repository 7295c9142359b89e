//! The distinct parameters of one side of the dataflow, results or arguments, and the tools that have them.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::text::{truncate_bytes, words_of_name};
use toolcrib_model::{Schema, Tool};

use super::kind::Kind;
use crate::Entry;
use crate::enrichment::parameters::{is_common, normalized, properties, takes_part};

/// The most bytes of the text of a parameter that are compared.
const MAX_TEXT_BYTES: usize = 256;

/// Parameters are equal if nothing that decides about their matches differs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Parameter {
    /// The position of its text.
    pub(super) text: usize,
    pub(super) kind: Kind,
    /// True for the name of a property behind a noun of its tool.
    pub(super) has_noun: bool,
    /// True if the text does not show the origin of a value.
    pub(super) is_vague: bool,
}

/// A parameter of one tool.
#[derive(Clone, Debug)]
pub(super) struct ToolParameter {
    pub(super) parameter: usize,
    pub(super) name: Arc<str>,
}

/// The texts that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// Normalized names; for results also behind the nouns of their tools.
    Names,
    /// Names, types and descriptions.
    Descriptions,
}

/// One side of the dataflow.
#[derive(Debug, Default)]
pub(super) struct Side {
    pub(super) texts: Vec<String>,
    pub(super) parameters: Vec<Parameter>,
    /// The parameters of each tool.
    pub(super) of_tool: Vec<Vec<ToolParameter>>,
    /// The tools that have each parameter, in order.
    pub(super) tools: Vec<Vec<usize>>,
}

impl Side {
    /// Returns the results of tools.
    pub(super) fn of_results(entries: &[Arc<Entry>], texts: Texts) -> Self {
        Builder::default().side(entries, |tool| &tool.output_parameters, texts, texts == Texts::Names)
    }

    /// Returns the arguments of tools.
    pub(super) fn of_arguments(entries: &[Arc<Entry>], texts: Texts) -> Self {
        Builder::default().side(entries, |tool| &tool.parameters, texts, false)
    }
}

#[derive(Default)]
struct Builder {
    side: Side,
    by_text: HashMap<String, usize>,
    by_parameter: HashMap<Parameter, usize>,
}

impl Builder {
    fn side(
        mut self,
        entries: &[Arc<Entry>],
        schema_of: impl Fn(&Tool) -> &Schema,
        texts: Texts,
        with_nouns: bool,
    ) -> Side {
        for (at, entry) in entries.iter().enumerate() {
            self.side.of_tool.push(Vec::new());
            if !takes_part(&entry.tool) {
                continue;
            }
            let schema = schema_of(&entry.tool);
            let nouns = if with_nouns { words_of_name(entry.tool.name.name()) } else { Vec::new() };
            for (name, part) in properties(schema.root()) {
                let kind = Kind::of(part, schema);
                let bare = normalized(name);
                let (text, is_vague) = match texts {
                    Texts::Names => (bare.clone(), is_common(&bare)),
                    Texts::Descriptions => {
                        (described(name, &kind, part), is_common(&bare) && description(part).is_empty())
                    }
                };
                let name: Arc<str> = name.into();
                for noun in &nouns {
                    self.add(at, &name, format!("{noun}{bare}"), kind.clone(), true, false);
                }
                self.add(at, &name, text, kind, false, is_vague);
            }
        }
        self.side
    }

    fn add(
        &mut self,
        tool: usize,
        name: &Arc<str>,
        text: String,
        kind: Kind,
        has_noun: bool,
        is_vague: bool,
    ) {
        let texts = &mut self.side.texts;
        let text = *self.by_text.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            texts.len() - 1
        });
        let parameter = Parameter { text, kind, has_noun, is_vague };
        let (parameters, tools) = (&mut self.side.parameters, &mut self.side.tools);
        let at = *self.by_parameter.entry(parameter).or_insert_with_key(|parameter| {
            parameters.push(parameter.clone());
            tools.push(Vec::new());
            parameters.len() - 1
        });
        if let Some(tools) = tools.get_mut(at).filter(|tools| tools.last() != Some(&tool)) {
            tools.push(tool);
        }
        if let Some(own) = self.side.of_tool.get_mut(tool) {
            own.push(ToolParameter { parameter: at, name: Arc::clone(name) });
        }
    }
}

fn description(part: &Value) -> &str {
    part.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the words of a parameter's name, its type and its description.
fn described(name: &str, kind: &Kind, part: &Value) -> String {
    let text = format!("{} {} {}", words_of_name(name).join(" "), kind.name(), description(part));
    truncate_bytes(text.trim(), MAX_TEXT_BYTES).to_owned()
}
