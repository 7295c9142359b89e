//! Files and folders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::glob::{Glob, Star};
use crate::{PolicyError, SettingLocation};

/// The permitted operations on a file.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Reading it, and listing a folder.
    #[default]
    Read,
    /// Changing it; reading it too.
    Write,
}

/// A file, a folder with all that is below it, or a glob, and what may be done there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathRule {
    /// The path or glob of the files.
    pub path: String,
    /// The permitted operations; `read` by default.
    #[serde(default)]
    pub mode: Mode,
}

/// The characters of a glob.
const GLOB: [char; 4] = ['*', '?', '[', '{'];

impl PathRule {
    /// Returns true if the path is a glob.
    pub fn is_glob(&self) -> bool {
        self.path.contains(GLOB)
    }

    /// Returns the path, or the folder before the first special character of a glob.
    pub fn folder(&self) -> &str {
        let Some(at) = self.path.find(GLOB) else { return &self.path };
        let before = self.path.get(..at).unwrap_or_default();
        before.rfind('/').and_then(|end| before.get(..=end)).unwrap_or(".")
    }
}

#[derive(Debug)]
pub(super) struct CompiledPathRule {
    files: Files,
    mode: Mode,
}

#[derive(Debug)]
enum Files {
    /// This, and all that is below it.
    Below(Path),
    Glob(Glob),
}

/// A path without `.`, `..` and doubled slashes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path {
    is_absolute: bool,
    parts: Vec<String>,
}

impl CompiledPathRule {
    pub(super) fn new(place: &SettingLocation, rule: &PathRule) -> Result<Self, PolicyError> {
        let Some(path) = normalised(&rule.path) else {
            let problem =
                "is no path that can be compared; write it without `..`, as `data` or `/srv/data/**`";
            return Err(super::wrong(place, &rule.path, problem));
        };
        let files = if rule.is_glob() {
            Files::Glob(Glob::new(place, &rule.path, &path.text(), Star::Folder)?)
        } else {
            Files::Below(path)
        };
        Ok(Self { files, mode: rule.mode })
    }

    pub(super) fn allows(&self, path: &Path, mode: Mode) -> bool {
        self.mode >= mode
            && match &self.files {
                Files::Below(own) => {
                    own.is_absolute == path.is_absolute && path.parts.starts_with(&own.parts)
                }
                Files::Glob(glob) => glob.fits(&path.text()),
            }
    }
}

impl Path {
    fn text(&self) -> String {
        let root = if self.is_absolute { "/" } else { "" };
        format!("{root}{}", self.parts.join("/"))
    }
}

/// Returns the path in the form that it is compared in; `None` where it cannot be said where it leads.
pub(super) fn normalised(path: &str) -> Option<Path> {
    if path.is_empty() || path.contains('\0') {
        return None;
    }
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // Behind a symlink it does not mean what it says.
            ".." => return None,
            part => parts.push(part.to_owned()),
        }
    }
    Some(Path { is_absolute: path.starts_with('/'), parts })
}
