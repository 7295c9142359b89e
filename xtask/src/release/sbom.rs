//! The software bill of materials: all crates that the program is made of, as `CycloneDX`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use serde_json::{Value, json};
use toml::Table;

use super::target::Target;
use crate::workspace::Workspace;

/// The package of the program.
const PROGRAM: &str = "toolcrib-cli";

/// The version of `CycloneDX`.
const SPECIFICATION: &str = "1.6";

/// The crates of the program, without those that only build and test it.
pub(super) struct Graph {
    /// The crates by name and version, with the program's own package.
    pub(super) packages: Vec<Package>,
    /// The references of the crates that each one uses.
    uses: BTreeMap<String, BTreeSet<String>>,
    /// SHA-256 hashes of packages from the registry, by reference.
    checksums: HashMap<String, String>,
}

impl Graph {
    /// Reads the graph of a target, with the locked versions and the default features.
    pub(super) fn read(workspace: &Workspace, target: &Target) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(workspace.root.join("Cargo.toml"))
            .other_options(["--offline", "--locked", "--filter-platform", &target.triple].map(str::to_owned))
            .exec()
            .context("cargo metadata failed")?;
        let mut graph = Self::of(&metadata)?;
        graph.checksums = checksums(&fs::read_to_string(workspace.root.join("Cargo.lock"))?)?;
        Ok(graph)
    }

    fn of(metadata: &Metadata) -> Result<Self> {
        let packages: HashMap<&PackageId, &Package> =
            metadata.packages.iter().map(|package| (&package.id, package)).collect();
        let resolve = metadata.resolve.as_ref().context("cargo metadata resolved nothing")?;
        let nodes: HashMap<&PackageId, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
        let root = metadata.packages.iter().find(|package| package.name.as_str() == PROGRAM);
        let root = root.with_context(|| format!("the workspace has no {PROGRAM}"))?;
        let mut found: BTreeMap<String, &Package> = BTreeMap::new();
        let mut uses = BTreeMap::new();
        let mut open = vec![&root.id];
        while let Some(id) = open.pop() {
            let package = packages.get(id).with_context(|| format!("{id} is no package"))?;
            if found.insert(reference(package), package).is_some() {
                continue;
            }
            let node = nodes.get(id).with_context(|| format!("{id} is not resolved"))?;
            let normal =
                node.deps.iter().filter(|it| it.dep_kinds.iter().any(|it| it.kind == DependencyKind::Normal));
            let ids: Vec<&PackageId> = normal.map(|dependency| &dependency.pkg).collect();
            let names =
                ids.iter().filter_map(|id| packages.get(id)).map(|package| reference(package)).collect();
            uses.insert(reference(package), names);
            open.extend(ids);
        }
        Ok(Self { packages: found.into_values().cloned().collect(), uses, checksums: HashMap::new() })
    }

    /// Returns the document.
    pub(super) fn cyclonedx(&self, version: &str) -> Value {
        let is_root = |package: &&Package| package.name.as_str() == PROGRAM;
        let root = self.packages.iter().find(is_root).map(reference);
        let components: Vec<Value> = self
            .packages
            .iter()
            .filter(|package| !is_root(package))
            .map(|package| self.component(package))
            .collect();
        let dependencies: Vec<Value> =
            self.uses.iter().map(|(reference, uses)| json!({"ref": reference, "dependsOn": uses})).collect();
        json!({
            "bomFormat": "CycloneDX",
            "specVersion": SPECIFICATION,
            "version": 1,
            "metadata": {"component": {
                "type": "application",
                "bom-ref": root,
                "name": "toolcrib",
                "version": version,
                "licenses": [{"expression": "Apache-2.0 OR MIT"}],
            }},
            "components": components,
            "dependencies": dependencies,
        })
    }

    fn component(&self, package: &Package) -> Value {
        let reference = reference(package);
        let mut component = json!({
            "type": "library",
            "bom-ref": reference,
            "name": package.name.as_str(),
            "version": package.version.to_string(),
            "purl": reference,
        });
        if let Some(map) = component.as_object_mut() {
            if let Some(licence) = &package.license {
                // Older manifests separate choices by a slash.
                map.insert("licenses".into(), json!([{"expression": licence.replace('/', " OR ")}]));
            }
            if let Some(checksum) = self.checksums.get(&reference) {
                map.insert("hashes".into(), json!([{"alg": "SHA-256", "content": checksum}]));
            }
        }
        component
    }
}

/// Returns the package URL of a crate.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

/// Returns the checksums in a lock file, by the references of their crates.
fn checksums(lock: &str) -> Result<HashMap<String, String>> {
    let lock: Table = lock.parse().context("Cargo.lock is not TOML")?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let checksum = |package: &toml::Value| {
        let text = |key: &str| package.get(key)?.as_str();
        Some((format!("pkg:cargo/{}@{}", text("name")?, text("version")?), text("checksum")?.to_owned()))
    };
    Ok(packages.filter_map(checksum).collect())
}
