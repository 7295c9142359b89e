//! The files of one directory: read, list, find, search, write.
//!
//! Paths are relative to the root, and none leads out of it: every one is opened through a
//! [`Root`]. Everything that a file or a directory decides the size of has a bound, and a result says what the bound
//! left out. The work happens on a blocking thread, which stops soon after the call has been given up.

mod blocking;
mod failure;
mod glob;
mod room;
mod walk;

mod find;
mod grep;
mod ls;
mod read;
mod window;
mod write;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolcrib_io::files::Root;
use toolcrib_model::{Risk, ToolError};
use toolcrib_sdk::{CallContext, FunctionTool, Module};

use blocking::{Stop, blocking};

pub use glob::MAX_PATTERN_BYTES;
pub use grep::{MAX_CONTEXT_LINES, MAX_GREP_BYTES, MAX_GREP_FILE_BYTES, MAX_MATCHES};
pub use ls::MAX_ENTRIES;
pub use read::{DEFAULT_LINES, MAX_SCAN_BYTES};
pub use room::MAX_RESULT_BYTES;
pub use walk::{MAX_WALK_DEPTH, MAX_WALK_ENTRIES};
pub use write::MAX_WRITE_BYTES;

/// The namespace of the tools.
pub const ID: &str = "filesystem";

/// The module `filesystem` over a directory: `read`, `ls`, `find`, `grep`, `write`, `mkdir`.
pub fn module(root: &Root) -> Module {
    Module::new(ID, "Reads, lists, finds, searches and writes the files of the workspace.")
        .with_tool(
            tool(root, "read", "Reads a text file, or some lines of it.", read::read)
                .with_output::<String>()
                .with_risk(Risk::Low)
                .with_aliases([
                    "read file",
                    "open file",
                    "cat",
                    "show file contents",
                    "lire",
                    "lire un fichier",
                    "ouvrir un fichier",
                    "afficher le contenu d'un fichier",
                ]),
        )
        .with_tool(
            tool(root, "ls", "Lists the entries of a directory with their kind and size.", ls::ls)
                .with_output::<ls::Entries>()
                .with_risk(Risk::Low)
                .with_aliases([
                    "list directory",
                    "list files",
                    "dir",
                    "lister un dossier",
                    "lister les fichiers",
                    "contenu d'un répertoire",
                ]),
        )
        .with_tool(
            tool(root, "find", "Finds files and directories by name, below a directory.", find::find)
                .with_output::<find::Paths>()
                .with_risk(Risk::Low)
                .with_aliases([
                    "find files",
                    "glob",
                    "locate file by name",
                    "chercher des fichiers",
                    "trouver un fichier",
                    "rechercher un fichier par son nom",
                ]),
        )
        .with_tool(
            tool(root, "grep", "Searches the text of files for a regular expression.", grep::grep)
                .with_output::<grep::Matches>()
                .with_risk(Risk::Low)
                .with_aliases([
                    "search in files",
                    "search text",
                    "find text in files",
                    "chercher dans les fichiers",
                    "rechercher du texte",
                    "trouver un mot dans des fichiers",
                ]),
        )
        .with_tool(
            tool(root, "write", "Writes a text file: makes it, or replaces all that is in it.", write::write)
                .with_output::<write::Written>()
                .with_risk(Risk::Medium)
                .with_side_effects([
                    "creates the file or replaces its content",
                    "creates missing directories when asked to",
                ])
                .with_metadata("idempotent", true)
                .with_aliases([
                    "write file",
                    "create file",
                    "save file",
                    "écrire un fichier",
                    "créer un fichier",
                    "enregistrer un fichier",
                ]),
        )
        .with_tool(
            tool(root, "mkdir", "Creates a directory, and those above it that are missing.", write::mkdir)
                .with_output::<write::Made>()
                .with_risk(Risk::Medium)
                .with_side_effects(["creates directories"])
                .with_metadata("idempotent", true)
                .with_aliases([
                    "create directory",
                    "make folder",
                    "new folder",
                    "créer un dossier",
                    "créer un répertoire",
                    "nouveau dossier",
                ]),
        )
}

/// A tool whose work blocks.
fn tool<A, T>(
    root: &Root,
    name: &str,
    description: &str,
    work: fn(&Root, &A, &Stop) -> Result<T, ToolError>,
) -> FunctionTool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    T: Serialize + Send + 'static,
{
    let root = root.clone();
    FunctionTool::new(name, description, move |arguments: A, context: CallContext| {
        let root = root.clone();
        async move { blocking(&context, move |stop| work(&root, &arguments, stop)).await }
    })
}

/// Where tools look when a call does not say: the root itself.
fn everywhere() -> String {
    ".".into()
}
