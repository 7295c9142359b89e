//! The registry's API v0.1.

use std::time::Duration;

use http::{Method, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolcrib_io::http::{HttpClient, HttpPolicy, Request, display_url, names_private_address};
use url::Url;

use super::server_json::ServerJson;
use crate::exit::{Exit, Failure};

/// The official registry of MCP servers.
const OFFICIAL: &str = "https://registry.modelcontextprotocol.io";

/// The variable with another registry.
const VARIABLE: &str = "TOOLCRIB_REGISTRY";

/// The version of a server that is asked for by default.
const LATEST: &str = "latest";

/// The largest answer, in bytes.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// The time for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The time to download a bundle.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(5);

/// The most redirects of a download.
const MAX_REDIRECTS: usize = 5;

/// A registry.
#[derive(Debug)]
pub(super) struct Registry {
    base: Url,
    http: HttpClient,
}

/// One page of servers.
#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    servers: Vec<Listed>,
}

/// A server with what the registry says of it.
#[derive(Debug, Deserialize)]
struct Listed {
    server: ServerJson,
}

impl Registry {
    /// Opens the given registry, that of the variable, or the official one.
    pub(super) fn open(given: Option<&Url>) -> Result<Self, Failure> {
        let base = match (given, std::env::var(VARIABLE)) {
            (Some(url), _) => url.clone(),
            (None, Ok(text)) if !text.is_empty() => parse(&text, VARIABLE)?,
            _ => parse(OFFICIAL, "the registry")?,
        };
        if !matches!(base.scheme(), "http" | "https") {
            return Err(Failure::bad_input(format!("{base} is no URL of a registry; expected https://…")));
        }
        let policy = HttpPolicy {
            allow_private: names_private_address(&base),
            timeout: TIMEOUT,
            max_response_bytes: MAX_ANSWER_BYTES,
            max_redirects: MAX_REDIRECTS,
        };
        let http = HttpClient::new(policy).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
        Ok(Self { base, http })
    }

    /// Returns servers whose name contains a text.
    pub(super) async fn search(&self, text: &str, limit: u8) -> Result<Vec<ServerJson>, Failure> {
        let mut url = self.url(&["servers"])?;
        let limit = limit.to_string();
        url.query_pairs_mut().extend_pairs([("search", text), ("version", LATEST), ("limit", &limit)]);
        let page: Page = self.get(url).await?;
        Ok(page.servers.into_iter().map(|listed| listed.server).collect())
    }

    /// Returns a server in this version, or in its latest.
    pub(super) async fn server(&self, name: &str, version: Option<&str>) -> Result<ServerJson, Failure> {
        let url = self.url(&["servers", name, "versions", version.unwrap_or(LATEST)])?;
        let listed: Listed = self.get(url).await?;
        if listed.server.name != name {
            let message =
                format!("the registry answered with another server, `{}`", listed.server.name.escape_debug());
            return Err(Failure::new(Exit::Failed, message));
        }
        Ok(listed.server)
    }

    /// Downloads a bundle.
    ///
    /// # Errors
    ///
    /// The URL is not `https`, the server is not public or does not answer with the bundle, or the bundle is larger.
    pub(super) async fn download(&self, url: &str, max_bytes: usize) -> Result<Vec<u8>, Failure> {
        let url = parse(url, "the bundle")?;
        // A registry for tests, or of a company, may have its bundles next to it.
        let is_own = url.origin() == self.base.origin();
        if url.scheme() != "https" && !is_own {
            return Err(Failure::bad_input(format!("a bundle is downloaded from https://, not from {url}")));
        }
        let policy = HttpPolicy {
            allow_private: is_own && self.http.policy().allow_private,
            timeout: DOWNLOAD_TIMEOUT,
            max_response_bytes: max_bytes,
            max_redirects: MAX_REDIRECTS,
        };
        let http = HttpClient::new(policy).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
        let shown = display_url(&url);
        let request = Request::new(Method::GET, url).with_redirects(MAX_REDIRECTS);
        let response =
            http.send(request).await.map_err(|error| Failure::new(Exit::Unavailable, error.to_string()))?;
        if response.truncated {
            return Err(Failure::bad_input(format!("{shown} has more than {max_bytes} bytes")));
        }
        if !response.status.is_success() {
            return Err(Failure::new(
                Exit::Unavailable,
                format!("{shown} answered with {}", response.status),
            ));
        }
        Ok(response.body.to_vec())
    }

    fn url(&self, parts: &[&str]) -> Result<Url, Failure> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| Failure::bad_input(format!("{} is no URL of a registry", self.base)))?
            .pop_if_empty()
            .push("v0.1")
            .extend(parts);
        Ok(url)
    }

    async fn get<T: DeserializeOwned>(&self, url: Url) -> Result<T, Failure> {
        let shown = display_url(&url);
        let request = Request::new(Method::GET, url).with_redirects(MAX_REDIRECTS);
        let failed = |message: String| Failure::new(Exit::Unavailable, message);
        let response = self.http.send(request).await.map_err(|error| failed(error.to_string()))?;
        match response.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                return Err(Failure::bad_input(format!(
                    "the registry has no such server: {shown}; `toolcrib registry search` finds the names"
                )));
            }
            status => return Err(failed(format!("{shown} answered with {status}"))),
        }
        if response.truncated {
            return Err(failed(format!("{shown} answered with more than {MAX_ANSWER_BYTES} bytes")));
        }
        serde_json::from_slice(&response.body)
            .map_err(|error| failed(format!("{shown} does not answer as a registry (API v0.1): {error}")))
    }
}

fn parse(text: &str, what: &str) -> Result<Url, Failure> {
    Url::parse(text)
        .map_err(|error| Failure::bad_input(format!("{what}: `{}`: {error}", text.escape_debug())))
}
