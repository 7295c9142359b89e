//! Where the sockets of an app are: `toolcrib/approve/APP/ID` in the folder for the state of programs.
//!
//! The names are short, since the path of a socket may have no more than 104 bytes on some systems.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};
use toolcrib_runtime::{state_folder, state_name};

use super::MAX_SERVING;
use crate::Error;
use crate::random::{hex, random};

/// The random bytes of an id, each of which is two characters of it.
const ID_BYTES: usize = 4;

/// What the name of a socket ends with that nobody listens on yet.
const UNREADY: &str = ".new";

/// The folder of the sockets of one app.
pub(super) struct Place(PathBuf);

impl Place {
    pub(super) fn of(app: &Path) -> Result<Self, Error> {
        let folder = state_folder("approve").ok_or(Error::NoOperatorPlace)?;
        let name = state_name(app);
        let number = name.rsplit_once('-').map_or(name.as_str(), |(_, number)| number);
        Ok(Self(folder.join(number)))
    }

    pub(super) fn socket(&self, id: &str) -> PathBuf {
        self.0.join(id)
    }

    /// The ids of the sockets that are there, whether somebody listens or not.
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

    /// Takes the socket of a process away that has died.
    pub(super) fn forget(&self, id: &str) {
        // Somebody else may have done it in this moment.
        let _ = fs::remove_file(self.socket(id));
    }

    /// Connects; `None` where nobody listens any more, and the socket is gone then.
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

    /// Listens on a new socket. It gets its name when it can be connected to, so that nobody takes it for a dead one.
    pub(super) async fn listen(&self) -> io::Result<(UnixListener, String)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        self.is_there()?;
        for id in self.ids()? {
            // Only the dead are of interest.
            let _ = self.connect(&id).await;
        }
        if self.ids()?.len() >= MAX_SERVING {
            let message = format!("{MAX_SERVING} processes serve the app already");
            return Err(io::Error::new(ErrorKind::QuotaExceeded, message));
        }
        let id = hex(&random::<ID_BYTES>().map_err(io::Error::other)?);
        let unready = self.0.join(format!("{id}{UNREADY}"));
        let listener = UnixListener::bind(&unready)?;
        fs::rename(&unready, self.socket(&id))?;
        Ok((listener, id))
    }

    /// Whether the folder is there, with nobody but its owner let in.
    fn is_there(&self) -> io::Result<bool> {
        let found = match fs::symlink_metadata(&self.0) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let own = own_user()?;
        if !found.is_dir() || found.uid() != own {
            let message = "it is not a folder of this user; take it away";
            return Err(io::Error::new(ErrorKind::PermissionDenied, message));
        }
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700))?;
        }
        Ok(true)
    }

    pub(super) fn failed(&self, source: io::Error) -> Error {
        Error::OperatorPlace { path: self.0.clone(), source }
    }
}

/// As whom this process runs.
pub(super) fn own_user() -> io::Result<u32> {
    Ok(UnixStream::pair()?.0.peer_cred()?.uid())
}

fn is_id(name: &str) -> bool {
    name.len() == 2 * ID_BYTES && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
