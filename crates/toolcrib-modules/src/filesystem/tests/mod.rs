//! Tests in real directories, through the engine.

mod access;
mod blocking;
mod find;
mod grep;
mod read;
mod walk;
mod write;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_io::files::Root;
use toolcrib_model::{ErrorKind, Risk, ToolError, ToolResult};
use toolcrib_sdk::Module;

use crate::tests::tool;

/// A workspace, and a file beside it that nobody may reach.
pub(super) struct Place {
    outer: TempDir,
    pub(super) root: Root,
    module: Module,
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

#[tokio::test]
async fn reading_is_of_low_risk_and_writing_of_medium_and_says_what_it_changes() {
    let place = Place::new();
    for (name, risk) in [
        ("read", Risk::Low),
        ("ls", Risk::Low),
        ("find", Risk::Low),
        ("grep", Risk::Low),
        ("write", Risk::Medium),
        ("mkdir", Risk::Medium),
    ] {
        let tool = tool(&place.module, name).await;
        assert_eq!(tool.risk(), risk, "{name}");
        assert_eq!(tool.side_effects().count() > 0, risk == Risk::Medium, "{name}");
    }
}

#[tokio::test]
async fn tools_are_found_in_french() {
    let place = Place::new();
    for (name, alias) in [
        ("read", "lire un fichier"),
        ("ls", "lister un dossier"),
        ("find", "chercher des fichiers"),
        ("grep", "chercher dans les fichiers"),
        ("write", "écrire un fichier"),
        ("mkdir", "créer un dossier"),
    ] {
        assert!(tool(&place.module, name).await.aliases().any(|known| known == alias), "{name}");
    }
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

#[cfg(unix)]
#[tokio::test]
async fn no_tool_leaves_the_workspace() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.outer.path(), place.inner().join("up")).unwrap();
    let secret = place.outer.path().join("secret.txt");
    for path in ["../secret.txt", "up/secret.txt", secret.to_str().unwrap(), ".."] {
        for (name, arguments) in [
            ("read", json!({"path": path})),
            ("ls", json!({"path": path})),
            ("find", json!({"path": path, "pattern": "*"})),
            ("grep", json!({"path": path, "pattern": "secret"})),
            ("write", json!({"path": path, "content": "mine", "create_parents": true})),
            ("mkdir", json!({"path": path})),
        ] {
            let error = place.error(name, arguments).await;
            assert_eq!(error.kind, ErrorKind::ToolFailed, "{name} {path}");
            assert!(error.message.contains("is outside of the workspace"), "{name} {path}: {error}");
            assert_eq!(error.hint.as_deref(), Some("give a path relative to the workspace"));
        }
    }
    let grep = place.ok("grep", json!({"pattern": "secret"})).await;
    assert_eq!(grep, json!({"matches": []}));
    assert_eq!(fs::read_to_string(secret).unwrap(), "secret");
}
