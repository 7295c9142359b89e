//! The workspace as reported by `cargo metadata`, reduced to the fields that the tasks use.

use std::path::PathBuf;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand};

/// Where the workspace is and what it consists of.
pub(crate) struct Workspace {
    /// The folder of the root manifest.
    pub(crate) root: PathBuf,
    /// Cargo's target directory, absolute.
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Clone)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The folder of its manifest, relative to the root, with `/` between the parts.
    pub(crate) folder: String,
    /// What its manifest asks for, with what it inherits from the workspace already merged in.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One entry under a `dependencies` table.
#[derive(Clone)]
pub(crate) struct Dependency {
    /// The package name, also where the manifest renames it.
    pub(crate) name: String,
    /// Whether only tests, examples and benches see it.
    pub(crate) dev: bool,
    pub(crate) features: Vec<String>,
}

impl Workspace {
    /// Reads the workspace around the current directory. Needs neither the network nor a lock file, since
    /// only the members' own manifests are looked at.
    pub(crate) fn read() -> Result<Self> {
        let metadata = MetadataCommand::new()
            .no_deps()
            .other_options(["--offline".to_owned()])
            .exec()
            .context("cargo metadata failed")?;
        let packages = metadata
            .packages
            .iter()
            .map(|package| {
                let folder = package.manifest_path.parent().unwrap_or(&package.manifest_path);
                let folder = folder.strip_prefix(&metadata.workspace_root).unwrap_or(folder);
                Package {
                    name: package.name.to_string(),
                    folder: folder.as_str().replace('\\', "/"),
                    dependencies: package.dependencies.iter().map(Dependency::from).collect(),
                }
            })
            .collect();
        Ok(Self { root: metadata.workspace_root.into(), target: metadata.target_directory.into(), packages })
    }
}

impl From<&cargo_metadata::Dependency> for Dependency {
    fn from(dependency: &cargo_metadata::Dependency) -> Self {
        Self {
            name: dependency.name.clone(),
            dev: dependency.kind == DependencyKind::Development,
            features: dependency.features.clone(),
        }
    }
}
