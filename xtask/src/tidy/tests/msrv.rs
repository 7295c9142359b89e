//! The version of Rust in the manifest and in the pages.

use super::super::msrv::check;
use super::{file, printed};

const MANIFEST: &str = "[workspace.package]\nrust-version = \"1.95\"\n";

fn check_pages(manifest: &str, pages: &[(&str, &str)]) -> Vec<String> {
    let pages: Vec<_> = pages.iter().map(|(path, text)| file(path, text)).collect();
    printed(&check(&file("Cargo.toml", manifest), &pages))
}

#[test]
fn pages_name_the_version_that_the_workspace_asks_for() {
    let good = [("README.md", "Both need Rust 1.95, a C compiler."), ("docs/a.md", "In Rust, all is well.")];
    assert_eq!(check_pages(MANIFEST, &good), [""; 0]);
    let other =
        [("README.md", "It needs Rust 1.95."), ("docs/a.md", "\nWith Rust 1.94.1 and Rust 2.0 it fails.")];
    assert_eq!(
        check_pages(MANIFEST, &other),
        [
            "docs/a.md:2: names Rust 1.94.1, and Cargo.toml asks for Rust 1.95",
            "docs/a.md:2: names Rust 2.0, and Cargo.toml asks for Rust 1.95",
        ]
    );
}

#[test]
fn the_readme_names_the_version_and_the_workspace_has_one() {
    assert_eq!(
        check_pages(MANIFEST, &[("docs/a.md", "It needs Rust 1.95.")]),
        ["README.md: has to say that it needs Rust 1.95"]
    );
    assert_eq!(
        check_pages("[workspace]\n", &[]),
        ["Cargo.toml: has to set `rust-version` under `[workspace.package]`"]
    );
}
