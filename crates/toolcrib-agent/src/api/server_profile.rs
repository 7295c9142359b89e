//! The profile of a model, as reported by its server: its context window and its capabilities.
//!
//! No format of requests reports them. Servers do, by different endpoints. The window matters most for
//! self-hosted servers, since most are started with a small part of the model's maximum.

mod ollama;
mod reports;

#[cfg(test)]
mod tests;

use http::Method;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use toolcrib_io::http::display_url;

use self::reports::{first, listed, lm_studio, reported};
use super::transport::read;
use super::wire_format::model_path;
use super::{ApiModel, Endpoint};
use crate::Provider;

/// The longest answer that is read, in bytes. `Ollama` sends the whole license of a model.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// The facts that a server reports about a model as it runs there; `None` for those that it does not report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerProfile {
    /// The tokens that the model takes in.
    pub context_window: Option<u32>,
    /// True if the model calls tools through its API.
    pub calls_tools: Option<bool>,
    /// True if the model sees pictures.
    pub sees_pictures: Option<bool>,
}

impl ServerProfile {
    /// Returns these facts, with those of `other` where they are absent.
    fn or(self, other: Self) -> Self {
        Self {
            context_window: self.context_window.or(other.context_window),
            calls_tools: self.calls_tools.or(other.calls_tools),
            sees_pictures: self.sees_pictures.or(other.sees_pictures),
        }
    }
}

/// A kind of self-hosted server, by its endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerKind {
    LlamaCpp,
    LmStudio,
    Ollama,
    SgLang,
    /// The list of models has all that there is.
    Other,
}

impl ServerKind {
    /// Returns the kind by the word for the owner of a model in the list of models.
    fn of_owner(owner: Option<&str>) -> Self {
        match owner {
            Some("llamacpp") => Self::LlamaCpp,
            Some("organization_owner") => Self::LmStudio,
            Some("library") => Self::Ollama,
            Some("sglang") => Self::SgLang,
            _ => Self::Other,
        }
    }
}

impl ApiModel {
    /// Asks the server for the profile of a model. What the server does not report is absent, as all is if it cannot be
    /// reached.
    pub async fn server_profile(&self, model: &str) -> ServerProfile {
        let endpoint = &self.endpoint;
        match endpoint.provider {
            Provider::Ollama => ollama::profile(endpoint, model).await,
            Provider::LmStudio => endpoint.profile_of(ServerKind::LmStudio, model).await,
            Provider::LlamaCpp => endpoint.profile_of(ServerKind::LlamaCpp, model).await,
            Provider::SgLang => endpoint.listed_profile(model, Some(ServerKind::SgLang)).await,
            // Their lists have pages.
            Provider::Anthropic | Provider::Gemini if endpoint.is_own_server => {
                let entry = endpoint.get(&endpoint.below(&model_path(model))).await;
                entry.as_ref().map(reported).unwrap_or_default()
            }
            _ => endpoint.listed_profile(model, None).await,
        }
    }
}

impl Endpoint {
    /// Returns the profile by the list of models, and by the endpoints of the kind of server that the list tells of.
    async fn listed_profile(&self, model: &str, kind: Option<ServerKind>) -> ServerProfile {
        let Some(list) = self.get(&self.below("models")).await else { return ServerProfile::default() };
        let named = listed(&list, model);
        let entry = named.or_else(|| first(&list));
        let owner = entry.and_then(|entry| entry.get("owned_by")).and_then(Value::as_str);
        let kind = kind.unwrap_or_else(|| ServerKind::of_owner(owner));
        let by_list = named.map(reported).unwrap_or_default();
        match kind {
            ServerKind::Other => by_list,
            // It has the names of its model only.
            ServerKind::SgLang => self.sg_lang(entry.map(reported).unwrap_or_default()).await,
            kind => self.profile_of(kind, model).await.or(by_list),
        }
    }

    async fn profile_of(&self, kind: ServerKind, model: &str) -> ServerProfile {
        let root = self.root();
        let found = match kind {
            ServerKind::Ollama => return ollama::profile(self, model).await,
            // A server of several models wants to know which; one of a single model does not read the name.
            ServerKind::LlamaCpp => {
                let name: String = url::form_urlencoded::byte_serialize(model.as_bytes()).collect();
                self.get(&format!("{root}/props?model={name}")).await.map(|props| reports::llama_cpp(&props))
            }
            ServerKind::LmStudio => {
                let models = self.get(&format!("{root}/api/v0/models")).await;
                models.and_then(|models| lm_studio(&models, model))
            }
            ServerKind::SgLang | ServerKind::Other => None,
        };
        found.unwrap_or_default()
    }

    async fn sg_lang(&self, by_list: ServerProfile) -> ServerProfile {
        let root = self.root();
        let model = self.get(&format!("{root}/get_model_info")).await.unwrap_or_default();
        let server = self.get(&format!("{root}/get_server_info")).await.unwrap_or_default();
        reports::sg_lang(&model, &server, by_list)
    }

    /// Returns the address of the server without the `/v1` below which the common API is.
    fn root(&self) -> String {
        self.base.as_str().trim_end_matches('/').trim_end_matches("/v1").to_owned()
    }

    /// Returns the address of a path below the base URL.
    fn below(&self, path: &str) -> String {
        format!("{}/{path}", self.base.as_str().trim_end_matches('/'))
    }

    async fn get(&self, url: &str) -> Option<Value> {
        self.answer(self.client.request(Method::GET, url), url).await
    }

    async fn post(&self, url: &str, body: &Value) -> Option<Value> {
        self.answer(self.client.request(Method::POST, url).json(body), url).await
    }

    async fn answer(&self, request: RequestBuilder, url: &str) -> Option<Value> {
        let request = request.headers(self.headers().await.ok()?);
        let response = request.send().await.ok().filter(|response| response.status().is_success())?;
        let shown = url::Url::parse(url).map(|url| display_url(&url)).unwrap_or_default();
        let (body, is_longer) = read(response, MAX_ANSWER_BYTES, &shown).await.ok()?;
        if is_longer { None } else { serde_json::from_slice(&body).ok() }
    }
}

/// Returns the body that names a model.
fn named(model: &str) -> Value {
    json!({ "model": model })
}
