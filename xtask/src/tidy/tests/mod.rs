//! Tidy itself, on small made-up inputs: each rule is broken once, and the violation is read as printed.

mod arrows;
mod manifests;
mod msrv;
mod owners;
mod prose;
mod rules;
mod sources;

use super::TextFile;
use super::violation::Violation;
use crate::workspace::{Dependency, Package};

/// A crate of the rules, without dependencies.
fn package(name: &str) -> Package {
    in_folder(name, &format!("crates/{name}"))
}

fn in_folder(name: &str, folder: &str) -> Package {
    Package { name: name.to_owned(), folder: folder.to_owned(), is_published: true, dependencies: Vec::new() }
}

impl Package {
    fn uses(mut self, name: &str) -> Self {
        self.dependencies.push(Dependency { name: name.to_owned(), dev: false, features: Vec::new() });
        self
    }

    fn tests_with(mut self, name: &str) -> Self {
        self.dependencies.push(Dependency { name: name.to_owned(), dev: true, features: Vec::new() });
        self
    }
}

fn file(path: &str, text: &str) -> TextFile {
    TextFile { path: path.to_owned(), text: text.to_owned() }
}

fn printed(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(ToString::to_string).collect()
}
