//! The workspace as reported by `cargo metadata`, reduced to the fields that the tasks use.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand};

use crate::process::{cargo, run};

/// The root of the workspace and its members.
pub(crate) struct Workspace {
    /// The folder of the root manifest.
    pub(crate) root: PathBuf,
    /// Cargo's target directory, as an absolute path.
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Clone)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The folder of its manifest, relative to the root, separated by `/`.
    pub(crate) folder: String,
    /// True unless the manifest says `publish = false`.
    pub(crate) is_published: bool,
    /// The dependencies in its manifest, with those inherited from the workspace merged in.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One entry under a `dependencies` table.
#[derive(Clone)]
pub(crate) struct Dependency {
    /// The package name, even if the manifest renames it.
    pub(crate) name: String,
    /// Whether only tests, examples, and benches use it.
    pub(crate) dev: bool,
    pub(crate) features: Vec<String>,
}

impl Workspace {
    /// Reads the workspace around the current directory. Needs neither the network nor a lock file, because only the
    /// members' manifests are read.
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
                    is_published: package.publish.as_ref().is_none_or(|registries| !registries.is_empty()),
                    dependencies: package.dependencies.iter().map(Dependency::from).collect(),
                }
            })
            .collect();
        Ok(Self { root: metadata.workspace_root.into(), target: metadata.target_directory.into(), packages })
    }

    /// Returns the path of `toolcrib` in the dev profile, built or not.
    pub(crate) fn program(&self) -> PathBuf {
        self.target.join("debug").join(format!("toolcrib{EXE_SUFFIX}"))
    }

    /// Builds `toolcrib` and returns its path.
    pub(crate) fn build_program(&self) -> Result<PathBuf> {
        run(cargo(&self.root).args(["build", "--bin", "toolcrib", "--locked"]))?;
        Ok(self.program())
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
