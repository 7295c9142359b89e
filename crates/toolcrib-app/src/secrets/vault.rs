//! Vault and OpenBao: secrets of the key/value engine, version 2.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use toolcrib_io::files::read_bounded;
use toolcrib_io::http::{HttpClient, HttpPolicy, Request, display_url};
use toolcrib_model::Secret;
use toolcrib_model::text::truncate_chars;
use url::Url;

use super::{Lookup, MAX_MESSAGE_CHARS, MAX_SECRET_BYTES, folder};

/// The time for a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The largest response, in bytes. A secret has a few fields.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

/// The header with the token.
const TOKEN_HEADER: &str = "x-vault-token";

/// The header with the namespace.
const NAMESPACE_HEADER: &str = "x-vault-namespace";

/// The field of a secret that a key without `#FIELD` means, where the provider has no path.
const DEFAULT_FIELD: &str = "value";

/// A server of Vault or OpenBao.
#[derive(Debug)]
pub(super) struct Vault {
    pub(super) url: Url,
    pub(super) mount: String,
    pub(super) path: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) token: Token,
    /// The fields of the secrets that were read, so that a file with many names makes one request for each path.
    pub(super) kept: tokio::sync::Mutex<Vec<(String, Fields)>>,
}

/// The fields of a secret; `None` if there is no such secret.
type Fields = Result<Option<Map<String, Value>>, Failure>;

/// The reason why a secret cannot be read.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The server cannot be reached.
    Down(String),
    /// The server refuses the secret.
    Refused(String),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Down(reason) | Failure::Refused(reason) => reason,
        }
    }
}

/// The token for the server.
#[derive(Debug)]
pub(super) enum Token {
    Text(Secret),
    File(PathBuf),
}

impl Token {
    fn read(&self) -> Result<Secret, String> {
        match self {
            Self::Text(token) => Ok(token.clone()),
            Self::File(path) => {
                let bytes = read_bounded(path, MAX_SECRET_BYTES as u64).map_err(|error| error.to_string())?;
                folder::text(bytes).map_err(|problem| format!("the token file {} {problem}", path.display()))
            }
        }
    }
}

impl Vault {
    pub(super) fn address(&self) -> String {
        display_url(&self.url)
    }

    pub(super) fn token_file(&self) -> Option<&Path> {
        match &self.token {
            Token::File(path) => Some(path),
            Token::Text(_) => None,
        }
    }

    /// Splits a key into the path of a secret and its field.
    fn place<'a>(&'a self, key: &'a str) -> (&'a str, &'a str) {
        match (key.rsplit_once('#'), &self.path) {
            (Some(place), _) => place,
            (None, Some(path)) => (path, key),
            (None, None) => (key, DEFAULT_FIELD),
        }
    }

    pub(super) fn absence(&self, key: &str) -> String {
        let (path, field) = self.place(key);
        format!("no field `{field}` of the secret `{}/{path}`", self.mount)
    }

    /// Reads a field of a secret, once for all fields of the secret or now.
    pub(super) async fn read(&self, key: &str, lookup: Lookup) -> Result<Option<Secret>, String> {
        let (path, field) = self.place(key);
        let fields = match lookup {
            Lookup::Once => self.kept(path).await?,
            Lookup::Now => self.fetch(path).await?,
        };
        match fields.as_ref().and_then(|fields| fields.get(field)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) if text.len() <= MAX_SECRET_BYTES => {
                Ok(Some(Secret::new(text.as_str())))
            }
            Some(Value::String(_)) => Err(format!("`{field}` is too long: at most {MAX_SECRET_BYTES} bytes")),
            Some(_) => Err(format!("`{field}` is no text; store it as one")),
        }
    }

    async fn kept(&self, path: &str) -> Fields {
        let mut kept = self.kept.lock().await;
        if let Some((_, fields)) = kept.iter().find(|(known, _)| known == path) {
            return fields.clone();
        }
        // A server that is down is not waited for again and again.
        if let Some((_, Err(Failure::Down(reason)))) = kept.last() {
            return Err(Failure::Down(reason.clone()));
        }
        let fields = self.fetch(path).await;
        kept.push((path.to_owned(), fields.clone()));
        fields
    }

    async fn fetch(&self, path: &str) -> Fields {
        let token = self.token.read()?;
        let mut url = self.url.clone();
        let parts = self.mount.split('/').chain(["data"]).chain(path.split('/'));
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(format!("`{path}` is no path of a secret").into());
        }
        url.path_segments_mut()
            .map_err(|()| "its `url` has no path".to_owned())?
            .pop_if_empty()
            .push("v1")
            .extend(parts);
        let mut headers = http::HeaderMap::new();
        let mut add = |name: &'static str, text: &str| {
            let mut value = http::HeaderValue::from_str(text)
                .map_err(|_| format!("{name} holds characters that no header may have"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
            Ok::<_, String>(())
        };
        add(TOKEN_HEADER, token.expose())?;
        if let Some(namespace) = &self.namespace {
            add(NAMESPACE_HEADER, namespace)?;
        }
        // The operator wrote the address, so any is allowed. A client for each request: connections would belong to the
        // runtime of the thread that reads.
        let policy = HttpPolicy {
            allow_private: true,
            timeout: TIMEOUT,
            max_response_bytes: MAX_RESPONSE_BYTES,
            ..HttpPolicy::default()
        };
        let client = HttpClient::new(policy).map_err(|error| error.to_string())?;
        let request = Request::new(http::Method::GET, url).with_headers(headers);
        let response = client.send(request).await.map_err(|error| Failure::Down(error.to_string()))?;
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        if response.status == http::StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if !response.status.is_success() {
            let errors = body.get("errors").and_then(Value::as_array).into_iter().flatten();
            let told: Vec<_> = errors.filter_map(Value::as_str).collect();
            let told = told.join("; ").replace(token.expose(), "[secret]");
            let next = match response.status.as_u16() {
                403 => "; check that the token is valid and may read this path",
                _ => "",
            };
            let told = truncate_chars(told.trim(), MAX_MESSAGE_CHARS);
            return Err(format!("it answers {} for `{path}`: {told}{next}", response.status).into());
        }
        match body.pointer("/data/data") {
            Some(Value::Object(fields)) => Ok(Some(fields.clone())),
            _ => Err(format!(
                "it answers for `{path}` without `data.data`: expected the key/value engine, version 2, at `{}`",
                self.mount
            )
            .into()),
        }
    }
}
