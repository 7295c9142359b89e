//! The npm package: the program of one platform, which `npx` starts.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;

use super::Release;
use super::archive::{Entry, tar_gz};

/// The folder in which npm looks for the files of a package.
const FOLDER: &str = "package";

/// Writes the package.
pub(super) fn write(release: &Release) -> Result<PathBuf> {
    let (os, cpu, libc) = release.target.npm_platform()?;
    let program = release.target.program();
    let manifest = json!({
        "name": "toolcrib",
        "version": release.version,
        "description": "A tool runtime for LLM agents",
        "keywords": ["agents", "llm", "mcp", "openapi", "tools"],
        "license": "(Apache-2.0 OR MIT)",
        "bin": {"toolcrib": format!("bin/{program}")},
        "os": [os],
        "cpu": [cpu],
        "libc": libc.map(|libc| vec![libc]),
    });
    let mut manifest = manifest;
    if libc.is_none()
        && let Some(map) = manifest.as_object_mut()
    {
        map.remove("libc");
    }
    let read =
        |file: &str| fs::read(release.staging.join(file)).with_context(|| format!("could not read {file}"));
    let mut files = vec![
        Entry::new("package.json", format!("{manifest:#}\n")),
        Entry::program(format!("bin/{program}"), read(program)?),
    ];
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "THIRD-PARTY-LICENSES.txt"] {
        files.push(Entry::new(file, read(file)?));
    }
    let libc = if release.target.is_static() { "-static" } else { "" };
    let path = release.out.join(format!("toolcrib-{}-{os}-{cpu}{libc}.tgz", release.version));
    fs::write(&path, tar_gz(&files, FOLDER)?)
        .with_context(|| format!("could not write {}", path.display()))?;
    Ok(path)
}
