//! What stands before the text of a skill.

use serde::Deserialize;
use toolcrib_document::{Format, Limits, parse as parse_document};

use super::{MAX_FRONT_MATTER_BYTES, MAX_LISTED, MAX_SKILL_NAME_CHARS};

/// The longest description that is kept, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// The longest name of a tool, or trigger, that is kept, in characters.
const MAX_LISTED_CHARS: usize = 200;

/// The line before the front matter, and the one after it.
const FENCE: &str = "---";

/// A skill's file.
#[derive(Debug)]
pub(super) struct Parsed {
    /// The name that it gives itself.
    pub(super) name: Option<String>,
    pub(super) description: String,
    pub(super) allowed_tools: Vec<String>,
    pub(super) triggers: Vec<String>,
    /// What follows the front matter.
    pub(super) text: String,
}

/// Other keys are for other programs, and mean nothing here.
#[derive(Deserialize)]
#[serde(expecting = "a mapping with a `description`")]
struct FrontMatter {
    name: Option<String>,
    description: String,
    #[serde(rename = "allowed-tools", alias = "allowed_tools", default)]
    allowed_tools: Option<Listed>,
    #[serde(default)]
    triggers: Option<Listed>,
}

/// A list, or a text with commas.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a list of texts, or a text with commas")]
enum Listed {
    Text(String),
    Items(Vec<String>),
}

/// Reads a skill's file.
pub(super) fn parse(text: &str) -> Result<Parsed, String> {
    let (front, rest) = split(text)?;
    if front.len() > MAX_FRONT_MATTER_BYTES {
        return Err(format!("its front matter has more than {MAX_FRONT_MATTER_BYTES} bytes"));
    }
    // With the fence before it, which YAML takes for the begin of a document, so that lines count as in the file.
    let limits = Limits { max_bytes: MAX_FRONT_MATTER_BYTES, ..Limits::default() };
    let document = parse_document(front.as_bytes(), Format::Yaml, &limits)
        .map_err(|error| error.at("its front matter"))?;
    let front: FrontMatter = document.deserialize().map_err(|error| error.at("its front matter"))?;
    let description: String = front.description.trim().chars().take(MAX_DESCRIPTION_CHARS).collect();
    if description.is_empty() {
        return Err("its `description` is empty; say what it is good for".to_owned());
    }
    if let Some(name) = &front.name {
        check_name(name)?;
    }
    Ok(Parsed {
        name: front.name,
        description,
        allowed_tools: listed("allowed-tools", front.allowed_tools)?,
        triggers: listed("triggers", front.triggers)?,
        text: rest.trim().to_owned(),
    })
}

/// The front matter with the fence before it, and what follows.
fn split(text: &str) -> Result<(&str, &str), String> {
    let is_fence = |line: &str| line.trim_end() == FENCE;
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_fence(line));
    let Some(first) = first else {
        return Err(
            "it does not begin with front matter: a line `---`, then its `description`, then `---`".into()
        );
    };
    let mut end = first.len();
    for line in lines {
        if is_fence(line) {
            let rest = text.get(end + line.len()..).unwrap_or_default();
            return Ok((text.get(..end).unwrap_or_default(), rest));
        }
        end += line.len();
    }
    Err("its front matter has no end: a line `---`".to_owned())
}

/// Refuses what is no name.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.chars().all(is_plain) && name.len() <= MAX_SKILL_NAME_CHARS {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_SKILL_NAME_CHARS).collect();
    Err(format!(
        "`{}` is no name for a skill: a letter or digit, then letters, digits, `-` and `_`, {MAX_SKILL_NAME_CHARS} at \
         most",
        shown.escape_debug()
    ))
}

fn listed(key: &str, listed: Option<Listed>) -> Result<Vec<String>, String> {
    let items = match listed {
        None => Vec::new(),
        Some(Listed::Items(items)) => items,
        Some(Listed::Text(text)) => split_list(&text),
    };
    let items: Vec<String> =
        items.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect();
    if items.len() > MAX_LISTED {
        return Err(format!("its `{key}` has {} entries, more than {MAX_LISTED}", items.len()));
    }
    if items.iter().any(|item| item.chars().count() > MAX_LISTED_CHARS) {
        return Err(format!("an entry of its `{key}` has more than {MAX_LISTED_CHARS} characters"));
    }
    Ok(items)
}

/// The entries of a text, between commas that do not stand in parentheses.
fn split_list(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut items = vec![String::new()];
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    items
}
