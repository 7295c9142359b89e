//! Skills: written workflows that an agent loads on demand.
//!
//! A skill is a Markdown file with front matter, `NAME.md` or `NAME/SKILL.md` in one of the folders that are passed to
//! [`Skills::read`]. It grants no permissions: the policy applies to the calls that it tells an agent to make.

mod front_matter;
mod scan;
mod use_skill;

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use toolcrib_document::without_byte_order_mark;
use toolcrib_io::files::{Kind, Root, WalkLimits};
use toolcrib_model::{ErrorKind, ToolError};

use self::front_matter::SkillFile;

pub use use_skill::USE_SKILL;

/// The maximum number of skills in all folders.
const MAX_SKILLS: usize = 256;

/// The maximum size of a skill's file in bytes: about 16,000 tokens, several times the size of a good skill.
const MAX_SKILL_BYTES: usize = 64 * 1024;

/// The maximum size of the front matter of a skill in bytes.
const MAX_FRONT_MATTER_BYTES: usize = 8 * 1024;

/// The maximum length of the name of a skill in characters.
const MAX_SKILL_NAME_CHARS: usize = 64;

/// The maximum number of tools and of triggers that a skill lists.
const MAX_LISTED: usize = 100;

/// The number of triggers of a skill in a prompt.
const MAX_TOLD_TRIGGERS: usize = 5;

/// The maximum number of files in the folder of a skill that are listed.
const MAX_SKILL_FILES: usize = 100;

/// The depth to which the folder of a skill is searched for files.
const MAX_FILES_DEPTH: usize = 4;

/// The file of a skill that is a folder.
const SKILL_FILE: &str = "SKILL.md";

/// The skills of some folders.
#[derive(Debug, Default)]
pub struct Skills {
    skills: Vec<Skill>,
    rejected: Vec<RejectedSkill>,
}

/// A skill without its text, which is read when the skill is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Skill {
    /// Its name: a letter or digit, then letters, digits, `-` and `_`.
    pub name: String,
    /// The description of its purpose.
    pub description: String,
    /// The words that trigger it.
    pub triggers: Vec<String>,
    /// The tools that it uses, in its own spelling.
    pub allowed_tools: Vec<String>,
    root: Root,
    /// Its file, relative to the root.
    file: PathBuf,
    /// The path of its folder as models see it. `None` for a skill that is a single file.
    shown: Option<String>,
}

/// A file that is not a valid skill, or a folder that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedSkill {
    /// The path of the file or folder.
    pub path: String,
    /// The reason for the rejection.
    pub reason: String,
}

/// A folder with skills.
#[derive(Clone, Debug)]
pub struct SkillFolder {
    /// The path of the folder.
    pub path: PathBuf,
    /// The path as models see it, by which they read the other files of a skill.
    pub shown: String,
}

impl Skills {
    /// Reads the skills in these folders. The first of several skills with the same name wins. An invalid skill is
    /// [rejected](Self::rejected) without an effect on the others.
    pub fn read(folders: &[SkillFolder]) -> Self {
        let mut skills = Self::default();
        for folder in folders {
            scan::scan(folder, &mut skills);
        }
        skills.skills.sort_by(|one, other| one.name.cmp(&other.name));
        skills
    }

    /// Returns the skills, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter()
    }

    /// Returns true if there are no skills.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Returns a skill by its name, with or without a leading slash.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        let name = without_slash(name);
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// Returns the rejected files and folders.
    pub fn rejected(&self) -> &[RejectedSkill] {
        &self.rejected
    }
}

/// Returns a name without its leading slash.
fn without_slash(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix('/').unwrap_or(name)
}

impl Skill {
    /// Returns its purpose, with some of its triggers.
    pub fn about(&self) -> String {
        let triggers: Vec<&str> = self.triggers.iter().take(MAX_TOLD_TRIGGERS).map(String::as_str).collect();
        if triggers.is_empty() {
            self.description.clone()
        } else {
            format!("{} For: {}", self.description, triggers.join(", "))
        }
    }

    /// Returns the folder of the skill, which contains its programs and other files. Returns `None` for a single file.
    pub fn folder(&self) -> Option<PathBuf> {
        self.shown.as_ref()?;
        Some(self.root.path().join(self.file.parent()?))
    }

    /// Returns true if its folder contains a regular file with this name.
    pub fn holds(&self, name: &str) -> bool {
        let Some(folder) = self.file.parent().filter(|_| self.shown.is_some()) else { return false };
        self.root.symlink_metadata(folder.join(name)).is_ok_and(|found| found.kind == Kind::File)
    }

    /// Reads the current text of the skill and the tools that it lists.
    fn text(&self) -> Result<SkillFile, ToolError> {
        let wrong = |reason: String| {
            let message = format!("the skill `{}` cannot be read any more: {reason}", self.name);
            ToolError::new(ErrorKind::Unavailable, message).with_hint("continue without it, and say so")
        };
        let text = read(&self.root, &self.file).map_err(wrong)?;
        front_matter::parse(&text).map_err(wrong)
    }

    /// Returns the other files of the skill, relative to its folder, and true if the list is truncated.
    fn files(&self) -> (Vec<String>, bool) {
        let Some(folder) = self.file.parent().filter(|_| self.shown.is_some()) else {
            return (Vec::new(), false);
        };
        let limits = WalkLimits { entries: MAX_SKILL_FILES, depth: MAX_FILES_DEPTH };
        // A file that cannot be listed does not exist for the model.
        let walk = self.root.walk(folder, limits).unwrap_or_default();
        let files = walk.entries.iter().filter(|entry| entry.kind == Kind::File && entry.path != self.file);
        let names =
            files.filter_map(|entry| Some(entry.path.strip_prefix(folder).ok()?.display().to_string()));
        (names.collect(), walk.truncated)
    }
}

/// Reads a text file below a root, within bounds.
fn read(root: &Root, file: &Path) -> Result<String, String> {
    let slice = root.read(file, 0, MAX_SKILL_BYTES).map_err(|error| error.to_string())?;
    if slice.truncated {
        return Err(format!(
            "it has more than {MAX_SKILL_BYTES} bytes; move long parts to other files in its folder"
        ));
    }
    let text = std::str::from_utf8(without_byte_order_mark(&slice.bytes))
        .map(str::to_owned)
        .map_err(|error| format!("byte {} is no UTF-8", error.valid_up_to()))?;
    if text.contains('\0') {
        return Err("it is no text: it holds a NUL character".to_owned());
    }
    Ok(text)
}
