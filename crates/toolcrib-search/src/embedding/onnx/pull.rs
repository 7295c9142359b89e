//! The download of a model, on request.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use toolcrib_io::files::replace;
use toolcrib_io::http::HttpClient;
use url::Url;

use super::catalogue::{FileEntry, FileList, LIST, NamedModel};
use super::limits::MAX_MODEL_BYTES;
use crate::embedding::EmbedError;

/// The server of models, unless `HF_ENDPOINT` overrides it.
pub const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// The longest time without any received bytes.
pub const STALL_TIMEOUT: Duration = Duration::from_mins(1);

/// The most redirects that are followed, also to other hosts. The client's policy checks each of them.
const MAX_REDIRECTS: usize = 5;

/// The most bytes of the server's description of a model.
const MAX_ANSWER_BYTES: u64 = 8 << 20;

/// The progress of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullProgress<'a> {
    /// The file that is being downloaded.
    pub file: &'a str,
    /// The number of its bytes that were received.
    pub done: u64,
    /// The size of the file in bytes.
    pub total: u64,
}

/// A revision of a repository.
#[derive(Deserialize)]
struct Revision {
    sha: String,
}

/// A file in a repository.
#[derive(Deserialize)]
struct RemoteFile {
    path: String,
    #[serde(default)]
    size: u64,
    lfs: Option<LfsPointer>,
}

/// The reference to a large file in Git LFS.
#[derive(Deserialize)]
struct LfsPointer {
    oid: String,
}

/// Downloads a model into the folder of all models, unless it is already complete.
///
/// All files come from one revision. Each is checked against the size that the server lists, and large ones also
/// against their SHA-256. A file is moved into place only when it is complete. The list of the files, with their
/// digests, is written last: without it the model counts as not downloaded.
pub async fn pull(
    client: &HttpClient,
    endpoint: &Url,
    model: &NamedModel,
    models: &Path,
    mut progress: impl FnMut(PullProgress<'_>) + Send,
) -> Result<(), EmbedError> {
    if model.list(models).is_ok_and(|list| is_whole(&list, &model.folder(models))) {
        return Ok(());
    }
    let pull = ModelDownload { client, model, endpoint };
    let revision: Revision = pull.json(&format!("api/models/{}/revision/main", model.repository())).await?;
    if revision.sha.is_empty() || !revision.sha.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(pull.wrong("the server returned an invalid revision"));
    }
    let revision = revision.sha;
    let listed: Vec<RemoteFile> =
        pull.json(&format!("api/models/{}/tree/{revision}?recursive=true", model.repository())).await?;
    let folder = model.folder(models);
    let mut list = FileList { source: format!("{} {revision}", model.repository()), ..FileList::default() };
    for file in model.files() {
        let known = listed.iter().find(|listed| listed.path == file);
        let known = known.ok_or_else(|| pull.wrong(format!("the server does not have the file {file}")))?;
        if known.size > MAX_MODEL_BYTES {
            return Err(pull.wrong(format!("{file} has {} bytes, more than {MAX_MODEL_BYTES}", known.size)));
        }
        let address = format!("{}/resolve/{revision}/{file}", model.repository());
        let sha256 = pull.file(&address, known, &folder.join(file), &mut progress).await?;
        list.files.insert(file.to_owned(), FileEntry { bytes: known.size, sha256 });
    }
    let text = serde_json::to_vec_pretty(&list).map_err(|error| pull.wrong(error.to_string()))?;
    replace(folder.join(LIST), &text).map_err(|error| pull.wrong(error.to_string()))
}

/// Returns true if all files exist and have their recorded sizes.
fn is_whole(list: &FileList, folder: &Path) -> bool {
    list.files.iter().all(|(file, entry)| {
        fs::metadata(folder.join(file)).is_ok_and(|metadata| metadata.len() == entry.bytes)
    })
}

struct ModelDownload<'a> {
    client: &'a HttpClient,
    model: &'a NamedModel,
    endpoint: &'a Url,
}

impl ModelDownload<'_> {
    fn wrong(&self, message: impl Into<String>) -> EmbedError {
        EmbedError::Model { model: self.model.repository().to_owned(), message: message.into() }
    }

    async fn json<T: for<'a> Deserialize<'a>>(&self, address: &str) -> Result<T, EmbedError> {
        let mut bytes = Vec::new();
        self.read(address, MAX_ANSWER_BYTES, |chunk| {
            bytes.extend_from_slice(chunk);
            Ok(())
        })
        .await?;
        serde_json::from_slice(&bytes)
            .map_err(|error| self.wrong(format!("the answer to {address}: {error}")))
    }

    /// Downloads one file and returns its digest.
    async fn file(
        &self,
        address: &str,
        listed: &RemoteFile,
        path: &Path,
        progress: &mut (impl FnMut(PullProgress<'_>) + Send),
    ) -> Result<String, EmbedError> {
        let failed =
            |error: std::io::Error| self.wrong(format!("could not write {}: {error}", path.display()));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".{}.new", std::process::id()));
        let (mut hash, mut done) = (Sha256::new(), 0);
        let fetched = async {
            let mut file = File::create(&partial).map_err(failed)?;
            self.read(address, listed.size, |chunk| {
                hash.update(chunk);
                done += chunk.len() as u64;
                progress(PullProgress { file: &listed.path, done, total: listed.size });
                file.write_all(chunk).map_err(failed)
            })
            .await?;
            file.sync_all().map_err(failed)?;
            let sha256 = format!("{:x}", hash.finalize());
            let expected =
                listed.lfs.as_ref().map_or(sha256.as_str(), |lfs| lfs.oid.trim_start_matches("sha256:"));
            if done != listed.size || sha256 != expected {
                return Err(self.wrong(format!(
                    "{} has {done} bytes and the SHA-256 {sha256}, which differ from the server's list; try again",
                    listed.path
                )));
            }
            fs::rename(&partial, path).map_err(failed)?;
            Ok(sha256)
        };
        let fetched = fetched.await;
        if fetched.is_err() {
            // The incomplete file is of no use.
            let _ = fs::remove_file(&partial);
        }
        fetched
    }

    /// Reads a response in pieces, up to `max` bytes.
    async fn read(
        &self,
        address: &str,
        max: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), EmbedError>,
    ) -> Result<(), EmbedError> {
        let base = format!("{}/", self.endpoint.as_str().trim_end_matches('/'));
        let url = Url::parse(&base).and_then(|base| base.join(address));
        let mut url = url.map_err(|error| self.wrong(format!("{base}{address}: {error}")))?;
        let stalled =
            |_| self.wrong(format!("{address}: no data for {} s; try again", STALL_TIMEOUT.as_secs()));
        for _ in 0..=MAX_REDIRECTS {
            self.client.check_url(&url).map_err(|error| self.wrong(error.to_string()))?;
            let failed = |error: &dyn std::fmt::Display| self.wrong(format!("{address}: {error}; try again"));
            let sending = self.client.reqwest_client().get(url.clone()).send();
            let mut response =
                timeout(STALL_TIMEOUT, sending).await.map_err(stalled)?.map_err(|e| failed(&e))?;
            if response.status().is_redirection() {
                let location = response.headers().get("location").and_then(|value| value.to_str().ok());
                url = location.and_then(|location| url.join(location).ok()).ok_or_else(|| {
                    self.wrong(format!(
                        "{address}: the server redirects without a target, with status {}",
                        response.status()
                    ))
                })?;
                continue;
            }
            if !response.status().is_success() {
                return Err(self.wrong(format!("{address}: the server answered {}", response.status())));
            }
            let mut read = 0;
            while let Some(chunk) =
                timeout(STALL_TIMEOUT, response.chunk()).await.map_err(stalled)?.map_err(|e| failed(&e))?
            {
                read += chunk.len() as u64;
                if read > max {
                    return Err(self.wrong(format!("{address}: the server sends more than {max} bytes")));
                }
                take(&chunk)?;
            }
            return Ok(());
        }
        Err(self.wrong(format!("{address}: more than {MAX_REDIRECTS} redirects")))
    }
}
