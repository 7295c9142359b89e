//! The language of comments, messages and type names. Idioms are written in halves here too.

use super::super::prose::{check_page, check_source, check_type_names, is_checked};
use super::{file, printed};

fn check_text(text: &str) -> Vec<String> {
    printed(&check_source(&file("crates/a/src/b.rs", text)))
}

#[test]
fn plain_english_passes() {
    let text = "//! A rate limiter.\n\n/// Returns the tokens left.\n///\n/// When none are left, waits.\nfn left() {}\n";
    assert_eq!(check_text(text), [""; 0]);
}

#[test]
fn a_doc_comment_that_opens_with_a_question_word_is_reported() {
    let expected = "crates/a/src/b.rs:1: a doc comment opens with `What`: open with a verb or a noun phrase";
    assert_eq!(check_text("/// What is left.\nfn left() {}\n"), [expected]);
    assert_eq!(check_text("//! What is left.\n"), [expected]);
    assert_eq!(check_text("// What is left is put back.\n"), [""; 0], "comments may say why");
}

#[test]
fn an_idiom_is_reported_in_comments_and_messages_as_a_whole_word() {
    let idiom = concat!("who", "ever");
    for line in [format!("// For {idiom} reads."), format!("    fail(\"{idiom} calls\");")] {
        let violations = check_text(&line);
        assert_eq!(violations.len(), 1, "{line}");
        assert!(violations[0].contains(&format!("`{idiom}`: write plain English")), "{violations:?}");
    }
    assert_eq!(check_text(&format!("let {idiom} = 1;\n// {idiom}s\n")), [""; 0]);
}

#[test]
fn a_vague_type_name_is_reported() {
    for line in ["struct Desk;", "pub(crate) enum Desk {", "    pub trait Desk {", "type Desk = u8;"] {
        assert_eq!(check_text(line).len(), 1, "{line}");
    }
    assert_eq!(check_text("struct Desktop;\nlet desk = Desk;\n"), [""; 0]);
}

#[test]
fn a_type_name_that_a_crate_uses_twice_is_reported() {
    let files = [
        file("crates/a/src/b.rs", "struct Row;\n"),
        file("crates/a/src/c.rs", "\npub struct Row;\nstruct Error;\n"),
        file("crates/b/src/c.rs", "struct Row;\nstruct Error;\nstruct Column;\n"),
        file("crates/a/src/d.rs", "enum Error {}\n"),
    ];
    let expected = "a: several types are called `Row`: crates/a/src/b.rs:1, crates/a/src/c.rs:2";
    assert_eq!(printed(&check_type_names(files.iter())), [expected]);
}

#[test]
fn an_idiom_is_reported_on_pages_and_not_in_their_code() {
    let idiom = concat!("who", "ever");
    let page = file("docs/a.md", &format!("For {idiom} reads.\n```\n{idiom}\n```\n"));
    let expected = format!("docs/a.md:1: `{idiom}`: write plain English (the caller, anyone who)");
    assert_eq!(printed(&check_page(&page)), [expected]);
}

#[test]
fn the_sources_of_all_crates_are_checked_and_tests_are_not() {
    assert!(is_checked("crates/a/src/b.rs"));
    for path in ["crates/a/src/tests.rs", "crates/a/src/b/tests/c.rs", "xtask/src/main.rs", "tests/src/a.rs"]
    {
        assert!(!is_checked(path), "{path}");
    }
}
