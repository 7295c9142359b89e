//! The table of the built-in modules.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use toolcrib_io::files::{ProtectedFiles, Root};
use toolcrib_policy::Access;
use toolcrib_sdk::Module;

#[cfg(feature = "filesystem")]
use crate::filesystem;
#[cfg(feature = "http")]
use crate::http;
#[cfg(feature = "memory")]
use crate::memory::{self, Memory};
use crate::root_access::restricted;
#[cfg(feature = "shell")]
use crate::shell;
use crate::{Error, hello};

/// Registers each built-in module in `table`: its id, and its constructor, whose first argument is its configuration. A
/// new module is one more line here.
pub fn built_in(table: &mut impl ModuleTable) {
    table.add(hello::ID, |NoConfig {}, _| Ok(hello::module()));
    #[cfg(feature = "memory")]
    table.add(memory::ID, |NoConfig {}, context| Ok(memory::module(&context.memory)));
    #[cfg(feature = "filesystem")]
    table.add(filesystem::ID, filesystem::module_from_config);
    #[cfg(feature = "http")]
    table.add(http::ID, http::module);
    #[cfg(feature = "shell")]
    table.add(shell::ID, shell::module);
}

/// A registry of modules, each with the type of its configuration.
pub trait ModuleTable {
    /// Registers a module. `C` is the type of `modules.<id>.config` in an app file; a missing key is an empty mapping.
    fn add<C>(&mut self, id: &'static str, make: fn(C, &ModuleContext) -> Result<Module, Error>)
    where
        C: DeserializeOwned + JsonSchema + 'static;
}

/// The configuration of a module that has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// The environment that an app gives its modules.
#[derive(Clone, Debug)]
pub struct ModuleContext {
    /// The working directory of the app.
    pub workspace: PathBuf,
    /// The access rules that apply to the module.
    pub access: Access,
    /// The storage of the module `memory`.
    #[cfg(feature = "memory")]
    pub memory: Memory,
    /// The files that the app consists of, which no module changes.
    pub protected: ProtectedFiles,
}

impl ModuleContext {
    /// Creates a context for a directory, with unlimited access and notes that end with the process.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            access: Access::unlimited(),
            #[cfg(feature = "memory")]
            memory: Memory::in_process(),
            protected: ProtectedFiles::default(),
        }
    }

    /// Sets the access rules of the module.
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Sets the storage of the module `memory`; by default the notes end with the process.
    #[cfg(feature = "memory")]
    pub fn with_memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Sets the files that no module changes.
    pub fn with_protected(mut self, files: ProtectedFiles) -> Self {
        self.protected = files;
        self
    }

    /// Opens the workspace for a module. No path leads out of it, and paths that `access` does not name are refused.
    ///
    /// # Errors
    ///
    /// Returns an error if the workspace does not exist or cannot be opened.
    pub fn root(&self, module: &'static str) -> Result<Root, Error> {
        let workspace = self.workspace.clone();
        let root = Root::open(&workspace).map_err(|error| match error {
            toolcrib_io::Error::NotFound { .. } => Error::WorkspaceMissing { module, workspace },
            source => Error::WorkspaceUnusable { module, workspace, source },
        })?;
        Ok(self.guarded(root))
    }

    /// Opens a folder outside of the workspace for a module. Rules of `access` name its files by their full paths.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder does not exist or cannot be opened.
    pub fn root_outside_workspace(
        &self,
        folder: &Path,
        is_writable: bool,
    ) -> Result<Root, toolcrib_io::Error> {
        let root = Root::open(folder)?.outside_workspace();
        let root = if is_writable { root } else { root.only_read() };
        Ok(self.guarded(root))
    }

    fn guarded(&self, root: Root) -> Root {
        restricted(&root.with_protected(self.protected.clone()), &self.access)
    }
}

/// Returns the ids of the built-in modules.
pub fn names() -> Vec<&'static str> {
    struct Names(Vec<&'static str>);

    impl ModuleTable for Names {
        fn add<C>(&mut self, id: &'static str, _make: fn(C, &ModuleContext) -> Result<Module, Error>) {
            self.0.push(id);
        }
    }

    let mut names = Names(Vec::new());
    built_in(&mut names);
    names.0
}

/// Creates the module with this id, with its default configuration.
///
/// # Errors
///
/// Returns an error if no module has this id, or its constructor fails.
pub fn build(id: &str, context: &ModuleContext) -> Result<Module, Error> {
    struct Build<'a> {
        id: &'a str,
        context: &'a ModuleContext,
        built: Result<Module, Error>,
    }

    impl ModuleTable for Build<'_> {
        fn add<C: DeserializeOwned>(
            &mut self,
            id: &'static str,
            make: fn(C, &ModuleContext) -> Result<Module, Error>,
        ) {
            if self.id == id {
                let config = serde_json::from_value(json!({}));
                let unusable =
                    |error: serde_json::Error| Error::Config { module: id, message: error.to_string() };
                self.built = config.map_err(unusable).and_then(|config| make(config, self.context));
            }
        }
    }

    let mut build = Build { id, context, built: Err(Error::UnknownModule { id: id.into() }) };
    built_in(&mut build);
    build.built
}
