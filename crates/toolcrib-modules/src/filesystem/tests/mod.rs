//! Tests in real directories, through the engine.

mod access;
mod blocking;
mod edit;
#[cfg(unix)]
mod escape;
mod find;
mod grep;
mod ignored;
mod place;
#[cfg(target_os = "linux")]
mod race;
mod read;
mod roots;
mod stat;
mod tree;
mod walk;
mod write;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_io::files::Root;
use toolcrib_model::{Risk, ToolError, ToolResult};
use toolcrib_sdk::Module;

use crate::tests::{declared, tool};

/// A workspace, and a file beside it that nobody may reach.
pub(super) struct Place {
    pub(super) outer: TempDir,
    pub(super) root: Root,
    pub(super) module: Module,
}

impl Place {
    pub(super) fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("work");
        fs::create_dir(&inner).unwrap();
        fs::write(outer.path().join("secret.txt"), "secret").unwrap();
        let root = Root::open(inner).unwrap();
        let module = super::module(&root);
        Self { outer, root, module }
    }

    /// A place with notes in two directories.
    pub(super) fn with_notes() -> Self {
        let place = Self::new();
        place.put("todo.txt", "milk\nbread\n");
        place.put("notes/monday.md", "# Monday\nBuy milk.\n");
        place.put("notes/old/april.md", "Nothing.\n");
        place.put("notes/old/may.txt", "No MILK left.\n");
        place
    }

    pub(super) fn inner(&self) -> PathBuf {
        self.outer.path().join("work")
    }

    pub(super) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.inner().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        crate::tests::call(&self.module, name, arguments).await
    }

    /// The result of a call that succeeds.
    pub(super) async fn ok(&self, name: &str, arguments: Value) -> Value {
        let result = self.call(name, arguments).await;
        assert_eq!(result.error, None);
        result.result
    }

    /// The error of a call that fails.
    pub(super) async fn error(&self, name: &str, arguments: Value) -> ToolError {
        self.call(name, arguments).await.error.unwrap()
    }
}

/// The tools, their risks, and words of somebody who wants each.
const TOOLS: &[(&str, Risk, &str)] = &[
    ("read", Risk::Low, "lire un fichier"),
    ("ls", Risk::Low, "lister un dossier"),
    ("tree", Risk::Low, "arborescence"),
    ("stat", Risk::Low, "taille d'un fichier"),
    ("find", Risk::Low, "chercher des fichiers"),
    ("grep", Risk::Low, "chercher dans les fichiers"),
    ("write", Risk::Medium, "écrire un fichier"),
    ("append", Risk::Medium, "ajouter à un fichier"),
    ("edit", Risk::Medium, "modifier un fichier"),
    ("mkdir", Risk::Medium, "créer un dossier"),
    ("move", Risk::Medium, "renommer un fichier"),
    ("copy", Risk::Medium, "copier un fichier"),
    ("delete", Risk::High, "supprimer un fichier"),
];

#[tokio::test]
async fn each_tool_says_its_risk_and_what_it_changes_and_is_found_in_french() {
    declared(&Place::new().module, TOOLS).await;
}

#[tokio::test]
async fn optional_arguments_are_not_required_and_their_defaults_are_in_the_schema() {
    let place = Place::new();
    let grep = tool(&place.module, "grep").await.parameters;
    assert_eq!(grep["required"], json!(["pattern"]));
    assert_eq!(grep["properties"]["path"]["default"], ".");
    assert_eq!(grep["properties"]["context"]["maximum"], 10);
    let read = tool(&place.module, "read").await.parameters;
    assert_eq!(read["required"], json!(["path"]));
    assert_eq!(
        (&read["properties"]["offset"]["minimum"], &read["properties"]["limit"]["default"]),
        (&json!(1), &json!(2000))
    );
}
