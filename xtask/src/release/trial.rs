//! The trial of the files of a release: each is installed into a clean folder and runs the quickstart.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::{Files, Release};
use crate::install::{Manager, Packages};
use crate::process::{answers, describe, in_ci};

/// The app that each installed program runs, and a part of its answer.
const EXAMPLE: &str = "examples/quickstart";
const ANSWER: &str = "Oslo";

/// The longest time from `npx` or `uvx` to the first answer, the installation included.
const MAX_FIRST_ANSWER: Duration = Duration::from_secs(10);

/// The package of `uvx`.
const UV: Packages = Packages { name: "uv", manager: Manager::PipAlone };

/// The same for a program that was not built for release, which is several times as large.
const MAX_FIRST_ANSWER_OF_ANY: Duration = Duration::from_mins(1);

/// Installs and runs each file. A file whose installer is not here is left out with a note, which is an error in CI.
pub(super) fn run(release: &Release, files: &Files, target: &Path, is_bounded: bool) -> Result<()> {
    if release.target.is_windows() {
        println!(
            "release: the files are not tried: the example starts programs, which is refused on Windows"
        );
        return Ok(());
    }
    let bound = if is_bounded { MAX_FIRST_ANSWER } else { MAX_FIRST_ANSWER_OF_ANY };
    let trial = Trial::new(&release.root, target, bound)?;
    trial.archive(release, &files.archive)?;
    if let Some(package) = &files.debian {
        needs("dpkg-deb", &["--version"], || trial.debian(package))?;
    }
    needs("python3", &["-m", "venv", "--help"], || trial.wheel(&files.wheel))?;
    needs("npx", &["--version"], || trial.npm(&files.npm))?;
    trial.images(release, target)
}

/// Runs a part of the trial if its program is here.
fn needs(program: &str, arguments: &[&str], part: impl FnOnce() -> Result<()>) -> Result<()> {
    if answers(Command::new(program).args(arguments)) {
        return part();
    }
    ensure!(!in_ci(), "there is no `{program}` here, and CI=true leaves nothing out");
    println!("release: left out: there is no `{program}` here");
    Ok(())
}

/// A folder with a home that has nothing, and a copy of the example.
struct Trial {
    folder: TempDir,
    /// The root of the repository.
    root: PathBuf,
    /// The folder for programs that the trial installs.
    peers: PathBuf,
    max_first_answer: Duration,
}

impl Trial {
    fn new(root: &Path, target: &Path, max_first_answer: Duration) -> Result<Self> {
        let (folder, root, peers) = (tempfile::tempdir()?, root.to_owned(), target.join("peers"));
        let trial = Self { folder, root, peers, max_first_answer };
        fs::create_dir(trial.path("home"))?;
        copy(&trial.root.join(EXAMPLE), &trial.path("app"))?;
        Ok(trial)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a command in the clean environment.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("home")).current_dir(self.folder.path()).stdin(Stdio::null());
        // Where the registries are, which says nothing of what is installed.
        for name in ["PIP_INDEX_URL", "UV_INDEX_URL", "NPM_CONFIG_REGISTRY", "SSL_CERT_FILE"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command
    }

    /// Runs the quickstart with an installed program.
    fn quickstart(what: &str, command: &mut Command) -> Result<()> {
        let start = Instant::now();
        let output = finished(command.args(["run", "app/app.yaml"]))?;
        let answer = String::from_utf8_lossy(&output.stdout);
        ensure!(answer.contains(ANSWER), "{what}: expected {ANSWER:?} in the answer, found {answer:?}");
        println!("release: {what} runs the quickstart in {:.1} s", start.elapsed().as_secs_f64());
        Ok(())
    }

    fn archive(&self, release: &Release, archive: &Path) -> Result<()> {
        let to = self.path("archive");
        fs::create_dir(&to)?;
        if release.target.is_windows() {
            zip::ZipArchive::new(fs::File::open(archive)?)?.extract(&to)?;
        } else {
            tar::Archive::new(flate2::read::GzDecoder::new(fs::File::open(archive)?)).unpack(&to)?;
        }
        let program = to.join(release.stem()).join(release.target.program());
        Self::quickstart("the archive", &mut self.command(program))
    }

    fn debian(&self, package: &Path) -> Result<()> {
        let root = self.path("debian");
        finished(self.command("dpkg-deb").arg("--extract").arg(package).arg(&root))?;
        let fields = finished(self.command("dpkg-deb").arg("--field").arg(package).arg("Package"))?;
        ensure!(fields.stdout == b"toolcrib\n", "the Debian package has another name");
        Self::quickstart("the Debian package", &mut self.command(root.join("usr/bin/toolcrib")))
    }

    fn wheel(&self, wheel: &Path) -> Result<()> {
        let environment = self.path("python");
        finished(self.command("python3").args(["-m", "venv"]).arg(&environment))?;
        let programs = environment.join(if cfg!(windows) { "Scripts" } else { "bin" });
        let mut install = self.command(programs.join("python"));
        install.args(["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"]);
        finished(install.arg(wheel))?;
        finished(self.command(programs.join("python")).args(["-c", "from toolcrib import tool"]))?;
        Self::quickstart("the wheel", &mut self.command(programs.join("toolcrib")))?;
        let Some(uvx) = self.uvx()? else { return Ok(()) };
        self.first_answer("uvx", || {
            let mut command = self.command(&uvx);
            command.arg("--offline").arg("--from").arg(wheel).arg("toolcrib");
            command
        })
    }

    /// Returns the path of `uvx`, which is installed if it is not here. `None` if it cannot be, outside of CI.
    fn uvx(&self) -> Result<Option<PathBuf>> {
        if answers(Command::new("uvx").arg("--version")) {
            return Ok(Some("uvx".into()));
        }
        match UV.install(&self.root, &self.peers) {
            Ok(folder) => Ok(Some(folder.join("bin/uvx"))),
            Err(error) if in_ci() => Err(error.context("uv is not here, and CI=true leaves nothing out")),
            Err(error) => {
                println!("release: left out: uvx ({error:#})");
                Ok(None)
            }
        }
    }

    fn npm(&self, package: &Path) -> Result<()> {
        self.first_answer("npx", || {
            let mut command = self.command("npx");
            // By `--package`, since npx runs a file that it is given as a program.
            command.args(["--yes", "--offline", "--package"]).arg(package).arg("toolcrib");
            command
        })
    }

    /// Builds and runs the images, on a machine that builds images and is a Debian.
    #[cfg(target_os = "linux")]
    fn images(&self, release: &Release, target: &Path) -> Result<()> {
        let Some(uvx) = self.uvx()? else { return Ok(()) };
        let uvx = if uvx.is_absolute() { uvx } else { super::images::which("uvx")? };
        let uv = uvx.parent().context("uvx is in no folder")?;
        needs("buildah", &["--version"], || {
            needs("debootstrap", &["--version"], || super::images::run(release, target, uv))
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn images(&self, _release: &Release, _target: &Path) -> Result<()> {
        println!("release: the images are not tried: they are for Linux");
        Ok(())
    }

    /// Installs and runs the quickstart with one command, and asks the program as an MCP server for its tools.
    fn first_answer(&self, what: &str, launcher: impl Fn() -> Command) -> Result<()> {
        let start = Instant::now();
        Self::quickstart(what, &mut launcher())?;
        let took = start.elapsed();
        ensure!(took <= self.max_first_answer, "{what}: the first answer took {:.1} s", took.as_secs_f64());
        let mut serve = launcher();
        serve.args(["serve", "app/app.yaml", "--stdio"]);
        let line = shell_line(&serve);
        let output = finished(launcher().args(["load", "--mcp", &line, "--json"]))?;
        let listed = String::from_utf8_lossy(&output.stdout);
        ensure!(listed.contains("filesystem__read"), "{what}: it does not serve its tools: {listed}");
        println!("release: {what} serves the quickstart over standard input and output");
        Ok(())
    }
}

/// Returns a command as one line whose words are quoted.
fn shell_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| format!("'{}'", word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end. Fails with what it wrote to standard error if it fails.
pub(super) fn finished(command: &mut Command) -> Result<Output> {
    let line = describe(command);
    let output = command.output().with_context(|| format!("could not start {line}"))?;
    if !output.status.success() {
        bail!("{line}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(output)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
