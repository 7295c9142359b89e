//! The Debian package: an `ar` archive of two tar archives.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::archive::{Entry, tar_gz};
use super::{Release, target};

/// The revision of the package of one version.
const REVISION: u32 = 1;

/// Writes the package.
pub(super) fn write(release: &Release, architecture: &str) -> Result<PathBuf> {
    let data = data(release)?;
    let control = control(release, architecture, &data)?;
    let control = tar_gz(&[Entry::new("./control", control)], "")?;
    let data = tar_gz(&data, "")?;
    let package = ar(&[("debian-binary", b"2.0\n"), ("control.tar.gz", &control), ("data.tar.gz", &data)]);
    let path = release.out.join(format!("toolcrib_{}-{REVISION}_{architecture}.deb", release.version));
    fs::write(&path, package).with_context(|| format!("could not write {}", path.display()))?;
    Ok(path)
}

/// Returns the files at the places where Debian has them.
fn data(release: &Release) -> Result<Vec<Entry>> {
    let read =
        |path: &str| fs::read(release.staging.join(path)).with_context(|| format!("could not read {path}"));
    let doc = "./usr/share/doc/toolcrib";
    let mut entries = vec![
        Entry::program("./usr/bin/toolcrib", read(release.target.program())?),
        Entry::new("./usr/share/bash-completion/completions/toolcrib", read("completions/toolcrib.bash")?),
        Entry::new("./usr/share/zsh/vendor-completions/_toolcrib", read("completions/_toolcrib")?),
        Entry::new("./usr/share/fish/vendor_completions.d/toolcrib.fish", read("completions/toolcrib.fish")?),
        Entry::new(format!("{doc}/THIRD-PARTY-LICENSES.txt"), read("THIRD-PARTY-LICENSES.txt")?),
        Entry::new(format!("{doc}/toolcrib.cdx.json"), read("toolcrib.cdx.json")?),
        Entry::new(format!("{doc}/copyright"), copyright(release)?),
    ];
    for page in super::archive::entries(&release.staging.join("man"))? {
        entries.push(Entry::new(format!("./usr/share/man/man1/{}", page.path), page.bytes));
    }
    entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}

/// Returns the licences of the program itself.
fn copyright(release: &Release) -> Result<Vec<u8>> {
    let mut text =
        "Toolcrib is under the Apache License 2.0 or the MIT licence, at your option.\n\n".to_owned();
    for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
        text.push_str(&fs::read_to_string(release.root.join(file))?);
        text.push('\n');
    }
    Ok(text.into_bytes())
}

fn control(release: &Release, architecture: &str, data: &[Entry]) -> Result<String> {
    let kilobytes = data.iter().map(|entry| entry.bytes.len().div_ceil(1024)).sum::<usize>();
    let program = fs::read(release.staging.join(release.target.program()))?;
    let depends = match target::needed_glibc(&program) {
        Some(minor) if !release.target.is_static() => format!("Depends: libc6 (>= 2.{minor}), libgcc-s1\n"),
        _ => String::new(),
    };
    Ok(format!(
        "Package: toolcrib\nVersion: {}-{REVISION}\nArchitecture: {architecture}\nMaintainer: The Toolcrib developers \
         <toolcrib@packages.invalid>\nInstalled-Size: {kilobytes}\n{depends}Recommends: ca-certificates\nSection: utils\n\
         Priority: optional\nDescription: tool runtime for LLM agents\n Puts MCP servers, OpenAPI documents, programs, and \
         modules behind one gate,\n and serves them to agents.\n",
        release.version
    ))
}

/// Returns an `ar` archive.
fn ar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, "100644", bytes.len());
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}
