//! The system that a program is for.

use std::env::consts::{ARCH, OS};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A target of rustc, by its triple.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) triple: String,
}

/// Returns the requested target, else the static one of this machine, else that of this machine.
pub(super) fn choose(requested: Option<&str>) -> Result<Target> {
    if let Some(triple) = requested {
        return Ok(Target { triple: triple.to_owned() });
    }
    let host = host()?;
    if OS == "linux" {
        let triple = format!("{ARCH}-unknown-linux-musl");
        if is_installed(&triple) {
            return Ok(Target { triple });
        }
        println!(
            "release: no static program: the target {triple} is not installed (`rustup target add {triple}`); \
             this one is for {host}, and needs the C library of a system as new as this one"
        );
    }
    Ok(Target { triple: host })
}

/// Returns the target of this machine.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("could not start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` names no host")
}

/// Returns true if the standard library of a target is installed.
fn is_installed(triple: &str) -> bool {
    let output = Command::new("rustc").args(["--print", "target-libdir", "--target", triple]).output().ok();
    let folder = output.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    Path::new(folder.trim()).is_dir()
}

impl Target {
    pub(super) fn is_windows(&self) -> bool {
        self.triple.contains("-windows-")
    }

    fn is_linux(&self) -> bool {
        self.triple.contains("-linux-")
    }

    /// Returns true if the program needs no C library of the system.
    pub(super) fn is_static(&self) -> bool {
        self.triple.ends_with("-musl")
    }

    /// Returns the name of the program's file.
    pub(super) fn program(&self) -> &'static str {
        if self.is_windows() { "toolcrib.exe" } else { "toolcrib" }
    }

    /// Returns the name of the archive of a version.
    pub(super) fn archive(&self, version: &str) -> String {
        let ending = if self.is_windows() { "zip" } else { "tar.gz" };
        format!("toolcrib-{version}-{}.{ending}", self.triple)
    }

    /// Returns the processor, as the triple has it.
    fn processor(&self) -> &str {
        self.triple.split('-').next().unwrap_or_default()
    }

    /// Returns the architecture of Debian. `None` if the target is not Linux.
    pub(super) fn debian_architecture(&self) -> Option<&'static str> {
        match (self.is_linux(), self.processor()) {
            (true, "x86_64") => Some("amd64"),
            (true, "aarch64") => Some("arm64"),
            _ => None,
        }
    }

    /// Returns the `os`, the `cpu`, and the `libc` of npm, the last only if the program needs one.
    pub(super) fn npm_platform(&self) -> Result<(&'static str, &'static str, Option<&'static str>)> {
        let cpu = match self.processor() {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => bail!("npm has no name for the processor {other}"),
        };
        let libc = (self.is_linux() && !self.is_static()).then_some("glibc");
        match () {
            () if self.is_linux() => Ok(("linux", cpu, libc)),
            () if self.is_windows() => Ok(("win32", cpu, None)),
            () if self.triple.contains("-apple-") => Ok(("darwin", cpu, None)),
            () => bail!("npm has no name for the system of {}", self.triple),
        }
    }

    /// Returns the tag of a wheel for this platform. `glibc` is the minor version of the C library that the program needs.
    pub(super) fn wheel_tag(&self, glibc: Option<u32>) -> Result<String> {
        let processor = self.processor();
        match () {
            () if self.is_static() => Ok(format!("manylinux_2_17_{processor}.musllinux_1_1_{processor}")),
            () if self.is_linux() => {
                let minor = glibc.context("the program names no version of the C library")?;
                Ok(format!("manylinux_2_{}_{processor}", minor.max(17)))
            }
            () if self.triple.contains("-apple-") && processor == "aarch64" => {
                Ok("macosx_11_0_arm64".to_owned())
            }
            () if self.triple.contains("-apple-") => Ok("macosx_10_12_x86_64".to_owned()),
            () if self.is_windows() && processor == "x86_64" => Ok("win_amd64".to_owned()),
            () if self.is_windows() && processor == "aarch64" => Ok("win_arm64".to_owned()),
            () => bail!("wheels have no tag for {}", self.triple),
        }
    }
}

/// Returns the newest version of glibc that a program names, as the minor version after `2.`. `None` if it names none.
pub(super) fn needed_glibc(program: &[u8]) -> Option<u32> {
    const MARK: &[u8] = b"GLIBC_2.";
    let mut newest = None;
    let mut rest = program;
    while let Some(at) = rest.windows(MARK.len()).position(|window| window == MARK) {
        rest = rest.get(at + MARK.len()..).unwrap_or_default();
        let digits: String =
            rest.iter().take(3).map(|byte| char::from(*byte)).take_while(char::is_ascii_digit).collect();
        newest = newest.max(digits.parse().ok());
    }
    newest
}
