//! The front matter of a skill.

use serde::Deserialize;
use toolcrib_document::{Format, Limits, parse as parse_document};

use super::{MAX_FRONT_MATTER_BYTES, MAX_LISTED, MAX_SKILL_NAME_CHARS};

/// The maximum length of a description in characters. Longer descriptions are truncated.
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// The maximum length of a tool name or trigger in characters.
const MAX_LISTED_CHARS: usize = 200;

/// The line before and after the front matter.
const FENCE: &str = "---";

/// The parsed file of a skill.
#[derive(Debug)]
pub(super) struct SkillFile {
    /// The name in the front matter.
    pub(super) name: Option<String>,
    pub(super) description: String,
    pub(super) allowed_tools: Vec<String>,
    pub(super) triggers: Vec<String>,
    /// The text after the front matter.
    pub(super) text: String,
}

/// The front matter. Keys for other programs are ignored.
#[derive(Deserialize)]
#[serde(expecting = "a mapping with a `description`")]
struct FrontMatter {
    name: Option<String>,
    description: String,
    #[serde(rename = "allowed-tools", alias = "allowed_tools", default)]
    allowed_tools: Option<ListOrText>,
    #[serde(default)]
    triggers: Option<ListOrText>,
}

/// A list, or a text of comma-separated entries.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a list of texts, or a text with commas")]
enum ListOrText {
    Text(String),
    Items(Vec<String>),
}

/// Parses the file of a skill.
pub(super) fn parse(text: &str) -> Result<SkillFile, String> {
    let (front, rest) = split(text)?;
    if front.len() > MAX_FRONT_MATTER_BYTES {
        return Err(format!("its front matter has more than {MAX_FRONT_MATTER_BYTES} bytes"));
    }
    // The text includes the opening fence, which YAML reads as a document start, so that line numbers match the file.
    let limits = Limits { max_bytes: MAX_FRONT_MATTER_BYTES, ..Limits::default() };
    let document = parse_document(front.as_bytes(), Format::Yaml, &limits)
        .map_err(|error| error.at("its front matter"))?;
    let front: FrontMatter = document.deserialize().map_err(|error| error.at("its front matter"))?;
    let description: String = front.description.trim().chars().take(MAX_DESCRIPTION_CHARS).collect();
    if description.is_empty() {
        return Err("its `description` is empty; describe its purpose".to_owned());
    }
    if let Some(name) = &front.name {
        check_name(name)?;
    }
    Ok(SkillFile {
        name: front.name,
        description,
        allowed_tools: entries("allowed-tools", front.allowed_tools)?,
        triggers: entries("triggers", front.triggers)?,
        text: rest.trim().to_owned(),
    })
}

/// Splits a text into the front matter, including the opening fence, and the rest.
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

/// Returns an error if a name is invalid.
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

fn entries(key: &str, listed: Option<ListOrText>) -> Result<Vec<String>, String> {
    let items = match listed {
        None => Vec::new(),
        Some(ListOrText::Items(items)) => items,
        Some(ListOrText::Text(text)) => split_list(&text),
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

/// Splits a text at the commas outside of parentheses.
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
