//! The form of source files: short enough, introduced, finished.

use std::collections::BTreeMap;

use super::TextFile;
use super::rules::{CRATES_FOLDER, MAX_LINES, MAX_ROOT_FILES, UNSAFE_FILES};
use super::violation::Violation;

/// What nobody leaves behind, with the reason. Written in halves, so that this file does not report itself.
const MARKS: &[(&str, &str)] = &[
    (concat!("#[ig", "nore"), "a test that does not run proves nothing"),
    (concat!("to", "do!("), "finish it, or leave it out"),
    (concat!("unimple", "mented!("), "finish it, or leave it out"),
    (concat!("FIX", "ME"), "mend it, or open an issue"),
    (concat!("XX", "X"), "mend it, or open an issue"),
];

/// The modules whose `sleep` no test calls.
const CLOCKS: &[&str] = &["thread", "time"];

/// Checks one Rust file.
pub(super) fn check(file: &TextFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    let length = file.text.lines().count();
    if length > MAX_LINES {
        let message = format!("{length} lines, at most {MAX_LINES}: look for the second concept inside");
        violations.push(Violation::of(&file.path, message));
    }
    if !file.text.starts_with("//!") {
        violations.push(Violation::at(&file.path, 1, "has to open with `//!`: say what the module is for"));
    }
    let (is_library, is_test) = (file.path.ends_with("/lib.rs"), is_test(&file.path));
    let mut above = "";
    for (index, line) in file.text.lines().enumerate() {
        let mut report = |message: String| violations.push(Violation::at(&file.path, index + 1, message));
        for (mark, reason) in MARKS.iter().filter(|(mark, _)| line.contains(mark)) {
            report(format!("`{mark}`: {reason}"));
        }
        if line.contains(concat!("(unsafe", "_code")) && !UNSAFE_FILES.contains(&file.path.as_str()) {
            report("only the files of `UNSAFE_FILES` may contain unsafe code".to_owned());
        }
        if is_test && sleeps(line) {
            report("a test may not sleep: use a paused clock, or wait for the event".to_owned());
        }
        // The compiler wants macros here.
        if is_library && is_function(line) && !above.trim_start().starts_with("#[proc_macro") {
            report("lib.rs is a table of contents: move the function into a module".to_owned());
        }
        above = line;
    }
    violations
}

/// Checks that the files of some folders together, without tests, stay below a number of lines.
pub(super) fn check_small_folders(files: &[TextFile], folders: &[(&str, usize)]) -> Vec<Violation> {
    let total = |folder: &str| -> usize {
        let inside = files.iter().filter(|file| file.path.starts_with(folder) && !is_test(&file.path));
        inside.map(|file| file.text.lines().count()).sum()
    };
    folders
        .iter()
        .map(|(folder, limit)| (folder, limit, total(folder)))
        .filter(|(_, limit, total)| total >= limit)
        .map(|(folder, limit, total)| {
            Violation::of(folder, format!("{total} lines in all, has to stay below {limit}"))
        })
        .collect()
}

/// Checks that the sources of each crate are grouped in folders.
pub(super) fn check_crate_roots(files: &[TextFile]) -> Vec<Violation> {
    let mut roots: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.starts_with(CRATES_FOLDER)) {
        if let Some((folder, _)) = file.path.rsplit_once('/').filter(|(folder, _)| folder.ends_with("/src")) {
            *roots.entry(folder).or_default() += 1;
        }
    }
    let crowded = roots.into_iter().filter(|(_, count)| *count > MAX_ROOT_FILES);
    crowded
        .map(|(folder, count)| {
            Violation::of(folder, format!("{count} files, at most {MAX_ROOT_FILES}: group them in folders"))
        })
        .collect()
}

/// Whether a file holds nothing but tests: `tests.rs`, anything in a folder `tests`, the integration tests.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').rev().skip(1).any(|folder| folder == "tests")
}

/// Whether a line calls or imports one of the sleeps.
fn sleeps(line: &str) -> bool {
    CLOCKS.iter().any(|clock| {
        let imports = || line.contains(&format!("{clock}::{{")) && line.contains("sleep");
        line.contains(&format!("{clock}::sleep")) || imports()
    })
}

/// Whether a line begins a function, whatever its visibility and qualifiers.
fn is_function(line: &str) -> bool {
    let qualifies = |word: &&str| {
        word.starts_with("pub") || ["async", "const", "unsafe", "extern", "crate)"].contains(word)
    };
    line.split_whitespace().find(|word| !qualifies(word)) == Some("fn")
}
