//! The manifests of package managers, from the templates in `packaging`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{name_of, sha256};

/// The templates, relative to the root, with the target without which a manifest is of no use.
const TEMPLATES: [(&str, Option<&str>); 4] = [
    ("packaging/homebrew/toolcrib.rb", None),
    ("packaging/winget/Toolcrib.Toolcrib.yaml", Some(WINDOWS)),
    ("packaging/winget/Toolcrib.Toolcrib.installer.yaml", Some(WINDOWS)),
    ("packaging/winget/Toolcrib.Toolcrib.locale.en-US.yaml", Some(WINDOWS)),
];

const WINDOWS: &str = "x86_64-pc-windows-msvc";

/// Writes the manifests for the archives in a folder into that folder.
pub(super) fn write(folder: &Path, version: &str, base_url: &str, root: &Path) -> Result<()> {
    let checksums = checksums(folder, version)?;
    for (path, needed) in TEMPLATES {
        let path = root.join(path);
        if let Some(target) = needed.filter(|target| !checksums.contains_key(*target)) {
            println!("release: {} is left out: there is no archive of {target}", name_of(&path));
            continue;
        }
        let template =
            fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        fs::write(folder.join(name_of(&path)), filled(&template, version, base_url, &checksums)?)?;
    }
    Ok(())
}

/// Returns the checksums of the archives in a folder, by their targets.
fn checksums(folder: &Path, version: &str) -> Result<BTreeMap<String, String>> {
    let prefix = format!("toolcrib-{version}-");
    let mut checksums = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = name_of(&path);
        let target = name
            .strip_prefix(&prefix)
            .and_then(|rest| rest.strip_suffix(".tar.gz").or_else(|| rest.strip_suffix(".zip")));
        if let Some(target) = target {
            checksums.insert(target.to_owned(), sha256(&fs::read(&path)?));
        }
    }
    Ok(checksums)
}

/// Fills in a template.
pub(super) fn filled(
    template: &str,
    version: &str,
    base_url: &str,
    checksums: &BTreeMap<String, String>,
) -> Result<String> {
    let mut text = String::new();
    let mut is_kept = true;
    for line in template.lines() {
        let condition = line.strip_prefix("@IF:").and_then(|rest| rest.strip_suffix('@'));
        match condition {
            Some(target) => is_kept = checksums.contains_key(target),
            None if line == "@END@" => is_kept = true,
            None if is_kept => {
                text.push_str(&line.replace("@VERSION@", version).replace("@BASE_URL@", base_url));
                text.push('\n');
            }
            None => {}
        }
    }
    for (target, checksum) in checksums {
        text = text.replace(&format!("@SHA256:{target}@"), checksum);
    }
    match text.lines().find(|line| line.contains("@SHA256:")) {
        Some(line) => anyhow::bail!("there is no archive for {line:?}"),
        None => Ok(text),
    }
}
