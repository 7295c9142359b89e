//! Requests to web servers: pages, files, APIs.
//!
//! All requests use the guarded client of `toolcrib-io`. It connects to no address of a private network unless the
//! operator named its origin, and to no host that `access.network` does not name. Everything that it reads is bounded.
//! A safe request follows up to [`MAX_REDIRECTS`] redirects, each checked like a separate request; once one has led to
//! another origin, it carries no header that identifies the caller. A request that changes something follows none.
//!
//! The operator sets credentials, under [`HttpConfig::headers`]. A call with its own credentials is refused: they would
//! have come from the conversation, and would stay in it.
//!
//! A status other than 2xx is a result of `get`, `post` and the other methods, with `ok: false`, since the body says
//! what to do next. For `json_api`, `fetch_page` and `download` it is an error, since they promise the content.

mod arguments;
mod client;
mod config;
mod headers;

mod charset;
mod errors;
mod final_response;
mod output;

mod page;

mod download;

#[cfg(test)]
mod tests;

use http::Method;
use toolcrib_io::files::Root;
use toolcrib_model::JsonObject;
use toolcrib_policy::Access;
use toolcrib_sdk::{CallContext, Module, ToolError, module};

use crate::root_access::restricted;
use crate::{Error, ModuleContext};

use client::Clients;
use download::{DownloadOutput, Downloads};
use output::{ApiOutput, ResponseOutput};
use page::Page;

pub use arguments::MAX_FIELDS;
pub use client::{MAX_REDIRECTS, MAX_URL_BYTES};
pub use config::{DEFAULT_TIMEOUT_SECONDS, HttpConfig};
pub use download::MAX_DOWNLOAD_SECONDS;
pub use headers::MAX_HEADERS;
pub use toolcrib_html::{MAX_LINKS, MAX_TEXT_BYTES};

/// The namespace of the tools.
pub const ID: &str = "http";

/// Returns the module `http`.
///
/// # Errors
///
/// Returns an error if the configuration contains an invalid origin or header, or the workspace does not exist.
#[expect(clippy::needless_pass_by_value, reason = "the constructors of all modules have the same signature")]
pub fn module(config: HttpConfig, context: &ModuleContext) -> Result<Module, Error> {
    let clients = Clients::new(&config, &context.access)?;
    let root = context.root(ID)?;
    let downloads = Downloads::new(root.clone(), config.max_download_bytes.get());
    let access = context.access.clone();
    let module = Module::from(Http { clients, downloads }).reporting_progress();
    Ok(module.with_check(move |tool, arguments, call| {
        check(&call.narrow(&access), &restricted(&root, &call.access), tool, arguments)
    }))
}

/// Refuses a host or a file that the access rules do not allow, before approval is requested.
fn check(access: &Access, root: &Root, tool: &str, arguments: &JsonObject) -> Result<(), ToolError> {
    let text = |name: &str| arguments.get(name).and_then(serde_json::Value::as_str);
    if let Some(url) = text("url") {
        let url = client::url(url)?;
        if let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default())
            && !access.allows_host(host, port)
        {
            let refused = toolcrib_io::Error::HostNotAllowed { host: host.to_owned(), port };
            return Err(errors::request_error(&Method::GET, &refused));
        }
    }
    match text("path").filter(|_| tool == "download") {
        Some(path) => root.check_write(path).map_err(download::write_error),
        None => Ok(()),
    }
}

struct Http {
    clients: Clients,
    downloads: Downloads,
}

impl Http {
    async fn get_as(
        &self,
        context: &CallContext,
        method: Method,
        get: arguments::Get,
    ) -> Result<ResponseOutput, ToolError> {
        let received = self.clients.send(context, get.into_spec(method.clone())?).await?;
        Ok(output::response(&method, received))
    }

    async fn send_as(
        &self,
        context: &CallContext,
        method: Method,
        send: arguments::Send,
    ) -> Result<ResponseOutput, ToolError> {
        let received = self.clients.send(context, send.into_spec(method.clone())?).await?;
        Ok(output::response(&method, received))
    }
}

/// Sends requests to web servers, reads pages and downloads files.
#[module(id = "http", title = "HTTP")]
impl Http {
    /// Gets what is at a URL: JSON, text, an image. For the text of a web page use `fetch_page`.
    #[tool(
        risk = "low",
        idempotent,
        aliases = [
            "http get", "curl", "fetch url", "request a url", "requête get", "récupérer une url", "appeler une url",
        ],
        examples = [{"url": "https://example.com/status.json"}]
    )]
    async fn get(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Get,
    ) -> Result<ResponseOutput, ToolError> {
        self.get_as(context, Method::GET, arguments).await
    }

    /// Gets only the status and the headers of what is at a URL: its type, its size, its date.
    #[tool(
        risk = "low",
        idempotent,
        aliases = [
            "http head", "check url", "url exists", "content type of url", "vérifier une url", "en-têtes d'une url",
            "taille d'un fichier distant",
        ]
    )]
    async fn head(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Get,
    ) -> Result<ResponseOutput, ToolError> {
        self.get_as(context, Method::HEAD, arguments).await
    }

    /// Sends data to a URL.
    #[tool(
        risk = "medium",
        side_effects = ["sends the data to the server, which acts on it with each call"],
        aliases = [
            "http post", "send data", "submit form", "call webhook", "requête post", "envoyer des données",
            "soumettre un formulaire", "appeler un webhook",
        ],
        examples = [{"url": "https://example.com/notes", "json": {"text": "Buy milk."}}]
    )]
    async fn post(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Send,
    ) -> Result<ResponseOutput, ToolError> {
        self.send_as(context, Method::POST, arguments).await
    }

    /// Puts data at a URL, in place of what is there.
    #[tool(
        risk = "medium",
        idempotent,
        side_effects = ["replaces on the server what is at the URL"],
        aliases = [
            "http put", "replace resource", "upload to url", "requête put", "remplacer une ressource",
            "déposer des données",
        ]
    )]
    async fn put(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Send,
    ) -> Result<ResponseOutput, ToolError> {
        self.send_as(context, Method::PUT, arguments).await
    }

    /// Changes a part of what is at a URL.
    #[tool(
        risk = "medium",
        side_effects = ["changes on the server what is at the URL"],
        aliases = [
            "http patch", "update resource", "requête patch", "mettre à jour une ressource", "modifier une ressource",
        ]
    )]
    async fn patch(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Send,
    ) -> Result<ResponseOutput, ToolError> {
        self.send_as(context, Method::PATCH, arguments).await
    }

    /// Deletes what is at a URL.
    #[tool(
        risk = "high",
        idempotent,
        side_effects = ["deletes on the server what is at the URL"],
        aliases = [
            "http delete", "remove resource", "requête delete", "supprimer une ressource", "effacer une ressource",
        ]
    )]
    async fn delete(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::Send,
    ) -> Result<ResponseOutput, ToolError> {
        self.send_as(context, Method::DELETE, arguments).await
    }

    /// Calls an API that speaks JSON, and gives its data. A status other than 2xx is an error.
    #[tool(
        risk = "medium",
        side_effects = ["changes data on the server as the method says; nothing for GET"],
        aliases = [
            "rest api", "call api", "json request", "appeler une api", "interroger une api", "requête json",
        ],
        examples = [{"url": "https://example.com/notes", "method": "POST", "json": {"text": "Buy milk."}}]
    )]
    async fn json_api(
        &self,
        context: &CallContext,
        #[arguments] arguments: arguments::JsonApi,
    ) -> Result<ApiOutput, ToolError> {
        let spec = arguments.into_spec()?;
        let method = spec.method.clone();
        output::api_data(&method, &self.clients.send(context, spec).await?)
    }

    /// Fetches a web page and gives its title, its readable text and its links, without navigation and markup.
    #[tool(
        risk = "low",
        idempotent,
        aliases = [
            "read web page", "read website", "scrape page", "open link", "lire une page web", "ouvrir un lien",
            "lire un site", "extraire le texte d'une page", "consulter un article",
        ],
        examples = [{"url": "https://example.com/article"}]
    )]
    async fn fetch_page(
        &self,
        context: &CallContext,
        #[arguments] arguments: page::FetchPage,
    ) -> Result<Page, ToolError> {
        page::fetch(&self.clients, context, arguments).await
    }

    /// Downloads a file into the workspace. A download that broke off continues when it is called again.
    #[tool(
        risk = "medium",
        idempotent,
        side_effects = ["creates the file, or replaces it when asked to", "keeps the part of a download that broke off"],
        aliases = [
            "download file", "save url to file", "wget", "télécharger un fichier", "enregistrer un fichier distant",
            "récupérer un fichier",
        ],
        examples = [{"url": "https://example.com/data.csv", "path": "data.csv"}]
    )]
    async fn download(
        &self,
        context: &CallContext,
        #[arguments] arguments: download::Download,
    ) -> Result<DownloadOutput, ToolError> {
        self.downloads.download(&self.clients, context, arguments).await
    }
}
