//! The form of a member's manifest: what the workspace decides, the members inherit.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::TextFile;
use super::violation::Violation;

/// The keys of `[package]` that the workspace decides.
const INHERITED: &[&str] = &["edition", "license", "rust-version"];

/// The tables in which a manifest lists dependencies, at the top and under each `[target]`.
const DEPENDENCY_TABLES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// Checks one `Cargo.toml`.
pub(super) fn check(manifest: &TextFile) -> Vec<Violation> {
    let path = manifest.path.as_str();
    let table = match DeTable::parse(&manifest.text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            let start = error.span().map_or(0, |span| span.start);
            return vec![Violation::at(path, line_of(&manifest.text, start), error.message())];
        }
    };

    let mut violations = Vec::new();
    let package = sub_table(&table, "package");
    for key in INHERITED {
        if !package.and_then(|package| package.get(*key)).is_some_and(inherits) {
            violations.push(Violation::of(path, format!("has to say `{key}.workspace = true`")));
        }
    }
    if !table.get("lints").is_some_and(inherits) {
        violations.push(Violation::of(path, "has to say `workspace = true` under `[lints]`"));
    }

    let targets = sub_table(&table, "target").into_iter().flat_map(DeTable::values);
    let owners = std::iter::once(&table).chain(targets.filter_map(|target| target.get_ref().as_table()));
    for owner in owners {
        for (name, value) in DEPENDENCY_TABLES.iter().filter_map(|key| sub_table(owner, key)).flatten() {
            if !inherits(value) {
                let line = line_of(&manifest.text, name.span().start);
                let message =
                    format!("{} has to come from the workspace: `workspace = true`", name.get_ref());
                violations.push(Violation::at(path, line, message));
            }
        }
    }
    violations
}

fn sub_table<'a, 'text>(table: &'a DeTable<'text>, key: &str) -> Option<&'a DeTable<'text>> {
    table.get(key)?.get_ref().as_table()
}

/// Whether a value is a table that says `workspace = true`.
fn inherits(value: &Spanned<DeValue<'_>>) -> bool {
    let workspace = value.get_ref().as_table().and_then(|table| table.get("workspace"));
    workspace.and_then(|value| value.get_ref().as_bool()) == Some(true)
}

/// The line of a byte offset, counted from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
