//! The trial of the images: each is built by `buildah` on base images made from Debian packages, and serves an app.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Release;
use super::trial::finished;
use crate::process::run as run_command;

/// The folder of the images' files, relative to the root of the repository.
const FOLDER: &str = "deploy/images";

/// The release of Debian that the base images are made from.
const DEBIAN: &str = "bookworm";

/// The user and the group of the images.
const USER: u32 = 65_532;

/// The longest time until the served app is ready. A server that `npx` starts is downloaded first.
const READY_TIME: Duration = Duration::from_mins(2);

/// The pause between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(200);

/// The libraries that the program needs.
const LIBRARIES: [&str; 4] = ["libc.so.6", "libgcc_s.so.1", "libm.so.6", "ld-linux-x86-64.so.2"];

/// An app whose tools are in the program.
const APP: &str = "modules: {hello: {}}\ntools: {capabilities: {default_policy: grant}}\n";

/// An app whose server is started by `npx`.
const APP_OF_SERVERS: &str = "
tools:
  registry:
    - {type: mcp, namespace: everything, command: [npx, -y, \"@modelcontextprotocol/server-everything\"], env: {HOME: /state}}
  capabilities: {default_policy: grant}
";

/// Builds the images and serves an app in each. `uv` is the folder of `uv` and `uvx`.
pub(super) fn run(release: &Release, target: &Path, uv: &Path) -> Result<()> {
    let debian = debian(target)?;
    let folder = tempfile::tempdir_in(target)?;
    let trial = ImageTrial { release, folder: folder.path() };
    trial.base("base", &small_root(&folder.path().join("small"), &debian)?)?;
    trial.image("Dockerfile", &["BASE=localhost/base"])?;
    trial.serve("Dockerfile", APP, "hello__say_hello")?;
    trial.base("node", &node_root(&folder.path().join("node"), &debian)?)?;
    trial.base("uv", &uv_root(&folder.path().join("uv"), uv)?)?;
    trial.image("Dockerfile.servers", &["NODE=localhost/node", "UV=localhost/uv"])?;
    trial.serve("Dockerfile.servers", APP_OF_SERVERS, "everything__echo")?;
    finished(&mut trial.buildah(&["run", "Dockerfile.servers", "--", "uvx", "--version"]))?;
    Ok(())
}

struct ImageTrial<'a> {
    release: &'a Release,
    folder: &'a Path,
}

impl ImageTrial<'_> {
    /// Returns a command of `buildah` with storage of its own.
    fn buildah(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("buildah");
        command.arg("--root").arg(self.folder.join("storage")).arg("--runroot").arg(self.folder.join("run"));
        command.args(["--storage-driver", "vfs"]).args(arguments).env("BUILDAH_ISOLATION", "chroot");
        command
    }

    /// Makes an image of the files in a folder.
    fn base(&self, name: &str, root: &Path) -> Result<()> {
        let container = format!("{name}-root");
        finished(&mut self.buildah(&["from", "--name", &container, "scratch"]))?;
        finished(self.buildah(&["add", "--quiet", &container]).arg(root).arg("/"))?;
        // A short name can be an alias of a name in a registry.
        let image = format!("localhost/{name}");
        finished(&mut self.buildah(&["commit", "--quiet", "--rm", &container, &image]))?;
        Ok(())
    }

    /// Builds an image, and a container of the same name.
    fn image(&self, file: &str, arguments: &[&str]) -> Result<()> {
        let context = self.folder.join("context");
        fs::create_dir_all(&context)?;
        fs::copy(self.release.staging.join("toolcrib"), context.join("toolcrib"))?;
        let tag = file.to_lowercase();
        let mut build = self.buildah(&["build", "--quiet", "--format", "docker", "--tag", &tag]);
        build.args(arguments.iter().flat_map(|argument| ["--build-arg", argument]));
        build.arg("--file").arg(self.release.root.join(FOLDER).join(file)).arg(&context);
        finished(&mut build)?;
        finished(&mut self.buildah(&["from", "--name", file, &format!("localhost/{tag}")]))?;
        let user = finished(&mut self.buildah(&["inspect", "--format", "{{.OCIv1.Config.User}}", file]))?;
        let user = String::from_utf8_lossy(&user.stdout).trim().to_owned();
        ensure!(user == format!("{USER}:{USER}"), "{file}: expected the user {USER}, found {user:?}");
        println!("release: the image of {file} is built");
        Ok(())
    }

    /// Serves an app in a container, probes it, and lists its tools from outside.
    fn serve(&self, container: &str, app: &str, tool: &str) -> Result<()> {
        let folder = self.folder.join("app");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("app.yaml"), app)?;
        let address = free_address()?;
        let volume = format!("{}:/app:ro", folder.display());
        let mut serve = self.buildah(&["run", "--volume", &volume]);
        // The registry of this machine, and the certificates that its proxy may need.
        if let Ok(registry) = std::env::var("NPM_CONFIG_REGISTRY") {
            serve.args(["--env", &format!("NPM_CONFIG_REGISTRY={registry}")]);
        }
        if let Ok(certificates) = std::env::var("NODE_EXTRA_CA_CERTS") {
            serve.args(["--env", &format!("NODE_EXTRA_CA_CERTS={certificates}")]);
            serve.args(["--volume", &format!("{certificates}:{certificates}:ro")]);
        }
        serve.args([container, "--", "toolcrib", "serve", "/app/app.yaml", "--http", &address]);
        let log = self.folder.join("log");
        serve.stdout(Stdio::null()).stderr(fs::File::create(&log)?);
        let served = Served(serve.spawn().context("could not start buildah")?);
        let start = Instant::now();
        while !self.probe(container, &address)? {
            ensure!(
                start.elapsed() < READY_TIME,
                "{container}: not ready within {READY_TIME:?}:\n{}",
                fs::read_to_string(&log)?
            );
            thread::sleep(PROBE_INTERVAL);
        }
        let url = format!("http://{address}/mcp");
        let program = self.release.staging.join("toolcrib");
        let listed = finished(Command::new(program).args(["load", "--mcp", &url, "--json"]))?;
        let listed = String::from_utf8_lossy(&listed.stdout);
        ensure!(
            listed.contains(tool),
            "{container}: expected {tool} among its tools, found {listed}\n{}",
            fs::read_to_string(&log)?
        );
        drop(served);
        println!("release: the image of {container} serves over HTTP");
        Ok(())
    }

    /// Returns true if the health probe of the image succeeds.
    fn probe(&self, container: &str, address: &str) -> Result<bool> {
        let output = self.buildah(&["run", container, "--", "toolcrib", "health", address]).output()?;
        Ok(output.status.success())
    }
}

/// A served app, which ends when this is dropped.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // It passes the signal on to the program in the container.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// Returns the root of a small Debian, made once.
fn debian(target: &Path) -> Result<PathBuf> {
    let root = target.join("peers/debian");
    if !root.join("etc/ssl/certs/ca-certificates.crt").exists() {
        fs::create_dir_all(&root)?;
        run_command(
            Command::new("debootstrap")
                .args(["--variant=minbase", "--include=ca-certificates", DEBIAN])
                .arg(&root)
                .stdout(Stdio::null()),
        )?;
    }
    Ok(root)
}

/// Makes the root of an image that has the C library, root certificates and a home, as distroless images have.
fn small_root(root: &Path, debian: &Path) -> Result<PathBuf> {
    let libraries = "usr/lib/x86_64-linux-gnu";
    for folder in [libraries, "usr/lib64", "etc/ssl/certs", "tmp"] {
        fs::create_dir_all(root.join(folder))?;
    }
    for library in LIBRARIES {
        fs::copy(debian.join(libraries).join(library), root.join(libraries).join(library))?;
    }
    symlink(format!("../lib/x86_64-linux-gnu/{}", LIBRARIES[3]), root.join("usr/lib64").join(LIBRARIES[3]))?;
    symlink("usr/lib64", root.join("lib64"))?;
    symlink("usr/lib", root.join("lib"))?;
    let certificates = "etc/ssl/certs/ca-certificates.crt";
    fs::copy(debian.join(certificates), root.join(certificates))?;
    home(&root.join("home/nonroot"))?;
    Ok(root.to_owned())
}

/// Makes the root of an image with Node and npm of this machine.
fn node_root(root: &Path, debian: &Path) -> Result<PathBuf> {
    run_command(Command::new("cp").arg("--archive").arg(debian).arg(root))?;
    let node = fs::canonicalize(which("node")?)?;
    fs::copy(node, root.join("usr/local/bin/node"))?;
    let npm = fs::canonicalize(which("npm")?)?;
    let npm = npm.ancestors().nth(2).context("npm is not in its package")?;
    let modules = root.join("usr/local/lib/node_modules");
    fs::create_dir_all(&modules)?;
    run_command(Command::new("cp").arg("--archive").arg(npm).arg(modules.join("npm")))?;
    for name in ["npm", "npx"] {
        let script = format!("../lib/node_modules/npm/bin/{name}-cli.js");
        symlink(script, root.join("usr/local/bin").join(name))?;
    }
    Ok(root.to_owned())
}

/// Makes the root of an image with uv.
fn uv_root(root: &Path, uv: &Path) -> Result<PathBuf> {
    fs::create_dir_all(root)?;
    for name in ["uv", "uvx"] {
        fs::copy(uv.join(name), root.join(name))?;
    }
    Ok(root.to_owned())
}

/// Makes a folder of the user of the images.
fn home(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    chown(folder, Some(USER), Some(USER)).with_context(|| format!("{}: needs root", folder.display()))
}

/// Returns the path of a program of this machine.
pub(super) fn which(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(program));
    found.find(|path| path.is_file()).with_context(|| format!("there is no `{program}` here"))
}

/// Returns an address of this machine that is free now.
fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
