//! Content that calls upload: base64, or a file of the workspace.

use std::path::Path;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use toolcrib_io::files::{Purpose, Root};
use toolcrib_policy::Access;
use toolcrib_policy::access::Mode;

use crate::Error;
use crate::media_detection::of_data_url;

/// The prefix of a file path. Base64 contains no colon.
pub(crate) const FILE_PREFIX: &str = "file:";

/// The most bytes that one call uploads.
pub(crate) const MAX_UPLOAD_BYTES: usize = 32 * 1024 * 1024;

/// A decoder of base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The files that a call may upload. Reading them blocks.
pub(crate) struct Files<'a> {
    workspace: Option<&'a Path>,
    access: &'a Access,
    room: usize,
}

/// The content of a file argument.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileContent {
    pub(crate) bytes: Vec<u8>,
    /// The file name, if the content comes from a file.
    pub(crate) name: Option<String>,
    /// The media type, if the argument declares one.
    pub(crate) media_type: Option<String>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(workspace: Option<&'a Path>, access: &'a Access) -> Self {
        Self { workspace, access, room: MAX_UPLOAD_BYTES }
    }

    /// Returns the content of an argument: base64, a `data:` URL with base64, or `file:` and a path below the
    /// workspace.
    pub(crate) fn content(&mut self, argument: &str, text: &str) -> Result<FileContent, Error> {
        if let Some(path) = text.strip_prefix(FILE_PREFIX) {
            return self.read(argument, path.trim_start());
        }
        let (media_type, encoded) =
            match text.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
                Some((media_type, encoded)) => (of_data_url(media_type).map(str::to_owned), encoded),
                None => (None, text),
            };
        match BASE64.decode(encoded.trim()) {
            Ok(bytes) => Ok(FileContent { bytes, name: None, media_type }),
            Err(error) => Err(Error::argument(
                argument,
                format!(
                    "is not valid base64 ({error}); for a file of the workspace write `{FILE_PREFIX}` and its path"
                ),
            )),
        }
    }

    fn read(&mut self, argument: &str, path: &str) -> Result<FileContent, Error> {
        let Some(folder) = self.workspace else {
            return Err(Error::argument(
                argument,
                "names a file, and this source has no workspace: send the content as base64",
            ));
        };
        let wrong = |error: toolcrib_io::Error| Error::argument(argument, format!("cannot be read: {error}"));
        let root = self.guarded(folder).map_err(wrong)?;
        let slice = root.read(path, 0, self.room).map_err(wrong)?;
        if slice.truncated {
            return Err(Error::argument(
                argument,
                format!("is too large: one call uploads at most {MAX_UPLOAD_BYTES} bytes"),
            ));
        }
        self.room -= slice.bytes.len();
        let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(FileContent { bytes: slice.bytes, name, media_type: None })
    }

    /// Opens the workspace under the access rules.
    fn guarded(&self, folder: &Path) -> Result<Root, toolcrib_io::Error> {
        let root = Root::open(folder)?;
        let folder = root.path().to_string_lossy().into_owned();
        let access = self.access.clone();
        Ok(root.with_guard(move |path, purpose| {
            let mode = match purpose {
                Purpose::Read => Mode::Read,
                Purpose::Write => Mode::Write,
            };
            // A path that is not UTF-8 cannot be compared with the rules.
            path.to_str().is_some_and(|path| access.allows_path_below(&folder, path, mode))
        }))
    }
}
