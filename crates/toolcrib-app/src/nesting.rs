//! Apps that start Toolcrib again through one of their sources.

use std::path::{Path, PathBuf};

use serde_json::Value;
use toolcrib_io::process::{DEPTH_VARIABLE, depth};

/// The most Toolcrib processes that start one another through their sources: each may serve an app to the one above.
pub(crate) const MAX_PROCESS_DEPTH: usize = 2;

/// The most sources of one app that serve other apps, by the number of Toolcrib processes above it. They bound the
/// processes of a whole tree to 1 + 16 + 16 × 4, if each command line is recognized.
pub(crate) const MAX_SERVED_APPS: [usize; MAX_PROCESS_DEPTH] = [16, 4];

/// The name of the program in any build.
const PROGRAM: &str = "toolcrib";

/// The command by which it serves an app.
const SERVE: &str = "serve";

/// Returns the message of a process that is this deep, where that is too deep.
pub fn too_deep(depth: usize) -> Option<String> {
    (depth > MAX_PROCESS_DEPTH).then(|| {
        format!(
            "{depth} Toolcrib processes have started one another, at most {MAX_PROCESS_DEPTH} may; remove the source by \
             which an app starts itself again (the variable `{DEPTH_VARIABLE}` counts them)"
        )
    })
}

/// Counts the sources of an app that serve other apps, so that the processes of a tree are bounded.
#[derive(Debug, Default)]
pub(crate) struct ServedApps {
    depth: usize,
    count: usize,
}

impl ServedApps {
    /// Counts those of the app of this process.
    pub(crate) fn of_this_process() -> Self {
        Self { depth: depth(), count: 0 }
    }

    /// Counts the command line of a source. Returns an error message where it would serve one app too many.
    pub(crate) fn add(&mut self, settings: &Value) -> Result<(), String> {
        let words = ["command", "worker"].iter().filter_map(|key| settings.get(key)?.as_array());
        let words: Vec<&str> = words.flatten().filter_map(Value::as_str).collect();
        if serve_arguments(&words).is_none() {
            return Ok(());
        }
        let most = MAX_SERVED_APPS.get(self.depth).copied().unwrap_or_default();
        if self.count < most {
            self.count += 1;
            return Ok(());
        }
        Err(format!(
            "it is not started: at most {most} sources of an app with {} Toolcrib processes above it may serve other apps; \
             remove the source, or name the other app under `tools.apps`",
            self.depth
        ))
    }
}

/// Returns the arguments behind `serve` of a command line that runs `toolcrib serve`: directly, behind a wrapper such
/// as
/// `npx`, or in the script of a shell. `None` for any other command line.
///
/// ```
/// use toolcrib_app::serve_arguments;
///
/// assert_eq!(serve_arguments(&["toolcrib", "serve", "app.yaml"]), Some(vec!["app.yaml"]));
/// assert_eq!(serve_arguments(&["sh", "-c", "exec /usr/bin/toolcrib serve app.yaml"]), Some(vec!["app.yaml"]));
/// assert_eq!(serve_arguments(&["npx", "-y", "toolcrib-tools", "serve"]), None);
/// ```
pub fn serve_arguments<'a>(command: &[&'a str]) -> Option<Vec<&'a str>> {
    // The script of a shell is one word.
    let split = command.iter().flat_map(|word| word.split_whitespace());
    let split: Vec<&str> = split.map(|word| word.trim_matches(['"', '\''])).collect();
    behind_serve(command).or_else(|| behind_serve(&split))
}

fn behind_serve<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let programs = words.iter().enumerate().filter(|(_, word)| is_program(word));
    programs.map(|(at, _)| at).find_map(|at| {
        let mut behind = words.iter().skip(at + 1).copied().skip_while(|word| word.starts_with('-'));
        (behind.next() == Some(SERVE)).then(|| behind.collect())
    })
}

/// Returns true if a word names this program: by its path, as a package with a version, or by its current name.
fn is_program(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.split(['@', ':']).next().unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let this = std::env::current_exe().ok();
    name == PROGRAM || this.as_deref().and_then(Path::file_stem).is_some_and(|this| this == name)
}

/// Returns true if a command line in this folder serves this app file.
pub(crate) fn serves(command: &[String], cwd: &Path, app: &Path) -> bool {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let app = real(app.to_owned());
    serve_arguments(&words).is_some_and(|words| words.iter().any(|word| real(cwd.join(word)) == app))
}
