//! `cargo xtask release --dry-run`: the files of a release, made and tried out, and nothing published.

mod archive;
mod debian;
#[cfg(target_os = "linux")]
mod images;
mod licences;
mod manifests;
mod npm;
mod sbom;
mod target;
mod trial;
mod wheel;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use self::archive::Entry;
use self::target::Target;
use crate::process::{answers, cargo, run as run_command};
use crate::workspace::Workspace;

const USAGE: &str = "\
release --dry-run [--target TRIPLE] [--profile NAME] [--binary PATH] [--out FOLDER] [--base-url URL] [--allow-dirty]
release --dry-run --collect FOLDER [--base-url URL]";

/// The profile of released programs.
const PROFILE: &str = "dist";

/// The package of the program.
const PROGRAM_PACKAGE: &str = "toolcrib-cli";

/// The option of rustc by which a static program takes 3 MB less. Its C library reads this form of relocations; that of a
/// system may be too old for it.
const PACKED_RELOCATIONS: &str = "link-arg=-Wl,-z,pack-relative-relocs";

/// The folder of the files, in the target directory.
const OUT: &str = "release-files";

/// The address of the files without `--base-url`, under a name that cannot exist.
const BASE_URL: &str = "https://releases.invalid/toolcrib";

/// The list of checksums.
const CHECKSUMS: &str = "SHA256SUMS";

/// The most bytes of the program, and of the archive that holds it.
const MAX_PROGRAM_BYTES: u64 = 60 * 1_000_000;
const MAX_ARCHIVE_BYTES: u64 = 22 * 1_000_000;

/// The shells with completions, and the files that their packages install.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "toolcrib.bash"),
    ("zsh", "_toolcrib"),
    ("fish", "toolcrib.fish"),
    ("elvish", "toolcrib.elv"),
    ("powershell", "_toolcrib.ps1"),
];

/// What the command line asks for.
struct Options {
    target: Option<String>,
    profile: String,
    /// A folder with the files of several targets, for which only checksums and manifests are made.
    collect: Option<PathBuf>,
    /// A program to pack instead of building one.
    binary: Option<PathBuf>,
    out: Option<PathBuf>,
    base_url: String,
    allow_dirty: bool,
}

/// The program of a release with all that comes with it, unpacked.
struct Release {
    version: String,
    target: Target,
    root: PathBuf,
    /// The folder of the finished files.
    out: PathBuf,
    /// The folder with the program and the files next to it.
    staging: PathBuf,
}

/// Makes the files of a release, and tries each in a clean folder.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    if let Some(folder) = &options.collect {
        manifests::write(folder, &version(workspace)?, &options.base_url, &workspace.root)?;
        return write_checksums(folder);
    }
    if !options.allow_dirty && options.binary.is_none() {
        check_clean(&workspace.root)?;
    }
    let target = target::choose(options.target.as_deref())?;
    let program = match &options.binary {
        Some(path) => path.clone(),
        None => build(workspace, &target, &options.profile)?,
    };
    let out = options.out.clone().unwrap_or_else(|| workspace.target.join(OUT));
    let staging = out.join("staging").join(&target.triple);
    for folder in [&out, &staging] {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("could not remove {}", folder.display()))?;
        }
        fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    }
    let version = version(workspace)?;
    let release = Release { version, target, root: workspace.root.clone(), out, staging };
    release.stage(workspace, &program)?;
    let files = release.pack()?;
    manifests::write(&release.out, &release.version, &options.base_url, &release.root)?;
    write_checksums(&release.out)?;
    let is_bounded = options.binary.is_none();
    let sizes = release.report(&files)?;
    trial::run(&release, &files, &workspace.target, is_bounded)?;
    if is_bounded {
        sizes.check()?;
    }
    println!(
        "release: {} has the files of {}; nothing was published",
        release.out.display(),
        release.version
    );
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            target: None,
            profile: PROFILE.to_owned(),
            collect: None,
            binary: None,
            out: None,
            base_url: BASE_URL.to_owned(),
            allow_dirty: false,
        };
        let mut is_dry = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().cloned().with_context(|| format!("{word} needs a value: {USAGE}"));
            match word.as_str() {
                "--dry-run" => is_dry = true,
                "--allow-dirty" => options.allow_dirty = true,
                "--target" => options.target = Some(value()?),
                "--profile" => options.profile = value()?,
                "--collect" => options.collect = Some(std::path::absolute(value()?)?),
                "--binary" => options.binary = Some(std::path::absolute(value()?)?),
                "--out" => options.out = Some(std::path::absolute(value()?)?),
                "--base-url" => value()?.trim_end_matches('/').clone_into(&mut options.base_url),
                _ => bail!("unknown argument {word:?}, expected {USAGE}"),
            }
        }
        ensure!(is_dry, "this task publishes nothing; add --dry-run to make and try the files of a release");
        Ok(options)
    }
}

/// Fails if files of the repository differ from the commit.
fn check_clean(root: &Path) -> Result<()> {
    let output = Command::new("git").args(["status", "--porcelain"]).current_dir(root).output();
    let output = output.context("could not start git")?;
    let changed = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "git status: {}", output.status);
    ensure!(
        changed.is_empty(),
        "these files are not committed; commit them, or add --allow-dirty:\n{changed}"
    );
    Ok(())
}

/// Builds the program of a target.
fn build(workspace: &Workspace, target: &Target, profile: &str) -> Result<PathBuf> {
    let mut command = cargo(&workspace.root);
    command.args(["rustc", "--package", PROGRAM_PACKAGE, "--bin", "toolcrib", "--locked"]);
    command.args(["--profile", profile, "--target", &target.triple]);
    if target.is_static() {
        command.args(["--", "-C", PACKED_RELOCATIONS]);
    }
    run_command(&mut command)?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(workspace.target.join(&target.triple).join(folder).join(target.program()))
}

/// Returns the version that all crates have.
fn version(workspace: &Workspace) -> Result<String> {
    let path = workspace.root.join("Cargo.toml");
    let manifest: toml::Table = fs::read_to_string(path)?.parse()?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = package.and_then(|package| package.get("version")).and_then(toml::Value::as_str);
    version.map(str::to_owned).context("Cargo.toml has no `workspace.package.version`")
}

impl Release {
    /// Returns the beginning of the names of files.
    fn stem(&self) -> String {
        format!("toolcrib-{}-{}", self.version, self.target.triple)
    }

    /// Puts the program, its documentation and its licences into the staging folder.
    fn stage(&self, workspace: &Workspace, program: &Path) -> Result<()> {
        let staged = self.staging.join(self.target.program());
        fs::copy(program, &staged).with_context(|| format!("could not copy {}", program.display()))?;
        // Names of functions are most of a program that was not built for release.
        if !answers(Command::new("strip").arg(&staged)) {
            println!("release: there is no `strip` here, the program keeps its symbols");
        }
        let completions = self.staging.join("completions");
        fs::create_dir_all(&completions)?;
        for (shell, file) in COMPLETIONS {
            let output = Command::new(&staged).args(["completions", shell]).output()?;
            ensure!(output.status.success(), "toolcrib completions {shell}: {}", output.status);
            fs::write(completions.join(file), output.stdout)?;
        }
        let man = self.staging.join("man");
        run_command(Command::new(&staged).arg("man").arg("--to").arg(&man))?;
        for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
            fs::copy(self.root.join(file), self.staging.join(file))?;
        }
        let graph = sbom::Graph::read(workspace, &self.target)?;
        fs::write(self.staging.join("THIRD-PARTY-LICENSES.txt"), licences::text(&graph.packages)?)?;
        let sbom = serde_json::to_string_pretty(&graph.cyclonedx(&self.version))?;
        fs::write(self.staging.join("toolcrib.cdx.json"), &sbom)?;
        fs::write(self.out.join(format!("{}.cdx.json", self.stem())), sbom)?;
        Ok(())
    }

    /// Makes the packages.
    fn pack(&self) -> Result<Files> {
        let entries = archive::entries(&self.staging)?;
        let archive = self.archive(&entries)?;
        let debian = match self.target.debian_architecture() {
            Some(architecture) => Some(debian::write(self, architecture)?),
            None => None,
        };
        Ok(Files { archive, debian, wheel: wheel::write(self)?, npm: npm::write(self)? })
    }

    fn archive(&self, entries: &[Entry]) -> Result<PathBuf> {
        let stem = self.stem();
        let path = self.out.join(self.target.archive(&self.version));
        let bytes = if self.target.is_windows() {
            archive::zip(entries, &stem)?
        } else {
            archive::tar_gz(entries, &stem)?
        };
        fs::write(&path, bytes).with_context(|| format!("could not write {}", path.display()))?;
        Ok(path)
    }

    /// Prints the sizes of the files.
    fn report(&self, files: &Files) -> Result<Sizes> {
        let program = fs::metadata(self.staging.join(self.target.program()))?.len();
        println!("release: the program has {}", megabytes(program));
        for path in files.all() {
            println!("release: {} has {}", name_of(path), megabytes(fs::metadata(path)?.len()));
        }
        Ok(Sizes { program, archive: fs::metadata(&files.archive)?.len() })
    }
}

/// The sizes that have bounds, in bytes.
struct Sizes {
    program: u64,
    archive: u64,
}

impl Sizes {
    /// Fails if the program or its archive is over its bound.
    fn check(&self) -> Result<()> {
        ensure!(self.program <= MAX_PROGRAM_BYTES, "the program is over {}", megabytes(MAX_PROGRAM_BYTES));
        ensure!(self.archive <= MAX_ARCHIVE_BYTES, "the archive is over {}", megabytes(MAX_ARCHIVE_BYTES));
        Ok(())
    }
}

/// The finished packages.
struct Files {
    archive: PathBuf,
    /// Only for Linux.
    debian: Option<PathBuf>,
    wheel: PathBuf,
    npm: PathBuf,
}

impl Files {
    fn all(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.archive), self.debian.as_ref(), Some(&self.wheel), Some(&self.npm)]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
    }
}

/// Writes the checksums of all files in a folder, as `sha256sum --check` reads them.
fn write_checksums(folder: &Path) -> Result<()> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && name_of(&path) != CHECKSUMS {
            lines.push(format!("{}  {}\n", sha256(&fs::read(&path)?), name_of(&path)));
        }
    }
    lines.sort_unstable_by(|one, other| one.get(64..).cmp(&other.get(64..)));
    fs::write(folder.join(CHECKSUMS), lines.concat()).context("could not write the checksums")
}

fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
}
