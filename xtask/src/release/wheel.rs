//! The wheel `toolcrib`: the Python package of the repository, and the program as a script.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

use super::archive::{Entry, entries, zip};
use super::{Release, target};

/// The files with licences.
const LICENCES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-LICENSES.txt"];

/// Writes the wheel.
pub(super) fn write(release: &Release) -> Result<PathBuf> {
    let version = &release.version;
    let program = fs::read(release.staging.join(release.target.program()))?;
    let tag = release.target.wheel_tag(target::needed_glibc(&program))?;
    let mut files = Vec::new();
    for file in entries(&release.root.join("python/src"))? {
        if !file.path.contains("__pycache__") && !file.path.contains(".egg-info/") {
            files.push(file);
        }
    }
    let scripts = format!("toolcrib-{version}.data/scripts/{}", release.target.program());
    files.push(Entry::program(scripts, program));
    let info = format!("toolcrib-{version}.dist-info");
    for file in LICENCES {
        files.push(Entry::new(format!("{info}/licenses/{file}"), fs::read(release.staging.join(file))?));
    }
    files.push(Entry::new(format!("{info}/METADATA"), metadata(release)?));
    let tags: Vec<String> = tag.split('.').map(|platform| format!("Tag: py3-none-{platform}\n")).collect();
    files.push(Entry::new(
        format!("{info}/WHEEL"),
        format!("Wheel-Version: 1.0\nGenerator: toolcrib-xtask\nRoot-Is-Purelib: false\n{}", tags.concat()),
    ));
    let record = files.iter().map(record).chain([format!("{info}/RECORD,,\n")]).collect::<String>();
    files.push(Entry::new(format!("{info}/RECORD"), record));
    let path = release.out.join(format!("toolcrib-{version}-py3-none-{tag}.whl"));
    fs::write(&path, zip(&files, "")?).with_context(|| format!("could not write {}", path.display()))?;
    Ok(path)
}

/// Returns the metadata, from the manifest of the Python package.
fn metadata(release: &Release) -> Result<String> {
    let path = release.root.join("python/pyproject.toml");
    let manifest: Table = fs::read_to_string(path)?.parse()?;
    let project = manifest.get("project").context("pyproject.toml has no `project`")?;
    let text = |key: &str| {
        project
            .get(key)
            .and_then(Value::as_str)
            .with_context(|| format!("pyproject.toml has no `project.{key}`"))
    };
    let mut lines = format!(
        "Metadata-Version: 2.4\nName: {}\nVersion: {}\nSummary: {}\nRequires-Python: {}\nLicense-Expression: Apache-2.0 OR \
         MIT\n",
        text("name")?,
        release.version,
        text("description")?,
        text("requires-python")?
    );
    // Writing to a string does not fail.
    for file in LICENCES {
        let _ = writeln!(lines, "License-File: {file}");
    }
    let extras = project.get("optional-dependencies").and_then(Value::as_table);
    for (extra, requirements) in extras.into_iter().flatten() {
        let _ = writeln!(lines, "Provides-Extra: {extra}");
        for requirement in requirements.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let _ = writeln!(lines, "Requires-Dist: {requirement}; extra == '{extra}'");
        }
    }
    let readme = fs::read_to_string(release.root.join("python").join(text("readme")?))?;
    Ok(format!("{lines}Description-Content-Type: text/markdown\n\n{readme}"))
}

/// Returns the line of a file in `RECORD`: its path, its hash, its size.
fn record(file: &Entry) -> String {
    let hash = url_safe_base64(&Sha256::digest(&file.bytes));
    format!("{},sha256={hash},{}\n", file.path, file.bytes.len())
}

/// Returns Base64 with the alphabet of URLs, without padding.
pub(super) fn url_safe_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(chunk.get(at).copied().unwrap_or_default()));
        for at in 0..=chunk.len() {
            let index = (bits >> (18 - 6 * at) & 63) as usize;
            text.extend(ALPHABET.get(index).map(|byte| char::from(*byte)));
        }
    }
    text
}
