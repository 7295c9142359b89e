//! Words of a command line with places for arguments.

use serde_json::Value;
use toolcrib_model::JsonObject;

/// Stands for the bare name of the tool.
const TOOL_PLACE: &str = "@tool";

/// Stands for all arguments as one JSON text.
const ARGUMENTS_PLACE: &str = "@arguments";

/// One word of a template, as `--days={days}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(String),
}

/// Why arguments do not fit into a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A `{` without its `}`.
    #[error("the word `{word}` has a `{{` without `}}`")]
    Unclosed {
        /// The word of the template.
        word: String,
    },
    /// The program would read a value as one of its options.
    #[error("`{argument}` starts with `-`, which the command could read as an option")]
    OptionLike {
        /// The name of the argument.
        argument: String,
    },
    /// A program's argument cannot hold NUL.
    #[error("`{argument}` contains a NUL character")]
    Nul {
        /// The name of the argument.
        argument: String,
    },
}

impl Word {
    pub(crate) fn parse(word: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = word;
        while let Some((text, from)) = rest.split_once('{') {
            let (name, after) =
                from.split_once('}').ok_or_else(|| TemplateError::Unclosed { word: word.into() })?;
            if !text.is_empty() {
                parts.push(Part::Text(text.into()));
            }
            parts.push(Part::Place(name.into()));
            rest = after;
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Part::Text(rest.into()));
        }
        Ok(Self { parts })
    }

    /// The word with its places filled in; `None` when an argument that it needs is absent, so that the whole word
    /// falls away.
    fn fill(
        &self,
        tool: &str,
        arguments: &JsonObject,
        is_option_safe: bool,
    ) -> Result<Option<String>, TemplateError> {
        let mut filled = String::new();
        for (position, part) in self.parts.iter().enumerate() {
            let name = match part {
                Part::Text(text) => {
                    filled.push_str(text);
                    continue;
                }
                Part::Place(name) => name,
            };
            let text = match name.as_str() {
                TOOL_PLACE => tool.to_owned(),
                ARGUMENTS_PLACE => Value::Object(arguments.clone()).to_string(),
                _ => match arguments.get(name) {
                    None | Some(Value::Null) => return Ok(None),
                    Some(Value::String(text)) => {
                        if position == 0 && text.starts_with('-') && !is_option_safe {
                            return Err(TemplateError::OptionLike { argument: name.clone() });
                        }
                        text.clone()
                    }
                    Some(other) => other.to_string(),
                },
            };
            if text.contains('\0') {
                return Err(TemplateError::Nul { argument: name.clone() });
            }
            filled.push_str(&text);
        }
        Ok(Some(filled))
    }
}

/// Fills a whole command line. Behind a literal `--` the program takes no options, so values may start with `-` there.
pub(crate) fn fill(words: &[Word], tool: &str, arguments: &JsonObject) -> Result<Vec<String>, TemplateError> {
    let end_of_options = Word { parts: vec![Part::Text("--".into())] };
    let mut is_option_safe = false;
    let mut argv = Vec::with_capacity(words.len());
    for word in words {
        argv.extend(word.fill(tool, arguments, is_option_safe)?);
        is_option_safe |= *word == end_of_options;
    }
    Ok(argv)
}
