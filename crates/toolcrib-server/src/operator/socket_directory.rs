//! The folder of the sockets of an app: `toolcrib/approve/APP/ID` in the user's state folder.
//!
//! The names are short, since some systems limit the path of a socket to 104 bytes.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};
use toolcrib_app::state_name;
use toolcrib_io::files::state_folder;
use toolcrib_model::random::{hex, random_bytes};

use super::limits::MAX_SERVING;
use crate::Error;

/// The number of random bytes in an id. Each is written as two characters.
const ID_BYTES: usize = 4;

/// The suffix of a socket that does not accept connections yet.
const UNREADY: &str = ".new";

/// The folder of the sockets of one app.
pub(super) struct SocketDirectory(PathBuf);

impl SocketDirectory {
    pub(super) fn of(app: &Path) -> Result<Self, Error> {
        let folder = state_folder("approve").ok_or(Error::NoOperatorDirectory)?;
        let name = state_name(app);
        let number = name.rsplit_once('-').map_or(name.as_str(), |(_, number)| number);
        Ok(Self(folder.join(number)))
    }

    pub(super) fn socket(&self, id: &str) -> PathBuf {
        self.0.join(id)
    }

    /// Returns the ids of the existing sockets, including those without a listener.
    pub(super) fn ids(&self) -> io::Result<Vec<String>> {
        if !self.is_there()? {
            return Ok(Vec::new());
        }
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            if let Ok(name) = entry?.file_name().into_string()
                && is_id(&name)
            {
                ids.push(name);
            }
        }
        ids.sort();
        Ok(ids)
    }

    /// Removes the socket of a process that has ended.
    pub(super) fn forget(&self, id: &str) {
        // Another process may have removed it at the same time.
        let _ = fs::remove_file(self.socket(id));
    }

    /// Connects to a socket. Returns `None` and removes the socket if nothing listens on it.
    pub(super) async fn connect(&self, id: &str) -> io::Result<Option<UnixStream>> {
        match UnixStream::connect(self.socket(id)).await {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                self.forget(id);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Listens on a new socket. The socket is renamed once it accepts connections, so that no other process takes it
    /// for a dead one.
    pub(super) async fn listen(&self) -> io::Result<(UnixListener, String)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        self.is_there()?;
        for id in self.ids()? {
            // This removes the sockets of processes that have ended.
            let _ = self.connect(&id).await;
        }
        if self.ids()?.len() >= MAX_SERVING {
            let message = format!("{MAX_SERVING} processes serve the app already");
            return Err(io::Error::new(ErrorKind::QuotaExceeded, message));
        }
        let id = hex(&random_bytes::<ID_BYTES>().map_err(|_| io::Error::other(Error::NoRandomness))?);
        let unready = self.0.join(format!("{id}{UNREADY}"));
        let listener = UnixListener::bind(&unready)?;
        fs::rename(&unready, self.socket(&id))?;
        Ok((listener, id))
    }

    /// Returns true if the folder exists, and restricts it to its owner.
    fn is_there(&self) -> io::Result<bool> {
        let found = match fs::symlink_metadata(&self.0) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let own = own_user()?;
        if !found.is_dir() || found.uid() != own {
            let message = "it is not a folder of this user; remove it";
            return Err(io::Error::new(ErrorKind::PermissionDenied, message));
        }
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700))?;
        }
        Ok(true)
    }

    pub(super) fn failed(&self, source: io::Error) -> Error {
        Error::OperatorDirectory { path: self.0.clone(), source }
    }
}

/// Returns the user id of this process.
pub(super) fn own_user() -> io::Result<u32> {
    Ok(UnixStream::pair()?.0.peer_cred()?.uid())
}

fn is_id(name: &str) -> bool {
    name.len() == 2 * ID_BYTES && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
