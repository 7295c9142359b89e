//! The table of the built-in modules.

use std::path::PathBuf;
use std::sync::LazyLock;

use toolcrib_io::files::{Purpose, Root};
use toolcrib_policy::{Access, Mode};
use toolcrib_sdk::Module;

use crate::memory::Memory;
use crate::{Error, filesystem, hello, memory};

/// What a module may need of the app that it is part of.
#[derive(Clone, Debug)]
pub struct ModuleContext {
    /// The directory that the app works in.
    pub workspace: PathBuf,
    /// What the module may reach there and elsewhere.
    pub access: Access,
    /// What the module `memory` keeps its notes in.
    pub memory: Memory,
}

impl ModuleContext {
    /// A module that works in a directory, and may reach whatever it does by itself.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self { workspace: workspace.into(), access: Access::unlimited(), memory: Memory::in_process() }
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
}

/// An id and how its module is made.
type BuiltIn = (&'static str, fn(&ModuleContext) -> Result<Module, Error>);

const BUILT_IN: &[BuiltIn] = &[
    (hello::ID, |_| Ok(hello::module())),
    (memory::ID, |context| Ok(memory::module(&context.memory))),
    (filesystem::ID, |context| Ok(filesystem::module(&workspace(filesystem::ID, context)?))),
];

static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| BUILT_IN.iter().map(|(id, _)| *id).collect());

/// The ids of the built-in modules.
pub fn names() -> &'static [&'static str] {
    &NAMES
}

/// Makes the module with this id.
pub fn build(id: &str, context: &ModuleContext) -> Result<Module, Error> {
    match BUILT_IN.iter().find(|(known, _)| *known == id) {
        Some((_, constructor)) => constructor(context),
        None => Err(Error::UnknownModule { id: id.into() }),
    }
}

/// The workspace, opened for the module.
fn workspace(module: &'static str, context: &ModuleContext) -> Result<Root, Error> {
    let workspace = context.workspace.clone();
    let root = Root::open(&workspace).map_err(|error| match error {
        toolcrib_io::Error::NotFound { .. } => Error::WorkspaceMissing { module, workspace },
        source => Error::WorkspaceUnusable { module, workspace, source },
    })?;
    let access = context.access.clone();
    let folder = root.path().to_string_lossy().into_owned();
    Ok(root.with_guard(move |path, purpose| {
        let mode = match purpose {
            Purpose::Read => Mode::Read,
            Purpose::Write => Mode::Write,
        };
        // What is not UTF-8 cannot be compared.
        path.to_str().is_some_and(|path| access.allows_path_below(&folder, path, mode))
    }))
}
