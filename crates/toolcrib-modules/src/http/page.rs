//! The tool `http.fetch_page`: the readable text of a web page.

use std::collections::BTreeMap;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_html::{Link, ReadablePage};
use toolcrib_io::http::{Response, essence, header_text};
use toolcrib_model::ToolError;
use toolcrib_sdk::CallContext;
use url::Url;

use super::charset::{decode_page, is_json};
use super::client::{Clients, RequestSpec, url};
use super::errors::{failed, status_error};
use super::final_response::FinalResponse;
use super::headers;
use super::output::compression;
use crate::blocking::blocking;

/// The `Accept` header: pages first, then any other text.
const ACCEPTED_TYPES: &str =
    "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.8, */*;q=0.1";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FetchPage {
    /// The URL of the page, with `http://` or `https://`.
    url: String,
    /// Headers to send, such as `Accept-Language`.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// True to list the links of the page.
    #[serde(default = "default_links")]
    links: bool,
}

fn default_links() -> bool {
    true
}

/// The content of a page for a reader.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Page {
    /// The URL of the page, after redirects.
    pub(super) url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    /// The description of the page by its author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    /// Its language, as in `en` or `fr-CA`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) language: Option<String>,
    /// Its main content, as text: `#` begins a heading, `*` an item of a list, and `|` separates the cells of a table.
    pub(super) text: String,
    /// The links of its main content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(super) links: Vec<Link>,
    /// Further remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(super) notes: Vec<String>,
}

pub(super) async fn fetch(
    clients: &Clients,
    context: &CallContext,
    arguments: FetchPage,
) -> Result<Page, ToolError> {
    let mut headers = headers::from_call(&arguments.headers)?;
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static(ACCEPTED_TYPES));
    let method = Method::GET;
    let spec = RequestSpec { method: method.clone(), url: url(&arguments.url)?, headers, body: None };
    let received = clients.send(context, spec).await?;
    if !received.response.status.is_success() {
        return Err(status_error(&method, &received));
    }
    let with_links = arguments.links;
    // Parsing a page can take long, since pages can be large or hostile.
    let mut page = blocking(context, move |stop| {
        let FinalResponse { response, url, .. } = received;
        read(&response, &url, &|| stop.check())
    })
    .await?;
    if !with_links {
        page.links.clear();
    }
    Ok(page)
}

/// Extracts the content of a response. `check_cancelled` is called between steps, and ends the work by an error.
fn read(
    response: &Response,
    url: &Url,
    check_cancelled: &dyn Fn() -> Result<(), ToolError>,
) -> Result<Page, ToolError> {
    let content_type = header_text(&response.headers, CONTENT_TYPE);
    let kind = content_type.map(essence).unwrap_or_default();
    let is_page = matches!(kind.as_str(), "" | "text/html" | "application/xhtml+xml");
    let is_text =
        kind.starts_with("text/") || is_json(&kind) || kind.ends_with("/xml") || kind.ends_with("+xml");
    if let Some(encoding) = compression(response) {
        let message = format!("the page is compressed by {encoding}, which was not asked for");
        return Err(failed(message).with_hint("`http.download` fetches it as it is"));
    }
    let is_binary = response.body.contains(&0) && encoding_rs::Encoding::for_bom(&response.body).is_none();
    if !(is_page || is_text) || is_binary {
        let kind = content_type
            .map_or_else(|| "unknown data".into(), |kind| kind.chars().take(100).collect::<String>());
        let message = format!("the content is {kind}, not a page");
        return Err(failed(message).with_hint("`http.get` shows images, `http.download` fetches any file"));
    }
    let decoded = decode_page(&response.body, content_type, response.truncated);
    let read = if is_page {
        ReadablePage::read(&decoded.text, Some(url), check_cancelled)?
    } else {
        ReadablePage::from_text(decoded.text)
    };
    let ReadablePage { title, description, language, text, links, notes, .. } = read;
    let mut page = Page { url: url.to_string(), title, description, language, text, links, notes };
    if response.truncated {
        page.notes
            .push(format!("the page is longer than {} bytes; the rest was not read", response.body.len()));
    }
    if decoded.is_wrong {
        page.notes.push(format!("bytes that are not {} are shown as \u{FFFD}", decoded.encoding.name()));
    }
    if page.text.is_empty() {
        page.notes.push("there is no text on the page; perhaps a script creates it in a browser".into());
    }
    Ok(page)
}
