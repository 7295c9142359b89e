//! The form of source files. What may stand in no source file is written in halves here too.

use super::super::sources::{check, check_crate_roots, check_small_folders};
use super::{file, printed};

fn check_text(path: &str, text: &str) -> Vec<String> {
    printed(&check(&file(path, text)))
}

#[test]
fn a_plain_file_passes() {
    assert!(check_text("crates/a/src/b.rs", "//! What it is for.\n\nfn work() {}\n").is_empty());
}

#[test]
fn the_five_hundredth_line_is_the_last() {
    let lines = |count: usize| format!("//! Long.\n{}", "\n".repeat(count - 1));
    assert!(check_text("xtask/src/a.rs", &lines(500)).is_empty());
    let expected = "xtask/src/a.rs: 501 lines, at most 500: look for the second concept inside";
    assert_eq!(check_text("xtask/src/a.rs", &lines(501)), [expected]);
}

#[test]
fn a_file_without_an_introduction_is_reported() {
    let expected = "tests/src/a.rs:1: has to open with `//!`: say what the module is for";
    for text in
        ["", "use std::fs;\n//! Late.\n", "\n//! After a blank line.\n", "/// An item's.\nfn f() {}\n"]
    {
        assert_eq!(check_text("tests/src/a.rs", text), [expected], "{text:?}");
    }
}

#[test]
fn what_is_unfinished_or_switched_off_is_reported() {
    for (line, mark) in [
        (concat!("#[ig", "nore]"), concat!("#[ig", "nore")),
        (concat!("    #[ig", "nore = \"slow\"]"), concat!("#[ig", "nore")),
        (concat!("    to", "do!()"), concat!("to", "do!(")),
        (concat!("    unimple", "mented!(\"later\")"), concat!("unimple", "mented!(")),
        (concat!("// FIX", "ME: later"), concat!("FIX", "ME")),
        (concat!("// XX", "X"), concat!("XX", "X")),
    ] {
        let found = check_text("crates/a/src/b.rs", &format!("//! B.\n\n{line}\n"));
        assert_eq!(found.len(), 1, "{line}");
        assert!(found[0].starts_with(&format!("crates/a/src/b.rs:3: `{mark}`: ")), "{found:?}");
    }
}

#[test]
fn unsafe_code_is_allowed_in_the_listed_files_only() {
    let text = concat!("//! A module.\n#[expect(unsafe", "_code, reason = \"none\")]\n");
    let expected = "crates/a/src/b.rs:2: only the files of `UNSAFE_FILES` may contain unsafe code";
    assert_eq!(check_text("crates/a/src/b.rs", text), [expected]);
    assert!(check_text("crates/toolcrib-io/src/files/mapped.rs", text).is_empty());
}

#[test]
fn tests_do_not_sleep() {
    let calls = [
        concat!("tokio::time::", "sleep(SECOND).await;"),
        concat!("use std::thread::", "sleep;"),
        concat!("use tokio::time::", "{Duration, sleep};"),
    ];
    for call in calls {
        let text = format!("//! Tests.\n{call}\n");
        for path in ["crates/a/src/tests.rs", "crates/a/src/b/tests/c.rs", "tests/src/d.rs"] {
            let expected =
                format!("{path}:2: a test may not sleep: use a paused clock, or wait for the event");
            assert_eq!(check_text(path, &text), [expected], "{call}");
        }
        assert!(check_text("crates/a/src/watch.rs", &text).is_empty());
    }
    assert!(check_text("tests/src/d.rs", "//! D.\nuse tokio::time::{Duration, timeout};\n").is_empty());
}

#[test]
fn a_table_of_contents_has_no_functions() {
    let head = "//! A crate.\n//! fn main() {}\n\nmod work;\npub use work::Work;\n";
    assert!(check_text("crates/a/src/lib.rs", head).is_empty());
    for function in ["fn work() {}", "pub async fn work() {}", "    pub(in crate) const fn work() {}"] {
        let text = format!("{head}{function}\n");
        let expected =
            "crates/a/src/lib.rs:6: lib.rs is a table of contents: move the function into a module";
        assert_eq!(check_text("crates/a/src/lib.rs", &text), [expected], "{function}");
        assert!(check_text("crates/a/src/work.rs", &text).is_empty());
        let text = format!("{head}#[proc_macro_attribute]\n{function}\n");
        assert!(check_text("crates/a/src/lib.rs", &text).is_empty(), "a macro has to stand here");
    }
}

#[test]
fn a_small_folder_stays_small() {
    let files = [
        file("crates/a/src/b.rs", "1\n2\n"),
        file("crates/a/src/c.rs", "3\n"),
        file("crates/a/src/tests/b.rs", "4\n5\n"),
        file("crates/ab/d.rs", "6\n"),
    ];
    assert!(check_small_folders(&files, &[("crates/a/", 4)]).is_empty());
    let found = printed(&check_small_folders(&files, &[("crates/a/", 3)]));
    assert_eq!(found, ["crates/a/: 3 lines in all, has to stay below 3"]);
}

#[test]
fn more_than_fifteen_files_at_the_root_of_a_crate_are_reported() {
    let mut files: Vec<_> = (0..15).map(|number| file(&format!("crates/a/src/f{number}.rs"), "")).collect();
    files.extend((0..20).map(|number| file(&format!("crates/a/src/b/f{number}.rs"), "")));
    assert!(check_crate_roots(&files).is_empty());
    files.push(file("crates/a/src/lib.rs", ""));
    let expected = "crates/a/src: 16 files, at most 15: group them in folders";
    assert_eq!(printed(&check_crate_roots(&files)), [expected]);
}
