//! The loader, which reads the document and shares its operations with the engine.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::RwLock;
use serde_json::{Value, json};
use toolcrib_document::{Document, Format, parse};
use toolcrib_io::files::Root;
use toolcrib_io::http::{HttpPolicy, names_private_address};
use toolcrib_model::text::{ellipsize_chars, visible_text};
use toolcrib_model::{Fingerprint, QualifiedName};
use toolcrib_oauth::MAX_ANSWER_BYTES;
use toolcrib_policy::Access;
use toolcrib_port::{LoadOutcome, Reject, RejectKind, ToolLoader};
use url::Url;

use crate::auth::{Auth, KeyLocation, Logins, Slot, SourceAccess, key_slot};
use crate::client::{Clients, client};
use crate::fetch::{FetchedDocument, cache_document, fetch};
use crate::operation::{
    ConversionSettings, ConvertedDocument, Operation, ServerSettings, check, read_documents,
};
use crate::selection::Selection;
use crate::spec::{Documents, Spec, limits};
use crate::upload::Files;
use crate::{Error, RestEngine, RestSource, SpecLocation};

/// The maximum number of warnings about servers that are refused.
const MAX_REFUSED_SERVERS: usize = 3;

/// The maximum length of a server in a warning, in characters.
const MAX_SERVER_CHARS: usize = 200;

/// The loader of the tools of an OpenAPI document, created by [`RestSource::open`].
#[derive(Clone)]
pub struct RestLoader {
    shared: Arc<SharedState>,
}

/// The state that the loader shares with the engine.
pub(crate) struct SharedState {
    pub(crate) source: RestSource,
    base_url: Option<Url>,
    /// The headers of every call.
    pub(crate) headers: HeaderMap,
    /// The slots of these headers, which arguments cannot write.
    own_slots: Vec<Slot>,
    pub(crate) auth: Auth,
    selection: Selection,
    /// The operations of the last document that was read successfully, by tool name.
    pub(crate) operations: ArcSwap<HashMap<String, Arc<Operation>>>,
    pub(crate) clients: Clients,
    /// The title of the last document that was read successfully.
    title: RwLock<Option<String>>,
}

/// The most characters of a title.
const MAX_TITLE_CHARS: usize = 200;

impl RestSource {
    /// Creates the loader and the engine. The engine uses the operations that the loader has loaded last. Nothing is
    /// read yet; an error concerns the settings.
    pub fn open(self) -> Result<(RestLoader, RestEngine), Error> {
        let setting =
            |setting, problem: String| Error::Setting { setting, source_name: self.name.clone(), problem };
        QualifiedName::new(self.namespace.as_str(), "name")
            .map_err(|error| setting("namespace", error.to_string()))?;
        let base_url = match self.base_url.as_deref().map(|text| (text, Url::parse(text))) {
            None => None,
            Some((text, Err(error))) => {
                return Err(setting("base_url", format!("`{text}` is not a URL: {error}")));
            }
            Some((text, Ok(url))) => {
                check(&url).map_err(|problem| setting("base_url", format!("`{text}` {problem}")))?;
                Some(url)
            }
        };
        for (name, is_empty) in
            [("headers", self.headers.is_empty()), ("user_headers", self.user_headers.is_empty())]
        {
            if base_url.is_none() && !is_empty {
                return Err(setting(name, "they are sent to `base_url` only; set it".into()));
            }
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let header = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| setting("headers", format!("`{name}` cannot be the name of a header")))?;
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| {
                setting("headers", format!("the value of `{name}` contains control characters"))
            })?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        let policy = HttpPolicy {
            allow_private: self.allow_private,
            timeout: self.timeout,
            max_response_bytes: self.max_response_bytes,
            max_redirects: 0,
        };
        let operator_url = base_url.as_ref().or(match &self.spec {
            SpecLocation::Url(url) => Some(url),
            SpecLocation::File(_) => None,
        });
        let clients = Clients::new(policy, &self.access, operator_url)?;
        // The operator configured the URL that issues tokens.
        let issuer = |url: &Url| {
            let allow_private = policy.allow_private || names_private_address(url);
            let policy = HttpPolicy { allow_private, max_response_bytes: MAX_ANSWER_BYTES, ..policy };
            client(policy, &self.access)
        };
        let wrong = |problem| setting("auth", problem);
        let own = SourceAccess {
            namespace: &self.namespace,
            base_url: base_url.as_ref(),
            allow_private: self.allow_private || base_url.as_ref().is_some_and(names_private_address),
            access: &self.access,
        };
        let auth = Auth::new(&self.auth, &own, &issuer, &wrong)?;
        let mut own_slots: Vec<_> =
            headers.keys().map(|name| Slot::new(KeyLocation::Header, name.as_str())).collect();
        for name in self.user_headers.names() {
            let slot = key_slot(KeyLocation::Header, name);
            own_slots.push(slot.map_err(|problem| setting("user_headers", problem))?);
        }
        let selection = Selection {
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            risks: self.risks.clone(),
            idempotent: self.idempotent.clone(),
        };
        let shared = Arc::new(SharedState {
            source: self,
            base_url,
            headers,
            own_slots,
            auth,
            selection,
            operations: ArcSwap::default(),
            clients,
            title: RwLock::default(),
        });
        Ok((RestLoader { shared: Arc::clone(&shared) }, RestEngine { shared }))
    }
}

#[async_trait]
impl ToolLoader for RestLoader {
    fn source(&self) -> &str {
        &self.shared.source.name
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        Some(&self.shared.source.namespace)
    }

    fn warnings(&self) -> Vec<String> {
        let (shared, operations) = (&self.shared, self.shared.operations.load());
        let servers = operations.values().filter_map(|operation| operation.server.as_ref().ok());
        let refused: BTreeSet<&str> =
            servers.filter(|url| shared.clients.refuses(url)).map(Url::as_str).collect();
        let refused = refused.into_iter().take(MAX_REFUSED_SERVERS);
        refused
            .map(|url| {
                let url = ellipsize_chars(url, MAX_SERVER_CHARS);
                format!(
                    "{}: calls to {url} are refused: the document names this private address, and the app does not; set \
                     `base_url: {url}` if it is meant",
                    shared.source.name
                )
            })
            .collect()
    }

    fn about(&self) -> Option<String> {
        self.shared.title.read().clone()
    }

    async fn changed(&self) {
        match &self.shared.source.generation {
            // In both cases the document is loaded again.
            Some(generation) => drop(generation.changed().await),
            None => std::future::pending().await,
        }
    }

    async fn load(&self) -> LoadOutcome {
        let shared = Arc::clone(&self.shared);
        let published = shared.published().await;
        let is_loader = shared.source.generation.is_some() && published.is_none();
        let fetched = match published {
            Some(published) => Ok(published),
            None => fetch(&shared.source, |url| shared.clients.to(url).clone()).await,
        };
        let fetched = match fetched {
            Err(failed) => match shared.published_before().await {
                Some(published) => FetchedDocument { warning: Some(failed.reason), ..published },
                None => return shared.failed(failed.kind, failed.reason),
            },
            Ok(fetched) => fetched,
        };
        let is_current = is_loader && fetched.warning.is_none();
        let document = is_current.then(|| String::from_utf8(fetched.bytes.clone()));
        // Parsing and conversion block for a while on a document of some megabytes.
        let read = tokio::task::spawn_blocking(move || shared.read_fetched(fetched)).await;
        if let (Ok(Ok(_)), Some(Ok(document))) = (&read, document) {
            self.shared.publish(document).await;
        }
        self.share(match read {
            Ok(read) => read,
            Err(error) => {
                let reason = format!("reading the document failed: {error}");
                Err(self.shared.failed(RejectKind::InvalidTool, reason))
            }
        })
    }
}

impl RestLoader {
    /// Returns the logins of the source, if users log in there.
    pub(crate) fn logins(&self) -> Option<&Logins> {
        self.shared.auth.logins()
    }

    /// Loads the tools from this text, as if it were the content of the document. References to other files are not
    /// followed. This method blocks until the text is converted.
    pub fn load_text(&self, text: &[u8]) -> LoadOutcome {
        self.share(self.shared.read(text, None))
    }

    /// Publishes the operations to the engine.
    fn share(&self, read: Result<ConvertedDocument, LoadOutcome>) -> LoadOutcome {
        match read {
            Ok(converted) => {
                self.shared.operations.store(Arc::new(converted.operations));
                converted.loaded
            }
            // The operations of the last valid document remain, for calls to the tools that came from it.
            Err(failed) => failed,
        }
    }
}

impl SharedState {
    /// Returns the document that another process has fetched, if this one need not.
    async fn published(&self) -> Option<FetchedDocument> {
        let generation = self.source.generation.as_ref()?;
        let contents =
            async { if generation.is_owner().await? { Ok(None) } else { generation.contents().await } };
        self.document(contents.await)
    }

    /// Lets another process fetch the document, and returns the one that was published last.
    async fn published_before(&self) -> Option<FetchedDocument> {
        let generation = self.source.generation.as_ref()?;
        // If the lease cannot be released, it ends soon.
        let _ = generation.release().await;
        self.document(generation.contents().await)
    }

    /// Returns the document in published contents.
    fn document(&self, contents: io::Result<Option<Value>>) -> Option<FetchedDocument> {
        let contents = contents.unwrap_or_else(|error| {
            tracing::warn!(%error, "the shared document of `{}` cannot be read", self.source.name);
            None
        });
        let bytes = contents?.get("document")?.as_str()?.as_bytes().to_vec();
        Some(FetchedDocument { bytes, ..FetchedDocument::default() })
    }

    /// Publishes a document, if this process fetches it for the others.
    async fn publish(&self, document: String) {
        let Some(generation) = &self.source.generation else { return };
        let digest = Fingerprint::of(&Value::from(document.as_str())).to_string();
        let published = async {
            if generation.is_owner().await? {
                generation.publish(&digest, json!({"document": document})).await?;
            }
            Ok(())
        };
        let published: io::Result<()> = published.await;
        if let Err(error) = published {
            tracing::warn!(%error, "the document of `{}` is not shared with other processes", self.source.name);
        }
    }

    /// Returns the files that a call with this access may upload.
    pub(crate) fn files<'a>(&'a self, access: &'a Access) -> Files<'a> {
        Files::new(self.source.workspace.as_deref(), access)
    }

    /// Returns the name of the source for messages.
    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }

    fn failed(&self, kind: RejectKind, reason: impl Into<String>) -> LoadOutcome {
        LoadOutcome::failed(self.source.name.as_str(), kind, reason)
    }

    /// Converts a retrieved document and caches it. If it is invalid, converts the cached copy instead.
    fn read_fetched(&self, fetched: FetchedDocument) -> Result<ConvertedDocument, LoadOutcome> {
        let FetchedDocument { bytes, fresh, cached, warning } = fetched;
        let (read, warning) = match (self.read(&bytes, self.folder()), cached) {
            (Err(failed), Some(cached)) => {
                let reason = failed.rejected.first().map_or_else(String::new, |reject| reject.reason.clone());
                (self.read(&cached.bytes, None).map_err(|_| failed), Some(reason))
            }
            (Ok(converted), _) => {
                if let (Some(cache), SpecLocation::Url(url), Some(validators)) =
                    (&self.source.cache, &self.source.spec, fresh)
                {
                    cache_document(cache, url, bytes, validators);
                }
                (Ok(converted), warning)
            }
            (failed, None) => (failed, warning),
        };
        let mut converted = read?;
        if let Some(reason) = warning {
            let told = format!("{reason}; until then the cached copy is used");
            let reject = Reject::source(self.source.name.as_str(), RejectKind::Unavailable, told);
            converted.loaded.rejected.push(reject);
        }
        Ok(converted)
    }

    /// Returns the folder and the file name of a document on disk.
    fn folder(&self) -> Option<(PathBuf, String)> {
        let SpecLocation::File(path) = &self.source.spec else { return None };
        let name = path.file_name()?.to_str()?.to_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some((folder.to_owned(), name))
    }

    fn read(
        &self,
        bytes: &[u8],
        folder: Option<(PathBuf, String)>,
    ) -> Result<ConvertedDocument, LoadOutcome> {
        let (path, document_url) = match &self.source.spec {
            SpecLocation::File(path) => (path.as_path(), None),
            SpecLocation::Url(url) => (Path::new(url.path()), Some(url)),
        };
        let value = self.parse(path, bytes)?.value;
        let title = value.pointer("/info/title").and_then(Value::as_str).map(title);
        let folder = folder.and_then(|(folder, name)| Some((Root::open(folder).ok()?, name)));
        let documents = match folder {
            Some((root, name)) => Documents::read(&root, &name, value),
            None => Documents::single(value),
        };
        let failed =
            |error: Error| self.failed(error.reject_kind(), format!("{}: {error}", self.source.spec));
        let spec = Spec::new(&documents).map_err(failed)?;
        let auth = self.auth.bind(&spec.security_schemes(), &self.own_slots);
        let setting = ConversionSettings {
            source: &self.source.name,
            namespace: &self.source.namespace,
            base: ServerSettings {
                configured: self.base_url.as_ref(),
                document: document_url,
                variables: Some(&self.source.variables),
            },
            auth: &auth,
            selection: &self.selection,
            has_workspace: self.source.workspace.is_some(),
        };
        let converted = read_documents(spec, &setting).map_err(failed)?;
        *self.title.write() = title.filter(|title| !title.is_empty());
        Ok(converted)
    }

    fn parse(&self, path: &Path, bytes: &[u8]) -> Result<Document, LoadOutcome> {
        parse(bytes, Format::detect(path, bytes), &limits()).map_err(|error| {
            let kind = if error.is_limit() { RejectKind::TooLarge } else { RejectKind::Syntax };
            self.failed(kind, error.at(&self.source.spec))
        })
    }
}

/// Returns the title of a document on one line, truncated.
fn title(text: &str) -> String {
    let line = visible_text(text).split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_TITLE_CHARS).collect()
}
