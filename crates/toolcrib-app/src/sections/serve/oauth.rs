//! `serve.oauth`: who may come in with a token of an authorization server.

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error as DocumentError;
use toolcrib_model::Risk;
use toolcrib_oauth::metadata::{is_loopback, is_scope};
use toolcrib_oauth::server::{ResourceServer, SignatureAlgorithm};
use toolcrib_policy::Scope;
use url::Url;

use crate::file::expansion;
use crate::sections::values::present;
use crate::{AppFile, Error};

/// The most entries of `serve.oauth.clients`.
const MAX_OAUTH_CLIENTS: usize = 256;

/// The most scopes that an entry wants.
const MAX_SCOPES: usize = 32;

/// The longest text of this section: a URL, a subject, a client's id or a scope, in bytes.
const MAX_TEXT_BYTES: usize = 2048;

/// `serve.oauth`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OAuthConfig {
    /// The issuer of the tokens: the URL of the authorization server, exactly as in `iss`.
    pub issuer: String,
    /// The audience of the tokens, exactly as in `aud`.
    pub audience: String,
    /// The URL that clients use for `/mcp`. By default `audience`, which must be a URL then.
    #[serde(default, deserialize_with = "present")]
    pub resource: Option<String>,
    /// The URL of the signing keys. By default the one that the authorization server publishes.
    #[serde(default, deserialize_with = "present")]
    pub jwks_url: Option<String>,
    /// True if host names of the authorization server may resolve to private addresses. By default only if the URL
    /// names one.
    #[serde(default)]
    pub allow_private: bool,
    /// The accepted signature algorithms. By default all of these.
    #[serde(default, deserialize_with = "present")]
    pub algorithms: Option<Vec<SignatureAlgorithm>>,
    /// The clients. The first entry that matches a token applies.
    pub clients: Vec<OAuthClient>,
}

/// One entry of `serve.oauth.clients`. It matches tokens that satisfy all of its conditions, of which there must be
/// one.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OAuthClient {
    /// The name of these clients. Rules refer to their sessions as `serve/NAME/*`; each subject has separate ones.
    pub name: String,
    /// The subject of the token (`sub`). By default any.
    #[serde(default, deserialize_with = "present")]
    pub subject: Option<String>,
    /// The client of the token (`client_id` or `azp`). By default any.
    #[serde(default, deserialize_with = "present")]
    pub client_id: Option<String>,
    /// The scopes of the token, all of which are required. By default any.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The namespaces that exist for these clients. By default all. Globs.
    #[serde(default, deserialize_with = "present")]
    pub namespaces: Option<Vec<String>>,
    /// The highest risk of tools that exist for these clients. By default any.
    #[serde(default, deserialize_with = "present")]
    pub max_risk_level: Option<Risk>,
    /// The profile that limits these clients, one of `profiles`. By default none.
    #[serde(default, deserialize_with = "present")]
    pub profile: Option<String>,
}

/// `serve.oauth` with what its variables hold now.
#[derive(Clone, Debug)]
pub struct ServedOAuth {
    /// The authorization server, and the tokens of it that are taken.
    pub server: ResourceServer,
    /// The clients by their tokens.
    pub clients: Vec<OAuthClient>,
}

impl OAuthClient {
    pub(super) fn scope(&self) -> Scope {
        let (namespaces, max_risk_level) = (self.namespaces.clone(), self.max_risk_level);
        Scope { namespaces, max_risk_level, ..Scope::default() }
    }
}

impl OAuthConfig {
    /// Returns the authorization server whose tokens are taken, with what its variables hold now.
    pub fn served(&self, file: &AppFile) -> Result<ServedOAuth, Error> {
        let text = |text: &str, key: &str| {
            let place = format!("/serve/oauth/{key}");
            expansion::expanded(file, text, &place, false).map_err(|error| file.wrong(error))
        };
        let url = |given: &str, key: &'static str| {
            let given = text(given, key)?;
            let url = url_of(&given, key)
                .map_err(|message| file.wrong(file.error_at(&format!("/serve/oauth/{key}"), message)))?;
            Ok::<_, Error>((given, url))
        };
        let (issuer, issuer_url) = url(&self.issuer, "issuer")?;
        let (resource, resource_url) = match &self.resource {
            Some(resource) => url(resource, "resource")?,
            None => url(&self.audience, "audience")?,
        };
        let jwks_url = self.jwks_url.as_deref().map(|given| url(given, "jwks_url")).transpose()?;
        let clients = self.clients.iter().enumerate().map(|(position, client)| {
            let own = |given: &Option<String>, key: &str| {
                given.as_deref().map(|given| text(given, &format!("clients/{position}/{key}"))).transpose()
            };
            Ok(OAuthClient {
                subject: own(&client.subject, "subject")?,
                client_id: own(&client.client_id, "client_id")?,
                ..client.clone()
            })
        });
        let server = ResourceServer {
            issuer,
            issuer_url,
            audience: text(&self.audience, "audience")?,
            resource,
            resource_url,
            jwks_url: jwks_url.map(|(_, url)| url),
            jwks_setting: "serve.oauth.jwks_url",
            allow_private: self.allow_private,
            algorithms: self.algorithms.clone().unwrap_or_else(|| SignatureAlgorithm::ALL.to_vec()),
        };
        Ok(ServedOAuth { server, clients: clients.collect::<Result<_, Error>>()? })
    }
}

/// Checks the section beyond its types.
pub(super) fn check(config: &OAuthConfig, file: &AppFile, errors: &mut Vec<DocumentError>) {
    let mut wrong = |key: &str, message: String| {
        errors.push(file.error_at(&format!("/serve/oauth/{key}"), message));
    };
    let named = if config.resource.is_some() { None } else { Some(config.audience.as_str()) };
    let urls = [
        ("issuer", Some(config.issuer.as_str())),
        ("audience", named),
        ("resource", config.resource.as_deref()),
        ("jwks_url", config.jwks_url.as_deref()),
    ];
    for (key, text) in urls {
        // What variables hold is looked at when it is served.
        if let Some(text) = text.filter(|text| !text.contains('$'))
            && let Err(message) = url_of(text, key)
        {
            wrong(key, message);
        }
    }
    if config.audience.is_empty() || config.audience.len() > MAX_TEXT_BYTES {
        wrong("audience", format!("an audience has from 1 to {MAX_TEXT_BYTES} bytes"));
    }
    if config.algorithms.as_ref().is_some_and(Vec::is_empty) {
        wrong("algorithms", "name an algorithm, or leave this out".to_owned());
    }
    if config.clients.is_empty() || config.clients.len() > MAX_OAUTH_CLIENTS {
        let count = config.clients.len();
        wrong("clients", format!("there are from 1 to {MAX_OAUTH_CLIENTS} clients, not {count}"));
    }
    for (position, client) in config.clients.iter().enumerate() {
        let texts = [("subject", &client.subject), ("client_id", &client.client_id)];
        for (key, text) in texts {
            if text.as_ref().is_some_and(|text| text.is_empty() || text.len() > MAX_TEXT_BYTES) {
                wrong(
                    &format!("clients/{position}/{key}"),
                    format!("this has from 1 to {MAX_TEXT_BYTES} bytes; leave it out for anybody"),
                );
            }
        }
        if client.scopes.len() > MAX_SCOPES {
            wrong(&format!("clients/{position}/scopes"), format!("there are at most {MAX_SCOPES} scopes"));
        }
        for (at, scope) in client.scopes.iter().enumerate() {
            if !is_scope(scope, MAX_TEXT_BYTES) {
                let message =
                    format!("`{scope}` is no scope: it has visible ASCII letters without `\"` and `\\`");
                wrong(&format!("clients/{position}/scopes/{at}"), message);
            }
        }
        if client.subject.is_none() && client.client_id.is_none() && client.scopes.is_empty() {
            let message = "any token would fit; say its `subject`, its `client_id` or its `scopes`";
            wrong(&format!("clients/{position}"), message.to_owned());
        }
    }
}

/// Returns a URL that tokens may depend on, at this key.
fn url_of(text: &str, key: &str) -> Result<Url, String> {
    let wrong = |what: &str| Err(format!("`{key}` {what}"));
    let Ok(url) = Url::parse(text) else {
        return wrong(match key {
            "audience" => "is no URL; say by `resource` which URL clients call this server by",
            _ => "is no URL",
        });
    };
    let is_named = matches!(key, "audience" | "resource");
    if !(url.scheme() == "https" || url.scheme() == "http" && (is_loopback(&url) || is_named))
        || url.host().is_none()
    {
        return wrong("has to be `https`, or `http` on this machine");
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return wrong("has no user, password or fragment");
    }
    if url.query().is_some() && key != "jwks_url" {
        return wrong("has no query");
    }
    if text.len() > MAX_TEXT_BYTES {
        return wrong(&format!("has at most {MAX_TEXT_BYTES} bytes"));
    }
    Ok(url)
}
