//! The table of the built-in modules.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use toolcrib_io::files::{ProtectedFiles, Purpose, Root};
use toolcrib_policy::{Access, Mode};
use toolcrib_sdk::Module;

use crate::memory::Memory;
use crate::{Error, database, filesystem, hello, http, memory, shell};

/// Gives each built-in module to `table`: its id, and the function that makes it, whose first argument is its
/// configuration. Another module is one line here.
pub fn built_in(table: &mut impl ModuleTable) {
    table.add(hello::ID, |NoConfig {}, _| Ok(hello::module()));
    table.add(memory::ID, |NoConfig {}, context| Ok(memory::module(&context.memory)));
    table.add(filesystem::ID, filesystem::module_of);
    table.add(database::ID, database::module);
    table.add(http::ID, http::module);
    table.add(shell::ID, shell::module);
}

/// Whatever takes in modules, each with the type of its configuration.
pub trait ModuleTable {
    /// Takes in a module. `C` is what an app file may say under `modules.<id>.config`; nothing said is an empty mapping.
    fn add<C>(&mut self, id: &'static str, make: fn(C, &ModuleContext) -> Result<Module, Error>)
    where
        C: DeserializeOwned + JsonSchema + 'static;
}

/// The configuration of a module that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// What a module may need of the app that it is part of.
#[derive(Clone, Debug)]
pub struct ModuleContext {
    /// The directory that the app works in.
    pub workspace: PathBuf,
    /// What the module may reach there and elsewhere.
    pub access: Access,
    /// What the module `memory` keeps its notes in.
    pub memory: Memory,
    /// The files of the workspace that the app is made of, which no module changes.
    pub protected: ProtectedFiles,
}

impl ModuleContext {
    /// A module that works in a directory, and may reach whatever it does by itself.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            access: Access::unlimited(),
            memory: Memory::in_process(),
            protected: ProtectedFiles::default(),
        }
    }

    /// Sets what the module may reach.
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Sets what the module `memory` keeps its notes in; otherwise they are gone with the process.
    pub fn with_memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Sets the files that no module changes.
    pub fn with_protected(mut self, files: ProtectedFiles) -> Self {
        self.protected = files;
        self
    }

    /// The workspace, opened for a module: no path leads out of it, and what `access` does not name is refused.
    ///
    /// # Errors
    ///
    /// Where it is not there, or cannot be opened.
    pub fn root(&self, module: &'static str) -> Result<Root, Error> {
        let workspace = self.workspace.clone();
        let root = Root::open(&workspace).map_err(|error| match error {
            toolcrib_io::Error::NotFound { .. } => Error::WorkspaceMissing { module, workspace },
            source => Error::WorkspaceUnusable { module, workspace, source },
        })?;
        Ok(self.guarded(root, true))
    }

    /// A folder besides the workspace, opened for a module: rules of `access` name what is in it by its full path.
    ///
    /// # Errors
    ///
    /// Where it is not there, or cannot be opened.
    pub fn root_beside(&self, folder: &Path, is_writable: bool) -> Result<Root, toolcrib_io::Error> {
        let root = Root::open(folder)?.outside_workspace();
        let root = if is_writable { root } else { root.only_read() };
        Ok(self.guarded(root, false))
    }

    fn guarded(&self, root: Root, is_workspace: bool) -> Root {
        let access = self.access.clone();
        let folder = root.path().to_string_lossy().into_owned();
        root.with_protected(self.protected.clone()).with_guard(move |path, purpose| {
            let mode = match purpose {
                Purpose::Read => Mode::Read,
                Purpose::Write => Mode::Write,
            };
            // What is not UTF-8 cannot be compared.
            path.to_str().is_some_and(|path| {
                if is_workspace {
                    access.allows_path_below(&folder, path, mode)
                } else {
                    access.allows_path(&format!("{folder}/{path}"), mode)
                }
            })
        })
    }
}

/// The ids of the built-in modules.
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

/// Makes the module with this id as it is when an app file says nothing under `config`.
///
/// # Errors
///
/// Where there is no such module, or it cannot be made.
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
