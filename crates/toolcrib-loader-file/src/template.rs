//! Words of a command line with places for arguments.

use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::nearest;
use toolcrib_model::{JsonObject, Tool};

/// Stands for the bare name of the tool.
const TOOL_PLACE: &str = "@tool";

/// Stands for all arguments as one JSON text.
const ARGUMENTS_PLACE: &str = "@arguments";

/// One item of a command line in the settings: a word, or a list of words that fall away together.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a word, or a list of words that fall away together; quote a number, as in \"1\""
)]
pub enum ArgvItem {
    /// A word, as `--days={days}`.
    Word(String),
    /// Words that fall away together when an argument of one of them is absent, as `[-e, "{pattern}"]`.
    Group(Vec<String>),
}

/// A command line with places for arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    /// Words that stand or fall together; most have one.
    groups: Vec<Vec<Word>>,
}

/// One word of a template, as `--days={days}`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
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
    /// The first word, which is the program, has a place.
    #[error("the program `{word}` depends on an argument; write its name or path out")]
    Program {
        /// The word of the template.
        word: String,
    },
    /// The first item, which is the program, is a list.
    #[error("a command line starts with its program, which is one word, and not with a list")]
    ProgramGroup,
    /// The program would read a word as one of its options.
    #[error(
        "`{argument}` makes a word that starts with `-`, which the command could read as an option; it can be passed \
         once the template has a `--` before it"
    )]
    OptionLike {
        /// The name of the argument.
        argument: String,
    },
    /// An argument would be part of a script that a shell runs.
    #[error(
        "`{{{argument}}}` stands in the script of a shell, where it could run anything; write `\"$1\"` there, and \
         `{{{argument}}}` as a word of its own behind the script and a name for it"
    )]
    Script {
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
    fn parse(word: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = word;
        while let Some((before, from)) = rest.split_once('{') {
            text.push_str(before);
            let is_escaped = from.starts_with('{');
            let inside = from.strip_prefix('{').unwrap_or(from);
            let (name, after) = inside.split_at(inside.find(|c| !is_of_name(c)).unwrap_or(inside.len()));
            let closed = after.strip_prefix(if is_escaped { "}}" } else { "}" });
            match closed {
                Some(after) if is_place(name) && is_escaped => {
                    text.extend(["{", name, "}"]);
                    rest = after;
                }
                Some(after) if is_place(name) => {
                    if !text.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                    }
                    parts.push(Part::Place(name.into()));
                    rest = after;
                }
                None if is_place(name) && after.is_empty() => {
                    return Err(TemplateError::Unclosed { word: word.into() });
                }
                // Programs have braces of their own.
                _ => {
                    text.push('{');
                    rest = from;
                }
            }
        }
        text.push_str(rest);
        if !text.is_empty() || parts.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self { parts })
    }

    fn has_place(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Place(_)))
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
        for part in &self.parts {
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
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                },
            };
            if text.contains('\0') {
                return Err(TemplateError::Nul { argument: name.clone() });
            }
            filled.push_str(&text);
        }
        // The finished word counts: an empty value before a literal `-` makes an option, and so does a number.
        if let Some(Part::Place(argument)) = self.parts.first()
            && filled.starts_with('-')
            && !is_option_safe
        {
            return Err(TemplateError::OptionLike { argument: argument.clone() });
        }
        Ok(Some(filled))
    }
}

/// Whether a schema lets arguments through that it does not name itself.
fn is_open(schema: &Value) -> bool {
    const ELSEWHERE: [&str; 6] = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "patternProperties"];
    let Some(schema) = schema.as_object() else { return true };
    let declares_none = !schema.contains_key("properties")
        && schema.get("additionalProperties").and_then(Value::as_bool) != Some(false);
    let takes_more = schema.get("additionalProperties").is_some_and(|more| more.as_bool() != Some(false));
    declares_none || takes_more || ELSEWHERE.iter().any(|key| schema.contains_key(*key))
}

/// Whether the text can be the name of a place: that of an argument, or one of the two that are always there.
fn is_place(name: &str) -> bool {
    [TOOL_PLACE, ARGUMENTS_PLACE].contains(&name)
        || name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !name.contains('@')
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@')
}

/// Programs that run the text behind `-c`.
const SHELLS: [&str; 8] = ["ash", "bash", "busybox", "dash", "fish", "ksh", "sh", "zsh"];

/// Whether a word is the option of a shell by which it runs the next word, such as `-c` or `-ec`.
fn is_script_option(word: &Word) -> bool {
    let [Part::Text(text)] = word.parts.as_slice() else { return false };
    text.starts_with('-') && !text.starts_with("--") && text.contains('c')
}

impl Template {
    pub(crate) fn parse(argv: &[ArgvItem]) -> Result<Self, TemplateError> {
        let mut groups = Vec::with_capacity(argv.len());
        for item in argv {
            let words = match item {
                ArgvItem::Word(word) => vec![Word::parse(word)?],
                ArgvItem::Group(words) => {
                    words.iter().map(|word| Word::parse(word)).collect::<Result<_, _>>()?
                }
            };
            groups.push(words);
        }
        match (argv.first(), groups.first().map(Vec::as_slice)) {
            (Some(ArgvItem::Group(_)), _) => Err(TemplateError::ProgramGroup),
            (Some(ArgvItem::Word(word)), Some([program])) if program.has_place() => {
                Err(TemplateError::Program { word: word.clone() })
            }
            _ => {
                let template = Self { groups };
                match template.script_with_place() {
                    Some(word) => Err(TemplateError::Script { argument: word.into() }),
                    None => Ok(template),
                }
            }
        }
    }

    /// An argument that would become part of a script: whoever gives it could run any other program.
    fn script_with_place(&self) -> Option<&str> {
        let program = self.program()?.rsplit('/').next()?;
        if !SHELLS.contains(&program) {
            return None;
        }
        let words: Vec<&Word> = self.groups.iter().flatten().collect();
        let mut scripts = words.windows(2).filter_map(|pair| match pair {
            [option, script] if is_script_option(option) => Some(script),
            _ => None,
        });
        scripts.next()?.parts.iter().find_map(|part| match part {
            Part::Place(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The first word, which has no places.
    pub(crate) fn program(&self) -> Option<&str> {
        match self.groups.first()?.first()?.parts.first()? {
            Part::Text(text) => Some(text),
            Part::Place(_) => None,
        }
    }

    /// The names of the arguments that it has places for.
    pub(crate) fn places(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().flatten().flat_map(|word| &word.parts).filter_map(|part| match part {
            Part::Place(name) if ![TOOL_PLACE, ARGUMENTS_PLACE].contains(&name.as_str()) => {
                Some(name.as_str())
            }
            Part::Place(_) | Part::Text(_) => None,
        })
    }

    /// Returns an error message for the first place that no parameter of a tool fills. A tool whose schema leaves its
    /// parameters open may be given any.
    pub(crate) fn unknown_place(&self, tool: &Tool) -> Option<String> {
        if is_open(&tool.parameters) {
            return None;
        }
        let known: Vec<&str> = tool.parameter_names().collect();
        let place = self.places().find(|place| !known.contains(place))?;
        let meant = nearest(place, known).map(|name| format!(", did you mean `{{{name}}}`?"));
        Some(format!("`{{{place}}}` is none of the `parameters`{}", meant.unwrap_or_default()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Fills the whole command line. Behind a literal `--` the program takes no options, so words may start with `-`
    /// there.
    pub(crate) fn fill(&self, tool: &str, arguments: &JsonObject) -> Result<Vec<String>, TemplateError> {
        let end_of_options = Word { parts: vec![Part::Text("--".into())] };
        let mut is_option_safe = false;
        let mut argv = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            // A `--` inside of a group counts for the rest only if the group stays.
            let mut is_safe_within = is_option_safe;
            let mut words = Vec::with_capacity(group.len());
            for word in group {
                let Some(filled) = word.fill(tool, arguments, is_safe_within)? else { break };
                words.push(filled);
                is_safe_within |= *word == end_of_options;
            }
            if words.len() == group.len() {
                argv.append(&mut words);
                is_option_safe = is_safe_within;
            }
        }
        Ok(argv)
    }
}
