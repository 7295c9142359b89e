//! Command-line templates: words with placeholders for arguments.

use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::nearest;
use toolcrib_model::{JsonObject, Schema, Tool};

/// The placeholder for the bare name of the tool.
const TOOL_PLACEHOLDER: &str = "@tool";

/// The placeholder for all arguments as one JSON text.
const ARGUMENTS_PLACEHOLDER: &str = "@arguments";

/// An item of a command line in the settings: a word, or a list of words that are omitted together.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a word, or a list of words that are omitted together; quote a number, as in \"1\""
)]
pub enum ArgvItem {
    /// A word, as `--days={days}`.
    Word(String),
    /// Words that are omitted together if an argument of one of them is absent, as `[-e, "{pattern}"]`.
    Group(Vec<String>),
}

/// A command line with placeholders for arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    /// Groups of words that are omitted together; most have one word.
    groups: Vec<Vec<Word>>,
}

/// A word of a template, as `--days={days}`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Text(String),
    Placeholder(String),
}

/// An error of a command line, or of the arguments for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A `{` without its `}`.
    #[error("the word `{word}` has a `{{` without `}}`")]
    Unclosed {
        /// The word of the template.
        word: String,
    },
    /// The first word, which is the program, contains a placeholder.
    #[error("the program `{word}` depends on an argument; write its name or path out")]
    Program {
        /// The word of the template.
        word: String,
    },
    /// The first item, which is the program, is a list.
    #[error("a command line starts with its program, which is one word, and not with a list")]
    ProgramGroup,
    /// The program could read a word as an option.
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
         `{{{argument}}}` as a separate word after the script and a name for it"
    )]
    Script {
        /// The name of the argument.
        argument: String,
    },
    /// A program's argument cannot contain NUL.
    #[error("`{argument}` contains a NUL character")]
    Nul {
        /// The name of the argument.
        argument: String,
    },
}

impl Word {
    fn parse(word: &str) -> Result<Self, TemplateError> {
        let mut segments = Vec::new();
        let mut text = String::new();
        let mut rest = word;
        while let Some((before, from)) = rest.split_once('{') {
            text.push_str(before);
            let is_escaped = from.starts_with('{');
            let inside = from.strip_prefix('{').unwrap_or(from);
            let (name, after) = inside.split_at(inside.find(|c| !is_name_char(c)).unwrap_or(inside.len()));
            let closed = after.strip_prefix(if is_escaped { "}}" } else { "}" });
            match closed {
                Some(after) if is_placeholder_name(name) && is_escaped => {
                    text.extend(["{", name, "}"]);
                    rest = after;
                }
                Some(after) if is_placeholder_name(name) => {
                    if !text.is_empty() {
                        segments.push(Segment::Text(std::mem::take(&mut text)));
                    }
                    segments.push(Segment::Placeholder(name.into()));
                    rest = after;
                }
                None if is_placeholder_name(name) && after.is_empty() => {
                    return Err(TemplateError::Unclosed { word: word.into() });
                }
                // Other braces are literal.
                _ => {
                    text.push('{');
                    rest = from;
                }
            }
        }
        text.push_str(rest);
        if !text.is_empty() || segments.is_empty() {
            segments.push(Segment::Text(text));
        }
        Ok(Self { segments })
    }

    fn has_placeholder(&self) -> bool {
        self.segments.iter().any(|segment| matches!(segment, Segment::Placeholder(_)))
    }

    /// Returns the word with its placeholders filled in; `None` if an argument is absent, so that the word is omitted.
    fn fill(
        &self,
        tool: &str,
        arguments: &JsonObject,
        is_option_safe: bool,
    ) -> Result<Option<String>, TemplateError> {
        let mut filled = String::new();
        for segment in &self.segments {
            let name = match segment {
                Segment::Text(text) => {
                    filled.push_str(text);
                    continue;
                }
                Segment::Placeholder(name) => name,
            };
            let text = match name.as_str() {
                TOOL_PLACEHOLDER => tool.to_owned(),
                ARGUMENTS_PLACEHOLDER => Value::Object(arguments.clone()).to_string(),
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
        // The complete word counts: an empty value before a literal `-` makes an option, and so does a number.
        if let Some(Segment::Placeholder(argument)) = self.segments.first()
            && filled.starts_with('-')
            && !is_option_safe
        {
            return Err(TemplateError::OptionLike { argument: argument.clone() });
        }
        Ok(Some(filled))
    }
}

/// Returns true if a schema permits arguments that it does not name.
fn accepts_any_argument(schema: &Schema) -> bool {
    const ELSEWHERE: [&str; 6] = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "patternProperties"];
    let Some(schema) = schema.as_object() else { return true };
    let declares_none = !schema.contains_key("properties")
        && schema.get("additionalProperties").and_then(Value::as_bool) != Some(false);
    let takes_more = schema.get("additionalProperties").is_some_and(|more| more.as_bool() != Some(false));
    declares_none || takes_more || ELSEWHERE.iter().any(|key| schema.contains_key(*key))
}

/// Returns true if the text is a valid name of a placeholder: that of an argument, or one of the two predefined ones.
fn is_placeholder_name(name: &str) -> bool {
    [TOOL_PLACEHOLDER, ARGUMENTS_PLACEHOLDER].contains(&name)
        || name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !name.contains('@')
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@')
}

/// Programs that run the text after `-c` as a script.
const SHELLS: [&str; 8] = ["ash", "bash", "busybox", "dash", "fish", "ksh", "sh", "zsh"];

/// Returns true if a word is the shell option that makes the next word a script, such as `-c` or `-ec`.
fn is_script_option(word: &Word) -> bool {
    let [Segment::Text(text)] = word.segments.as_slice() else { return false };
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
            (Some(ArgvItem::Word(word)), Some([program])) if program.has_placeholder() => {
                Err(TemplateError::Program { word: word.clone() })
            }
            _ => {
                let template = Self { groups };
                match template.script_with_placeholder() {
                    Some(word) => Err(TemplateError::Script { argument: word.into() }),
                    None => Ok(template),
                }
            }
        }
    }

    /// Returns an argument that would become part of a script: its value could run any other program.
    fn script_with_placeholder(&self) -> Option<&str> {
        let program = self.program()?.rsplit('/').next()?;
        if !SHELLS.contains(&program) {
            return None;
        }
        let words: Vec<&Word> = self.groups.iter().flatten().collect();
        let mut scripts = words.windows(2).filter_map(|pair| match pair {
            [option, script] if is_script_option(option) => Some(script),
            _ => None,
        });
        scripts.next()?.segments.iter().find_map(|segment| match segment {
            Segment::Placeholder(name) => Some(name.as_str()),
            Segment::Text(_) => None,
        })
    }

    /// Returns the first word, which has no placeholders.
    pub(crate) fn program(&self) -> Option<&str> {
        match self.groups.first()?.first()?.segments.first()? {
            Segment::Text(text) => Some(text),
            Segment::Placeholder(_) => None,
        }
    }

    /// Returns the names of the arguments in placeholders.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().flatten().flat_map(|word| &word.segments).filter_map(|segment| match segment {
            Segment::Placeholder(name)
                if ![TOOL_PLACEHOLDER, ARGUMENTS_PLACEHOLDER].contains(&name.as_str()) =>
            {
                Some(name.as_str())
            }
            Segment::Placeholder(_) | Segment::Text(_) => None,
        })
    }

    /// Returns an error message for the first placeholder that no parameter of a tool fills. A tool whose schema is
    /// open may have any arguments.
    pub(crate) fn unknown_placeholder(&self, tool: &Tool) -> Option<String> {
        if accepts_any_argument(&tool.parameters) {
            return None;
        }
        let known: Vec<&str> = tool.parameter_names().collect();
        let placeholder = self.placeholders().find(|placeholder| !known.contains(placeholder))?;
        let suggestion = nearest(placeholder, known).map(|name| format!(", did you mean `{{{name}}}`?"));
        Some(format!("`{{{placeholder}}}` is not one of the `parameters`{}", suggestion.unwrap_or_default()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Fills in the whole command line. After a literal `--` programs accept no options, so words may start with `-`
    /// there.
    pub(crate) fn fill(&self, tool: &str, arguments: &JsonObject) -> Result<Vec<String>, TemplateError> {
        let end_of_options = Word { segments: vec![Segment::Text("--".into())] };
        let mut is_option_safe = false;
        let mut argv = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            // A `--` inside of a group affects the rest only if the group is not omitted.
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
