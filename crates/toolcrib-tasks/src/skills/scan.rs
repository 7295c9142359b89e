//! The search for skills in a folder.

use std::path::{Path, PathBuf};

use toolcrib_io::Error;
use toolcrib_io::files::{Kind, Root};

use super::{MAX_SKILLS, RejectedSkill, SKILL_FILE, Skill, SkillFolder, Skills, front_matter, read};

/// Adds the skills of a folder.
pub(super) fn scan(folder: &SkillFolder, skills: &mut Skills) {
    let rejected = |path: String, reason: String| RejectedSkill { path, reason };
    let opened = Root::open(&folder.path).and_then(|root| Ok((root.list(".")?, root)));
    let (listing, root) = match opened {
        Ok(opened) => opened,
        Err(error) => return skills.rejected.push(rejected(folder.shown.clone(), error.to_string())),
    };
    if listing.truncated {
        let reason = "it has too many entries to scan; move files that are not skills elsewhere".to_owned();
        skills.rejected.push(rejected(folder.shown.clone(), reason));
    }
    for entry in listing.entries {
        let Some((file, is_folder)) = file_of(&root, &entry.name) else { continue };
        let shown = Path::new(&folder.shown).join(&file).display().to_string();
        match skill(folder, &root, &entry.name, file, is_folder) {
            Ok(skill) if skills.get(&skill.name).is_some() => {
                let reason = format!("there is a skill `{}` already", skill.name);
                skills.rejected.push(rejected(shown, reason));
            }
            Ok(_) if skills.skills.len() == MAX_SKILLS => {
                let reason = format!("there are {MAX_SKILLS} skills already, and no more are taken");
                return skills.rejected.push(rejected(shown, reason));
            }
            Ok(skill) => skills.skills.push(skill),
            Err(reason) => skills.rejected.push(rejected(shown, reason)),
        }
    }
}

/// Returns the file of a possible skill, and true if the skill is a folder.
fn file_of(root: &Root, name: &str) -> Option<(PathBuf, bool)> {
    if name.starts_with('.') {
        return None;
    }
    let is_markdown = Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
    match root.metadata(name).map(|found| found.kind) {
        Ok(Kind::Directory) => {
            let file = Path::new(name).join(SKILL_FILE);
            // A symlink out of the folder is kept here, so that reading it reports the reason.
            root.symlink_metadata(&file).is_ok().then_some((file, true))
        }
        Ok(Kind::File) => is_markdown.then(|| (name.into(), false)),
        // A symlink out of the folder may be a file or a folder. Reading it reports the reason.
        Err(Error::OutsideRoot { .. }) => Some((name.into(), false)),
        _ => None,
    }
}

fn skill(
    folder: &SkillFolder,
    root: &Root,
    entry: &str,
    file: PathBuf,
    is_folder: bool,
) -> Result<Skill, String> {
    let parsed = front_matter::parse(&read(root, &file)?)?;
    let name = match parsed.name {
        Some(name) => name,
        None => Path::new(entry).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into()),
    };
    front_matter::check_name(&name)?;
    Ok(Skill {
        name,
        description: parsed.description,
        triggers: parsed.triggers,
        allowed_tools: parsed.allowed_tools,
        root: root.clone(),
        shown: is_folder.then(|| Path::new(&folder.shown).join(entry).display().to_string()),
        file,
    })
}
