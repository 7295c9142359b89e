//! The files of the workspace: read, list, find, search, write, edit, move, copy, delete.
//!
//! Paths are relative to the root, and none leads out of it: all of them are opened through a [`Root`]. Everything
//! whose size depends on a file or a directory is bounded, and a result says what was omitted. The work runs on a
//! blocking thread, and stops soon after the call was cancelled.

mod errors;
mod gitignore;
mod glob;
mod size_budget;
mod walk;

mod find;
mod grep;
mod ls;
mod stat;
mod tree;

mod image;
mod line_window;
mod read;
mod text_decoder;

mod edit;
mod move_copy_delete;
mod roots;
mod write;

#[cfg(test)]
mod tests;

use toolcrib_io::files::Root;
use toolcrib_model::JsonObject;
use toolcrib_sdk::{CallContext, Module, ToolError, module};

use crate::blocking::{Cancellation, blocking};
use crate::root_access::restricted;
use crate::{Error, ModuleContext};

use roots::{PathArguments, Roots};

#[cfg(test)]
use self::{
    edit::MAX_DIFF_BYTES, gitignore::MAX_IGNORE_BYTES, gitignore::MAX_IGNORE_FILES,
    grep::MAX_GREP_FILE_BYTES, image::MAX_IMAGE_BYTES, move_copy_delete::MAX_CHANGED_ENTRIES,
    tree::MAX_TREE_ENTRIES, write::MAX_WRITE_BYTES,
};
pub use glob::MAX_PATTERN_BYTES;
pub use grep::MAX_MATCHES;
pub use ls::MAX_ENTRIES;

pub use roots::{FilesystemConfig, RootConfig, RootMode};
pub use size_budget::MAX_RESULT_BYTES;
pub use walk::MAX_WALK_DEPTH;

/// The namespace of the tools.
pub const ID: &str = "filesystem";

/// Returns the module `filesystem` for a directory.
pub fn module(root: &Root) -> Module {
    module_for(Roots::of_workspace(root))
}

/// Returns the module `filesystem` for the workspace of a context, and the additional folders of its configuration.
///
/// # Errors
///
/// Returns an error if one of them cannot be opened.
#[expect(clippy::needless_pass_by_value, reason = "the constructors of all modules have the same signature")]
pub fn module_from_config(config: FilesystemConfig, context: &ModuleContext) -> Result<Module, Error> {
    let (roots, description_of_roots) = Roots::open(&config, context)?;
    let module = module_for(roots);
    if description_of_roots.is_empty() {
        return Ok(module);
    }
    let description = format!("{} Also, by absolute paths:{description_of_roots}", module.description());
    Ok(module.with_description(description))
}

fn module_for(roots: Roots) -> Module {
    let checked = roots.clone();
    Module::from(Filesystem { roots })
        .with_check(move |tool, arguments, context| check(&checked, tool, arguments, context))
}

/// Refuses a change of a path that the access rules do not allow, before approval is requested.
fn check(roots: &Roots, tool: &str, arguments: &JsonObject, context: &CallContext) -> Result<(), ToolError> {
    let changed: &[&str] = match tool {
        "write" | "append" | "edit" | "mkdir" | "delete" => &["path"],
        "move" => &["from", "to"],
        "copy" => &["to"],
        _ => &[],
    };
    for path in changed.iter().filter_map(|name| arguments.get(*name)?.as_str()) {
        let root = restricted(roots.of_path(path), &context.access);
        root.check_write(path).map_err(|error| errors::tool_error(&root, error))?;
    }
    Ok(())
}

struct Filesystem {
    roots: Roots,
}

impl Filesystem {
    /// Runs a tool on a blocking thread.
    async fn run<A, T>(
        &self,
        context: &CallContext,
        arguments: A,
        work: fn(&Root, &A, &Cancellation) -> Result<T, ToolError>,
    ) -> Result<T, ToolError>
    where
        A: PathArguments + Send + 'static,
        T: Send + 'static,
    {
        let root = restricted(self.roots.of(&arguments)?, &context.access);
        blocking(context, move |stop| work(&root, &arguments, stop)).await
    }
}

/// Reads, lists, finds, searches and writes the files of the workspace.
#[module(id = "filesystem")]
impl Filesystem {
    /// Reads a text file, or some lines of it, or an image.
    #[tool(
        risk = "low",
        aliases = [
            "read file", "open file", "cat", "show file contents", "view image", "lire", "lire un fichier",
            "ouvrir un fichier", "afficher le contenu d'un fichier", "voir une image",
        ]
    )]
    async fn read(
        &self,
        context: &CallContext,
        #[arguments] arguments: read::Read,
    ) -> Result<image::Content, ToolError> {
        self.run(context, arguments, read::read).await
    }

    /// Lists the entries of a directory with their kind and size.
    #[tool(
        risk = "low",
        aliases = [
            "list directory", "list files", "dir", "lister un dossier", "lister les fichiers",
            "contenu d'un répertoire",
        ]
    )]
    async fn ls(
        &self,
        context: &CallContext,
        #[arguments] arguments: ls::Ls,
    ) -> Result<ls::Entries, ToolError> {
        self.run(context, arguments, ls::ls).await
    }

    /// Shows the names of all that is below a directory, to a depth.
    #[tool(
        risk = "low",
        aliases = [
            "directory tree", "project structure", "list recursively", "arborescence",
            "structure du projet", "lister les sous-dossiers",
        ]
    )]
    async fn tree(
        &self,
        context: &CallContext,
        #[arguments] arguments: tree::Tree,
    ) -> Result<tree::TreeOutput, ToolError> {
        self.run(context, arguments, tree::tree).await
    }

    /// Shows what is at a path: its kind, size, date and permissions, and the target of a symlink.
    #[tool(
        risk = "low",
        aliases = [
            "file info", "file size", "file exists", "modification date", "taille d'un fichier",
            "informations sur un fichier", "date de modification",
        ]
    )]
    async fn stat(
        &self,
        context: &CallContext,
        #[arguments] arguments: stat::Stat,
    ) -> Result<stat::FileStatus, ToolError> {
        self.run(context, arguments, stat::stat).await
    }

    /// Finds files and directories by name, below a directory.
    #[tool(
        risk = "low",
        aliases = [
            "find files", "glob", "locate file by name", "chercher des fichiers", "trouver un fichier",
            "rechercher un fichier par son nom",
        ]
    )]
    async fn find(
        &self,
        context: &CallContext,
        #[arguments] arguments: find::Find,
    ) -> Result<find::Paths, ToolError> {
        self.run(context, arguments, find::find).await
    }

    /// Searches the text of files for a regular expression.
    #[tool(
        risk = "low",
        aliases = [
            "search in files", "search text", "find text in files", "chercher dans les fichiers",
            "rechercher du texte", "trouver un mot dans des fichiers",
        ]
    )]
    async fn grep(
        &self,
        context: &CallContext,
        #[arguments] arguments: grep::Grep,
    ) -> Result<grep::Matches, ToolError> {
        self.run(context, arguments, grep::grep).await
    }

    /// Writes a text file: makes it, or replaces all that is in it.
    #[tool(
        risk = "medium",
        side_effects = ["creates the file or replaces its content", "creates missing directories when asked to"],
        idempotent,
        aliases = [
            "write file", "create file", "save file", "écrire un fichier", "créer un fichier",
            "enregistrer un fichier",
        ]
    )]
    async fn write(
        &self,
        context: &CallContext,
        #[arguments] arguments: write::Write,
    ) -> Result<write::WriteOutput, ToolError> {
        self.run(context, arguments, write::write).await
    }

    /// Adds text to the end of a file, which is made if it is not there.
    #[tool(
        risk = "medium",
        side_effects = ["writes to the end of the file", "creates missing directories when asked to"],
        aliases = [
            "append to file", "add line to file", "add to log", "ajouter à un fichier", "ajouter une ligne",
            "compléter un fichier",
        ]
    )]
    async fn append(
        &self,
        context: &CallContext,
        #[arguments] arguments: write::Append,
    ) -> Result<write::WriteOutput, ToolError> {
        self.run(context, arguments, write::append).await
    }

    /// Replaces a text in a file by another, and shows the difference.
    #[tool(
        risk = "medium",
        side_effects = ["changes the content of the file"],
        aliases = [
            "edit file", "replace text in file", "modify file", "search and replace", "modifier un fichier",
            "remplacer du texte", "corriger un fichier",
        ]
    )]
    async fn edit(
        &self,
        context: &CallContext,
        #[arguments] arguments: edit::Edit,
    ) -> Result<edit::EditOutput, ToolError> {
        self.run(context, arguments, edit::edit).await
    }

    /// Creates a directory, and those above it that are missing.
    #[tool(
        risk = "medium",
        side_effects = ["creates directories"],
        idempotent,
        aliases = [
            "create directory", "make folder", "new folder", "créer un dossier", "créer un répertoire",
            "nouveau dossier",
        ]
    )]
    async fn mkdir(
        &self,
        context: &CallContext,
        #[arguments] arguments: write::Mkdir,
    ) -> Result<write::MkdirOutput, ToolError> {
        self.run(context, arguments, write::mkdir).await
    }

    /// Moves or renames a file or a directory.
    #[tool(
        name = "move",
        risk = "medium",
        side_effects = ["moves the file or directory", "replaces a file when asked to"],
        aliases = [
            "move file", "rename file", "mv", "déplacer un fichier", "renommer un fichier",
            "renommer un dossier",
        ]
    )]
    async fn rename(
        &self,
        context: &CallContext,
        #[arguments] arguments: move_copy_delete::Move,
    ) -> Result<move_copy_delete::MoveOutput, ToolError> {
        self.run(context, arguments, move_copy_delete::rename).await
    }

    /// Copies a file, or a directory with all that is in it.
    #[tool(
        risk = "medium",
        side_effects = ["creates files and directories", "replaces files when asked to"],
        aliases = [
            "copy file", "duplicate file", "cp", "copier un fichier", "dupliquer un fichier",
            "copier un dossier",
        ]
    )]
    async fn copy(
        &self,
        context: &CallContext,
        #[arguments] arguments: move_copy_delete::Copy,
    ) -> Result<move_copy_delete::CopyOutput, ToolError> {
        self.run(context, arguments, move_copy_delete::copy).await
    }

    /// Deletes a file, or a directory with all that is in it; it cannot be undone.
    #[tool(
        risk = "high",
        side_effects = ["deletes the file or directory for good"],
        aliases = [
            "delete file", "remove file", "rm", "delete folder", "supprimer un fichier",
            "effacer un fichier", "supprimer un dossier",
        ]
    )]
    async fn delete(
        &self,
        context: &CallContext,
        #[arguments] arguments: move_copy_delete::Delete,
    ) -> Result<move_copy_delete::DeleteOutput, ToolError> {
        self.run(context, arguments, move_copy_delete::delete).await
    }
}

/// Returns the default path of searches: the root itself.
fn workspace_root() -> String {
    ".".into()
}
