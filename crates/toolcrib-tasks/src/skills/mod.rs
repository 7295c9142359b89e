//! Skills: workflows that somebody wrote down, which an agent loads when it needs one.
//!
//! A skill is a Markdown file with front matter, `NAME.md` or `NAME/SKILL.md` in one of the folders that [`Skills::read`] is
//! given. It grants nothing: what it tells an agent to call, goes through the gate like any call.

mod front_matter;
mod scan;
mod use_skill;

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use toolcrib_io::files::{Kind, Root, WalkLimits};
use toolcrib_model::{ErrorKind, ToolError};

use self::front_matter::Parsed;

pub use use_skill::{MAX_ARGUMENTS_CHARS, USE_SKILL};

/// The most skills in all folders.
pub const MAX_SKILLS: usize = 256;

/// The most bytes of a skill's file: about 16,000 tokens, several times what a good one has.
pub const MAX_SKILL_BYTES: usize = 64 * 1024;

/// The most bytes of the front matter of one.
pub const MAX_FRONT_MATTER_BYTES: usize = 8 * 1024;

/// The longest name of a skill, in characters.
pub const MAX_SKILL_NAME_CHARS: usize = 64;

/// The most tools that a skill lists, and the most triggers.
pub const MAX_LISTED: usize = 100;

/// The most files beside a skill that are told of.
pub const MAX_SKILL_FILES: usize = 100;

/// How deep files beside a skill are looked for.
const MAX_FILES_DEPTH: usize = 4;

/// The file of a skill that is a folder.
const SKILL_FILE: &str = "SKILL.md";

/// The skills of some folders.
#[derive(Debug, Default)]
pub struct Skills {
    skills: Vec<Skill>,
    rejected: Vec<RejectedSkill>,
}

/// What is known of a skill without its text, which is read when it is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Skill {
    /// Its name: a letter or digit, then letters, digits, `-` and `_`.
    pub name: String,
    /// What it is good for.
    pub description: String,
    /// Words by which it is asked for.
    pub triggers: Vec<String>,
    /// The tools that it is written for, as it spells them.
    pub allowed_tools: Vec<String>,
    root: Root,
    /// Its file, relative to the root.
    file: PathBuf,
    /// Where its folder is, as a model is told; none for a skill that is a single file.
    shown: Option<String>,
}

/// A file that is no skill, or a folder that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedSkill {
    /// Where it is.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A folder with skills.
#[derive(Clone, Debug)]
pub struct SkillFolder {
    /// Where it is.
    pub path: PathBuf,
    /// The same as a model is told, with which it reads the files beside a skill.
    pub shown: String,
}

impl Skills {
    /// Looks for the skills of these folders. Of two with one name the first counts. What cannot be used is
    /// [rejected](Self::rejected), and hides nothing else.
    pub fn read(folders: &[SkillFolder]) -> Self {
        let mut skills = Self::default();
        for folder in folders {
            scan::scan(folder, &mut skills);
        }
        skills.skills.sort_by(|one, other| one.name.cmp(&other.name));
        skills
    }

    /// The skills, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// The skill of this name, which may have a slash before it, as a user writes it.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        let name = bare(name);
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// What is no skill, and why.
    pub fn rejected(&self) -> &[RejectedSkill] {
        &self.rejected
    }
}

/// A name without the slash before it.
fn bare(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix('/').unwrap_or(name)
}

impl Skill {
    /// The folder that is the skill's own, where it is one; there its programs and other files are.
    pub fn folder(&self) -> Option<PathBuf> {
        self.shown.as_ref()?;
        Some(self.root.path().join(self.file.parent()?))
    }

    /// Whether its folder holds a file of this name. A symlink is none.
    pub fn holds(&self, name: &str) -> bool {
        let Some(folder) = self.file.parent().filter(|_| self.shown.is_some()) else { return false };
        self.root.symlink_metadata(folder.join(name)).is_ok_and(|found| found.kind == Kind::File)
    }

    /// Its text and the tools that it lists, as they are now.
    fn text(&self) -> Result<Parsed, ToolError> {
        let wrong = |reason: String| {
            let message = format!("the skill `{}` cannot be read any more: {reason}", self.name);
            ToolError::new(ErrorKind::Unavailable, message).with_hint("go on without it, and say so")
        };
        let text = read(&self.root, &self.file).map_err(wrong)?;
        front_matter::parse(&text).map_err(wrong)
    }

    /// The files beside it, relative to its folder, and whether there are more.
    fn files(&self) -> (Vec<String>, bool) {
        let Some(folder) = self.file.parent().filter(|_| self.shown.is_some()) else {
            return (Vec::new(), false);
        };
        let limits = WalkLimits { entries: MAX_SKILL_FILES, depth: MAX_FILES_DEPTH };
        // What cannot be listed is not there for the model either.
        let walk = self.root.walk(folder, limits).unwrap_or_default();
        let files = walk.entries.iter().filter(|entry| entry.kind == Kind::File && entry.path != self.file);
        let names =
            files.filter_map(|entry| Some(entry.path.strip_prefix(folder).ok()?.display().to_string()));
        (names.collect(), walk.truncated)
    }
}

/// The text of a file below a root, within bounds.
fn read(root: &Root, file: &Path) -> Result<String, String> {
    let slice = root.read(file, 0, MAX_SKILL_BYTES).map_err(|error| error.to_string())?;
    if slice.truncated {
        return Err(format!(
            "it has more than {MAX_SKILL_BYTES} bytes; put what is long into files beside it"
        ));
    }
    let text = String::from_utf8(slice.bytes)
        .map_err(|error| format!("byte {} is no UTF-8", error.utf8_error().valid_up_to()))?;
    if text.contains('\0') {
        return Err("it is no text: it holds a NUL character".to_owned());
    }
    Ok(text)
}
