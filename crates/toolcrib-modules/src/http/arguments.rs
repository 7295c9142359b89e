//! The arguments of requests.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_model::ToolError;
use url::Url;
use url::form_urlencoded::Serializer;

use super::client::{MAX_URL_BYTES, RequestSpec, url};
use super::errors::invalid;
use super::headers;

/// The maximum size of the body that a call may send, in bytes.
const MAX_SENT_BYTES: usize = 4 * 1024 * 1024;

/// The maximum number of fields of a query or a form.
pub const MAX_FIELDS: usize = 200;

/// The media type of JSON.
const JSON: &str = "application/json";

/// The fields of a query or a form.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Fields(#[schemars(with = "BTreeMap<String, Field>")] serde_json::Map<String, Value>);

/// The type of a field. The value is checked by hand, for an error that can be repaired.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Field {
    Text(String),
    Number(f64),
    Flag(bool),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Get {
    /// The URL, with `http://` or `https://`.
    url: String,
    /// Fields to add to its query.
    query: Option<Fields>,
    /// Headers to send. Credentials of the operator are added automatically.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Send {
    /// The URL, with `http://` or `https://`.
    url: String,
    /// Fields to add to its query.
    query: Option<Fields>,
    /// Headers to send. Credentials of the operator are added automatically.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// A body to send as JSON.
    #[serde(default)]
    json: Option<Value>,
    /// The fields of a form to send as the body.
    form: Option<Fields>,
    /// A text to send as the body; give its `Content-Type` among the headers.
    body: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Verb {
    #[default]
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JsonApi {
    /// The URL, with `http://` or `https://`.
    url: String,
    #[serde(default)]
    method: Verb,
    /// Fields to add to its query.
    query: Option<Fields>,
    /// Headers to send. Credentials of the operator are added automatically.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The body to send.
    #[serde(default)]
    json: Option<Value>,
}

impl Get {
    pub(super) fn into_spec(self, method: Method) -> Result<RequestSpec, ToolError> {
        let headers = headers::from_call(&self.headers)?;
        Ok(RequestSpec {
            method,
            url: with_query(url(&self.url)?, self.query.as_ref())?,
            headers,
            body: None,
        })
    }
}

impl Send {
    pub(super) fn into_spec(self, method: Method) -> Result<RequestSpec, ToolError> {
        let given = [self.json.is_some(), self.form.is_some(), self.body.is_some()];
        if given.iter().filter(|given| **given).count() > 1 {
            let message = "`json`, `form` and `body` each say what the body is";
            return Err(invalid(message).with_hint("give one of them"));
        }
        let mut headers = headers::from_call(&self.headers)?;
        let url = with_query(url(&self.url)?, self.query.as_ref())?;
        let (body, media_type) = match (self.json, self.form, self.body) {
            (Some(json), ..) => (Some(json.to_string()), Some(JSON)),
            (_, Some(form), _) => (Some(form.encoded("form")?), Some("application/x-www-form-urlencoded")),
            (.., Some(text)) => (Some(text), Some("text/plain; charset=utf-8")),
            _ => (None, None),
        };
        if let Some(media_type) = media_type {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(media_type));
        }
        Ok(RequestSpec { method, url, headers, body: body.map(check_body_size).transpose()? })
    }
}

impl JsonApi {
    pub(super) fn into_spec(self) -> Result<RequestSpec, ToolError> {
        let method = match self.method {
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
            Verb::Put => Method::PUT,
            Verb::Patch => Method::PATCH,
            Verb::Delete => Method::DELETE,
        };
        if self.json.is_some() && method == Method::GET {
            let message = "a GET request has no body, and `json` is one";
            return Err(invalid(message).with_hint("give fields in `query`, or another `method`"));
        }
        let mut headers: HeaderMap = headers::from_call(&self.headers)?;
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static(JSON));
        if self.json.is_some() {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(JSON));
        }
        let body = self.json.map(|json| check_body_size(json.to_string())).transpose()?;
        Ok(RequestSpec { method, url: with_query(url(&self.url)?, self.query.as_ref())?, headers, body })
    }
}

fn check_body_size(body: String) -> Result<Bytes, ToolError> {
    if body.len() > MAX_SENT_BYTES {
        let message = format!("the body has {} bytes, at most {MAX_SENT_BYTES} are sent", body.len());
        return Err(invalid(message).with_hint("send it in parts, if the server takes them"));
    }
    Ok(body.into())
}

fn with_query(mut url: Url, query: Option<&Fields>) -> Result<Url, ToolError> {
    let Some(query) = query else { return Ok(url) };
    let encoded = query.encoded("query")?;
    if encoded.is_empty() {
        return Ok(url);
    }
    let whole = match url.query().filter(|own| !own.is_empty()) {
        Some(own) => format!("{own}&{encoded}"),
        None => encoded,
    };
    url.set_query(Some(&whole));
    if url.as_str().len() > MAX_URL_BYTES {
        let message = format!("`url` and `query` have more than {MAX_URL_BYTES} bytes together");
        return Err(invalid(message).with_hint("send what is long in a body"));
    }
    Ok(url)
}

impl Fields {
    /// Encodes the fields for a query.
    fn encoded(&self, argument: &str) -> Result<String, ToolError> {
        if self.0.len() > MAX_FIELDS {
            let message = format!("`{argument}` has {} fields, at most {MAX_FIELDS} are sent", self.0.len());
            return Err(invalid(message).with_hint("leave out those that the server does not need"));
        }
        let mut fields = Serializer::new(String::new());
        for (name, value) in &self.0 {
            match value {
                Value::String(text) => fields.append_pair(name, text),
                Value::Number(_) | Value::Bool(_) => fields.append_pair(name, &value.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    let message =
                        format!("the field `{name}` of `{argument}` is not a text, number or boolean");
                    return Err(invalid(message)
                        .with_hint("write it as a text, in the format that the server expects"));
                }
            };
        }
        Ok(fields.finish())
    }
}
