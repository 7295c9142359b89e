//! The file of a configuration: read within bounds, backed up in its folder, written as a whole.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use toolcrib_document::without_byte_order_mark;
use toolcrib_io::files::read_bounded;

use crate::exit::{Exit, Failure};

/// The largest configuration, in bytes. `~/.claude.json` also holds the history of projects, and grows.
pub(crate) const MAX_CONFIGURATION_BYTES: u64 = 32 * 1024 * 1024;

/// The maximum number of backups of a file. The one that `--undo` needs is stored in addition.
const MAX_BACKUPS: usize = 5;

/// Stands between the name of a file and the number of its backup.
const BACKUP: &str = ".toolcrib-backup-";

/// A file that is to be changed.
#[derive(Debug)]
pub(crate) struct Target {
    /// As the client knows it.
    pub(crate) path: PathBuf,
    /// The target of the client's path, if that is a symlink.
    pub(crate) leads_to: Option<PathBuf>,
    /// Its text; `None` if there is no file.
    pub(crate) text: Option<String>,
}

impl Target {
    /// Reads it.
    pub(crate) fn read(path: PathBuf) -> Result<Self, Failure> {
        let is_symlink = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        let leads_to = if is_symlink {
            let real = path.canonicalize().map_err(|error| {
                let to = fs::read_link(&path).unwrap_or_default();
                let (path, to) = (path.display(), to.display());
                Failure::bad_input(format!("{path} is a symlink to {to}, which cannot be followed: {error}"))
            })?;
            Some(real)
        } else {
            None
        };
        let text = match read_bounded(&path, MAX_CONFIGURATION_BYTES) {
            Ok(bytes) => {
                Some(String::from_utf8(without_byte_order_mark(&bytes).to_vec()).map_err(|error| {
                    let at = error.utf8_error().valid_up_to();
                    Failure::bad_input(format!(
                        "{}: byte {at} is not UTF-8; nothing was written",
                        path.display()
                    ))
                })?)
            }
            Err(toolcrib_io::Error::NotFound { .. }) => None,
            Err(error) => return Err(Failure::bad_input(error.to_string())),
        };
        Ok(Self { path, leads_to, text })
    }

    fn real(&self) -> &Path {
        self.leads_to.as_deref().unwrap_or(&self.path)
    }

    /// Puts a text in the place of what was read, and says where that is kept. `needed` is a backup that has to stay.
    pub(crate) fn write(
        &self,
        new: Option<&str>,
        is_shared: bool,
        needed: Option<&Path>,
    ) -> Result<Option<PathBuf>, Failure> {
        let now = Self::read(self.path.clone())?;
        if now.text != self.text || now.leads_to != self.leads_to {
            let message = format!(
                "{} has changed since it was looked at; nothing was written, run the command again",
                self.path.display()
            );
            return Err(Failure::new(Exit::Failed, message));
        }
        self.check_writable()?;
        let backup = self.text.as_deref().map(|text| self.back_up(text, needed)).transpose()?;
        match new {
            Some(new) => self.replace(new, is_shared)?,
            None => fs::remove_file(self.real()).map_err(|error| self.failed(&error))?,
        }
        Ok(backup)
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        let hint = match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "; make it writable, or name another file"
            }
            _ => "",
        };
        Failure::bad_input(format!(
            "cannot write {}: {error}{hint}; nothing was changed",
            self.real().display()
        ))
    }

    /// Refuses to replace a read-only file, which another program manages.
    fn check_writable(&self) -> Result<(), Failure> {
        match OpenOptions::new().write(true).open(self.real()) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(self.failed(&error)),
            _ => {}
        }
        // Root could write it, but it is read-only on purpose.
        let is_read_only = |path: &Path| fs::metadata(path).is_ok_and(|found| found.permissions().readonly());
        if is_read_only(self.real()) || is_read_only(folder_of(self.real())) {
            return Err(self.failed(&ErrorKind::PermissionDenied.into()));
        }
        Ok(())
    }

    /// Readers find the old content or the new one, with the permissions that the file had.
    fn replace(&self, text: &str, is_shared: bool) -> Result<(), Failure> {
        let failed = |error: std::io::Error| self.failed(&error);
        let real = self.real();
        let folder = folder_of(real);
        fs::create_dir_all(folder).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".toolcrib-").suffix(".new");
        // A new file of one person's is for that person; one of a project is as any other file there.
        #[cfg(unix)]
        let builder = if is_shared { builder.permissions(open_permissions()) } else { builder };
        let mut file = builder.tempfile_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        if let Ok(found) = fs::metadata(real) {
            file.as_file().set_permissions(found.permissions()).map_err(failed)?;
        }
        file.as_file().sync_all().map_err(failed)?;
        file.persist(real).map_err(|error| self.failed(&error.error))?;
        Ok(())
    }

    /// Keeps a copy that only its owner may read, since configurations hold keys.
    fn back_up(&self, text: &str, needed: Option<&Path>) -> Result<PathBuf, Failure> {
        let failed = |error: std::io::Error| {
            let path = self.path.display();
            Failure::bad_input(format!("cannot back up {path} in its folder: {error}; nothing was changed"))
        };
        let kept = backups(&self.path);
        let number = kept.first().map_or(0, |(number, _)| *number).saturating_add(1);
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!("{BACKUP}{number}"));
        let path = PathBuf::from(name);
        // Made with 0600.
        let mut file = tempfile::Builder::new().tempfile_in(folder_of(&self.path)).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.persist_noclobber(&path).map_err(|error| failed(error.error))?;
        for (_, old) in kept.iter().skip(MAX_BACKUPS - 1).filter(|(_, old)| Some(old.as_path()) != needed) {
            // One that stays is one too many, and no harm.
            let _ = fs::remove_file(old);
        }
        Ok(path)
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Permissions of which the user's mask leaves what a file usually has.
#[cfg(unix)]
fn open_permissions() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o666)
}

/// Returns the backups of a file with their numbers, the newest first.
pub(crate) fn backups(path: &Path) -> Vec<(u64, PathBuf)> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let Ok(folder) = fs::read_dir(folder_of(path)) else { return Vec::new() };
    let prefix = format!("{name}{BACKUP}");
    let numbered = folder.flatten().filter_map(|entry| {
        let number = entry.file_name().to_str()?.strip_prefix(&prefix)?.parse().ok()?;
        Some((number, entry.path()))
    });
    let mut all: Vec<(u64, PathBuf)> = numbered.collect();
    all.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
    all
}
