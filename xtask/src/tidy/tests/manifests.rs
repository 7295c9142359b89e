//! The form of manifests.

use super::super::manifests::check;
use super::{file, printed};

const GOOD: &str = "\
[package]
name = \"a\"
edition.workspace = true
rust-version.workspace = true
license = { workspace = true }

[dependencies]
serde.workspace = true
tokio = { workspace = true, features = [\"time\"] }

[target.'cfg(unix)'.dependencies]
rustix.workspace = true

[lints]
workspace = true
";

fn check_text(text: &str) -> Vec<String> {
    printed(&check(&file("crates/a/Cargo.toml", text)))
}

#[test]
fn a_manifest_that_inherits_passes() {
    assert_eq!(check_text(GOOD), [""; 0]);
}

#[test]
fn what_the_workspace_decides_is_inherited() {
    for (line, instead, wanted) in [
        ("edition.workspace = true", "edition = \"2021\"", "`edition.workspace = true`"),
        ("license = { workspace = true }", "license = \"MIT\"", "`license.workspace = true`"),
        ("license = { workspace = true }", "", "`license.workspace = true`"),
        ("rust-version.workspace = true", "", "`rust-version.workspace = true`"),
        ("[lints]\nworkspace = true", "", "`workspace = true` under `[lints]`"),
        (
            "[lints]\nworkspace = true",
            "[lints.rust]\nunsafe_code = \"allow\"",
            "`workspace = true` under `[lints]`",
        ),
    ] {
        let found = check_text(&GOOD.replace(line, instead));
        assert_eq!(found, [format!("crates/a/Cargo.toml: has to say {wanted}")]);
    }
}

#[test]
fn a_dependency_with_a_version_of_its_own_is_reported_with_its_line() {
    for (line, instead, place, name) in [
        ("serde.workspace = true", "serde = \"1\"", 8, "serde"),
        ("tokio = { workspace = true, ", "tokio = { version = \"1\", ", 9, "tokio"),
        ("rustix.workspace = true", "rustix = { path = \"../rustix\" }", 12, "rustix"),
        ("[lints]", "[dev-dependencies]\ninsta = \"1\"\n[lints]", 15, "insta"),
        ("[lints]", "[build-dependencies.cc]\nversion = \"1\"\n[lints]", 14, "cc"),
    ] {
        let message = "has to come from the workspace: `workspace = true`";
        let expected = format!("crates/a/Cargo.toml:{place}: {name} {message}");
        assert_eq!(check_text(&GOOD.replace(line, instead)), [expected]);
    }
}

#[test]
fn a_manifest_that_is_no_toml_is_reported_with_its_line() {
    let found = check_text("[package]\nname = \n");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("crates/a/Cargo.toml:2: "), "{found:?}");
}
