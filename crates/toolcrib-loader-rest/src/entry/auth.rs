//! `auth` of a source: credentials as an app file writes them.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toolcrib_model::Secret;
use toolcrib_oauth::client::{ClientSettings, shell_quoted};
use toolcrib_sdk::MAX_USERS;
use url::Url;

use super::ApiEntry;
use crate::oauth::ClientCredentials;
use crate::{Credential, CredentialKind, KeyLocation};

/// The number of issued secrets of one login that are masked.
const KNOWN_SECRETS: usize = 12;

/// One credential. Which of the settings there must be depends on `type`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthEntry {
    #[serde(rename = "type")]
    kind: Kind,
    grant: Option<GrantEntry>,
    scheme: Option<String>,
    origin: Option<String>,
    token: Option<Secret>,
    username: Option<String>,
    password: Option<Secret>,
    value: Option<Secret>,
    #[serde(rename = "in")]
    place: Option<In>,
    name: Option<String>,
    token_url: Option<String>,
    client_id: Option<String>,
    client_secret: Option<Secret>,
    scopes: Option<Vec<String>>,
    audience: Option<String>,
    client_auth: Option<ClientAuth>,
    issuer: Option<String>,
    redirect_port: Option<u16>,
    per_user: Option<bool>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Bearer,
    Basic,
    ApiKey,
    Oauth2,
}

/// The grant by which a token is obtained.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum GrantEntry {
    AuthorizationCode,
    ClientCredentials,
    TokenExchange,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum In {
    Header,
    Query,
    Cookie,
}

/// The part of a request that carries id and secret of an OAuth client.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum ClientAuth {
    Header,
    Body,
}

impl AuthEntry {
    /// Returns the URLs that tokens come from.
    pub(super) fn issuers(&self) -> impl Iterator<Item = &String> {
        self.token_url.iter().chain(&self.issuer)
    }

    /// Returns the settings of a login.
    fn login(self, place: &dyn ApiEntry, namespace: &str) -> Result<CredentialKind, String> {
        let issuer = self
            .issuer
            .ok_or("`grant: authorization_code` needs `issuer`, the URL of the authorization server")?;
        Url::parse(&issuer).map_err(|error| format!("`issuer` is not a URL: {error}"))?;
        if self.client_secret.is_some() && self.client_id.is_none() {
            return Err("`auth` has a `client_secret` and no `client_id`; set both".into());
        }
        let per_user = self.per_user.unwrap_or_default();
        let known = if per_user { MAX_USERS.get() } else { KNOWN_SECRETS };
        let mut settings = ClientSettings::new().with_store(place.token_store()?);
        settings.on_secret = Some(place.secret_sink(format!("{namespace}.token"), known));
        settings.login_command = Some(format!("toolcrib login {} {namespace}", shell_quoted(place.file())));
        settings.access = place.access()?;
        settings.client_id = self.client_id;
        settings.client_secret = self.client_secret;
        settings.issuer = Some(issuer);
        settings.trusts_issuer = true;
        settings.needs_token = true;
        settings.scopes = self.scopes.unwrap_or_default();
        settings.redirect_port = self.redirect_port;
        Ok(CredentialKind::Login { settings: Box::new(settings), per_user })
    }

    /// Returns the name of the type, and the keys that it has. Fails for a key of another type.
    fn check_keys(&self) -> Result<(&'static str, &'static [&'static str]), String> {
        let (name, own): (&'static str, &'static [&'static str]) = match self.kind {
            Kind::Bearer => ("bearer", &["token"]),
            Kind::Basic => ("basic", &["username", "password"]),
            Kind::ApiKey => ("api_key", &["value", "in", "name"]),
            Kind::Oauth2 if self.grant == Some(GrantEntry::AuthorizationCode) => {
                let own =
                    &["grant", "issuer", "client_id", "client_secret", "scopes", "redirect_port", "per_user"];
                ("oauth2", own)
            }
            Kind::Oauth2 => {
                let own = &[
                    "grant",
                    "token_url",
                    "client_id",
                    "client_secret",
                    "scopes",
                    "audience",
                    "client_auth",
                ];
                ("oauth2", own)
            }
        };
        let set = [
            ("grant", self.grant.is_some()),
            ("token", self.token.is_some()),
            ("username", self.username.is_some()),
            ("password", self.password.is_some()),
            ("value", self.value.is_some()),
            ("in", self.place.is_some()),
            ("name", self.name.is_some()),
            ("token_url", self.token_url.is_some()),
            ("client_id", self.client_id.is_some()),
            ("client_secret", self.client_secret.is_some()),
            ("scopes", self.scopes.is_some()),
            ("audience", self.audience.is_some()),
            ("client_auth", self.client_auth.is_some()),
            ("issuer", self.issuer.is_some()),
            ("redirect_port", self.redirect_port.is_some()),
            ("per_user", self.per_user.is_some()),
        ];
        if let Some((key, _)) = set.iter().find(|(key, is_set)| *is_set && !own.contains(key)) {
            return Err(format!("`auth` of type `{name}` has no `{key}`; it has {}", listed(own)));
        }
        Ok((name, own))
    }

    /// Returns the credential, or which setting is missing or is for another type.
    pub(super) fn credential(self, place: &dyn ApiEntry, namespace: &str) -> Result<Credential, String> {
        let (name, own) = self.check_keys()?;
        let missing = |key: &str| format!("`auth` of type `{name}` needs `{key}`; it has {}", listed(own));
        let (scheme, origin) = (self.scheme.clone(), self.origin.clone());
        let kind = match self.kind {
            Kind::Oauth2 if !cfg!(feature = "oauth") => {
                return Err(toolcrib_oauth::Error::Unsupported.to_string());
            }
            Kind::Oauth2 if self.grant == Some(GrantEntry::AuthorizationCode) => {
                self.login(place, namespace)?
            }
            Kind::Bearer => CredentialKind::Bearer { token: self.token.ok_or_else(|| missing("token"))? },
            Kind::Basic => CredentialKind::Basic {
                username: self.username.ok_or_else(|| missing("username"))?,
                password: self.password.ok_or_else(|| missing("password"))?,
            },
            Kind::ApiKey => CredentialKind::ApiKey {
                value: self.value.ok_or_else(|| missing("value"))?,
                slot: match (self.place, self.name) {
                    (Some(place), Some(name)) => Some((place.into(), name)),
                    (None, None) => None,
                    (Some(_), None) => return Err(missing("name")),
                    (None, Some(_)) => return Err(missing("in")),
                },
            },
            Kind::Oauth2 => {
                let client = ClientCredentials {
                    token_url: self.token_url.ok_or_else(|| missing("token_url"))?,
                    client_id: self.client_id.ok_or_else(|| missing("client_id"))?,
                    client_secret: self.client_secret.ok_or_else(|| missing("client_secret"))?,
                    scopes: self.scopes.unwrap_or_default(),
                    audience: self.audience,
                    secret_in_body: self.client_auth == Some(ClientAuth::Body),
                };
                match self.grant {
                    Some(GrantEntry::TokenExchange) => CredentialKind::TokenExchange(client),
                    Some(GrantEntry::AuthorizationCode | GrantEntry::ClientCredentials) | None => {
                        CredentialKind::OAuth2(client)
                    }
                }
            }
        };
        let mut credential = Credential::new(kind);
        credential.scheme = scheme;
        credential.origin = origin;
        Ok(credential)
    }
}

fn listed(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

impl From<In> for KeyLocation {
    fn from(place: In) -> Self {
        match place {
            In::Header => Self::Header,
            In::Query => Self::Query,
            In::Cookie => Self::Cookie,
        }
    }
}

/// Returns an entry by itself, or a list of them.
pub(super) fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct OneOrMany<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an entry or a list of entries")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(|entry| vec![entry])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(items))
        }
    }

    deserializer.deserialize_any(OneOrMany(PhantomData))
}
