//! Bundles: a server with its files in one archive (`.mcpb`), manifest versions 0.1 to 0.4.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use toolcrib_io::files::state_folder;
use toolcrib_model::random::hex;
use zip::ZipArchive;

use super::inputs::{Inputs, plain};
use super::plan::command_entry;
use super::server_json::InputSpec;
use crate::exit::{Exit, Failure};

/// The largest bundle, in bytes.
pub(super) const MAX_BUNDLE_BYTES: usize = 128 * 1024 * 1024;

/// The most bytes of all files of a bundle.
const MAX_UNPACKED_BYTES: u64 = 1024 * 1024 * 1024;

/// The most files of a bundle.
const MAX_FILES: usize = 50_000;

/// The most bytes of a manifest.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// The hexadecimal digits of the digest in the name of a folder.
const DIGEST_DIGITS: usize = 16;

/// The file that describes a bundle.
const MANIFEST: &str = "manifest.json";

/// A bundle that has been read, and not been unpacked yet.
#[derive(Debug)]
pub(super) struct Bundle {
    bytes: Vec<u8>,
    manifest: Manifest,
    folder: PathBuf,
}

/// The description of a bundle.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Manifest {
    pub(super) name: String,
    #[serde(default)]
    pub(super) version: String,
    #[serde(default)]
    pub(super) description: String,
    server: Server,
    #[serde(default)]
    user_config: BTreeMap<String, UserValue>,
}

#[derive(Clone, Debug, Deserialize)]
struct Server {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    entry_point: String,
    #[serde(default)]
    mcp_config: Launch,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Launch {
    #[serde(default)]
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    platform_overrides: BTreeMap<String, PlatformLaunch>,
}

#[derive(Clone, Debug, Deserialize)]
struct PlatformLaunch {
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
}

/// A value that the user of a bundle sets.
#[derive(Clone, Debug, Deserialize)]
struct UserValue {
    #[serde(default)]
    description: String,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    sensitive: bool,
    default: Option<Value>,
}

impl Bundle {
    /// Reads a bundle, whose digest is the given one if it is known.
    ///
    /// # Errors
    ///
    /// The digest is another one, or the archive or its manifest cannot be read.
    pub(super) fn read(bytes: Vec<u8>, sha256: Option<&str>) -> Result<Self, Failure> {
        let digest = hex(&Sha256::digest(&bytes));
        if let Some(expected) = sha256.filter(|expected| !expected.eq_ignore_ascii_case(&digest)) {
            return Err(Failure::new(
                Exit::Denied,
                format!(
                    "the bundle has the digest {digest}, and {expected} was expected; it was changed, nothing was written"
                ),
            ));
        }
        let wrong = |error: String| Failure::bad_input(format!("the bundle cannot be read: {error}"));
        let mut archive = ZipArchive::new(Cursor::new(&bytes)).map_err(|error| wrong(error.to_string()))?;
        let manifest = archive.by_name(MANIFEST).map_err(|error| wrong(format!("{MANIFEST}: {error}")))?;
        let mut text = String::new();
        manifest
            .take(MAX_MANIFEST_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| wrong(format!("{MANIFEST}: {error}")))?;
        let manifest: Manifest =
            serde_json::from_str(&text).map_err(|error| wrong(format!("{MANIFEST}: {error}")))?;
        let bundles = state_folder("bundles").ok_or_else(|| {
            Failure::bad_input("there is no folder for bundles: set XDG_STATE_HOME or HOME")
        })?;
        let name: String = manifest
            .name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' })
            .take(64)
            .collect();
        let short = digest.get(..DIGEST_DIGITS).unwrap_or(&digest);
        let folder = bundles.join(format!("{name}-{short}"));
        Ok(Self { bytes, manifest, folder })
    }

    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the entry of the server.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the manifest, or what the user has to give.
    pub(super) fn entry(&self, namespace: &str, inputs: &mut Inputs) -> Result<Value, String> {
        let launch = self.manifest.server.launch();
        let mut command = vec![self.program(&launch.command)?];
        for argument in &launch.args {
            command.extend(self.filled(argument, inputs)?);
        }
        let mut env = Map::new();
        for (name, value) in &launch.env {
            let value = self.filled(value, inputs)?;
            if let Some(value) = value {
                env.insert(plain(name)?.to_owned(), json!(value));
            }
        }
        Ok(command_entry(namespace, &command, env))
    }

    /// Returns the program that runs the server: that of the kind of the bundle, or one inside it.
    fn program(&self, command: &str) -> Result<String, String> {
        let Server { kind, entry_point, .. } = &self.manifest.server;
        let programs: &[&str] = match kind.as_str() {
            "node" => &["node"],
            "python" => &["python", "python3"],
            "uv" => &["uv"],
            "binary" => &[],
            other => return Err(format!("bundles of the type `{other}` cannot be run")),
        };
        if programs.contains(&command) {
            return Ok(command.to_owned());
        }
        let inside = command.strip_prefix("${__dirname}/").unwrap_or(command);
        if kind == "binary" && Path::new(inside) == Path::new(entry_point) && is_inside(entry_point) {
            return Ok(self.folder.join(entry_point).to_string_lossy().into_owned());
        }
        let expected =
            if programs.is_empty() { "its entry point".to_owned() } else { programs.join("` or `") };
        Err(format!(
            "a bundle of the type `{kind}` runs `{expected}`, and its manifest says `{}`",
            command.escape_debug()
        ))
    }

    /// Returns a text with the values that it refers to; `None` if it is one optional value without one.
    fn filled(&self, text: &str, inputs: &mut Inputs) -> Result<Option<String>, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("${") {
            filled.push_str(plain(before)?);
            let (name, behind) = behind.split_once('}').ok_or_else(|| format!("`{text}` does not end"))?;
            match name {
                "__dirname" => filled.push_str(&self.folder.to_string_lossy()),
                "/" | "pathSeparator" => filled.push(std::path::MAIN_SEPARATOR),
                "HOME" => filled.push_str("${HOME}"),
                name => {
                    let key = name.strip_prefix("user_config.").ok_or_else(|| {
                        format!("`${{{name}}}` is no value of a bundle; it would read a variable of yours")
                    })?;
                    let own = self.manifest.user_config.get(key);
                    let own = own.ok_or_else(|| format!("the manifest has no value `{key}`"))?;
                    match inputs.value(key, &own.input()?)? {
                        Some(value) => filled.push_str(&value),
                        None if behind.is_empty() && filled.is_empty() => return Ok(None),
                        None => {}
                    }
                }
            }
            rest = behind;
        }
        filled.push_str(plain(rest)?);
        Ok(Some(filled))
    }

    /// Unpacks the bundle into its folder, which is complete or absent.
    ///
    /// # Errors
    ///
    /// The archive has files outside of the folder, links, or too many or too large files, or the folder cannot be written.
    pub(super) fn unpack(&self) -> Result<(), Failure> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let failed = |error: &dyn std::fmt::Display| {
            Failure::bad_input(format!("the bundle cannot be unpacked: {error}"))
        };
        let parent = self.folder.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(|error| failed(&error))?;
        let staging = tempfile::Builder::new()
            .prefix(".unpacking-")
            .tempdir_in(parent)
            .map_err(|error| failed(&error))?;
        let mut archive = ZipArchive::new(Cursor::new(&self.bytes)).map_err(|error| failed(&error))?;
        if archive.len() > MAX_FILES {
            return Err(failed(&format!("it has more than {MAX_FILES} files")));
        }
        let mut left = MAX_UNPACKED_BYTES;
        for at in 0..archive.len() {
            let mut file = archive.by_index(at).map_err(|error| failed(&error))?;
            let shown = file.name().escape_debug().to_string();
            let path = file.enclosed_name().filter(|_| !file.is_symlink());
            let Some(path) = path.map(|path| staging.path().join(path)) else {
                return Err(failed(&format!("`{shown}` is a link, or leads out of the bundle")));
            };
            if file.is_dir() {
                fs::create_dir_all(&path).map_err(|error| failed(&error))?;
                continue;
            }
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(|error| failed(&error))?;
            }
            let mut out =
                fs::File::create_new(&path).map_err(|error| failed(&format!("`{shown}`: {error}")))?;
            // What the archive says of sizes may be wrong.
            let written =
                std::io::copy(&mut file.by_ref().take(left + 1), &mut out).map_err(|error| failed(&error))?;
            left = left
                .checked_sub(written)
                .ok_or_else(|| failed(&format!("its files have more than {MAX_UNPACKED_BYTES} bytes")))?;
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                let entry_point = staging.path().join(&self.manifest.server.entry_point);
                let is_program =
                    file.unix_mode().is_some_and(|mode| mode & 0o111 != 0) || path == entry_point;
                let mode = if is_program { 0o755 } else { 0o644 };
                out.set_permissions(fs::Permissions::from_mode(mode)).map_err(|error| failed(&error))?;
            }
        }
        fs::rename(staging.keep(), &self.folder).map_err(|error| failed(&error))
    }

    /// Returns the folder that the bundle is unpacked into.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Server {
    /// Returns the command line for this platform.
    fn launch(&self) -> Launch {
        let platform = match std::env::consts::OS {
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        };
        let mut launch = self.mcp_config.clone();
        if let Some(own) = launch.platform_overrides.remove(platform) {
            launch.command = own.command.unwrap_or(launch.command);
            launch.args = own.args.unwrap_or(launch.args);
            launch.env.extend(own.env.unwrap_or_default());
        }
        launch
    }
}

impl UserValue {
    fn input(&self) -> Result<InputSpec, String> {
        let default = match &self.default {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.replace("${HOME}", "~")),
            Some(other @ (Value::Bool(_) | Value::Number(_))) => Some(other.to_string()),
            Some(_) => return Err("a list is given with `--set`, one value".to_owned()),
        };
        Ok(InputSpec {
            description: self.description.clone(),
            is_required: self.required,
            is_secret: self.sensitive,
            default,
            ..InputSpec::default()
        })
    }
}

/// Returns true for a relative path that stays below its folder.
fn is_inside(path: &str) -> bool {
    let path = Path::new(path);
    let mut parts = path.components();
    path.components().next().is_some() && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
}
