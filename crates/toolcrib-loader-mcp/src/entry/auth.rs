//! `auth` of an MCP server: how we are authorized there, as an app file writes it.

use serde::Deserialize;
use toolcrib_model::Secret;
use toolcrib_oauth::client::shell_quoted;
use toolcrib_sdk::{AppEntry, MAX_USERS};
use url::Url;

use super::ServerEntry;
use crate::oauth::{
    ClientCredentials, ClientSettings, Grant, IdentityProvider, IdentityToken, TokenExchange,
};

/// The number of issued secrets of one server that are masked: the tokens of the last renewals, the secret of the
/// client, and the key that tokens are bound to.
const KNOWN_SECRETS: usize = 12;

/// True if this program can log in at a server that requires it.
const OBTAINS_TOKENS: bool = cfg!(feature = "oauth");

/// The settings. All of them may be left out: most servers say where to log in, and register clients by themselves.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpAuthEntry {
    #[serde(default)]
    grant: GrantEntry,
    client_id: Option<String>,
    client_secret: Option<Secret>,
    private_key: Option<Secret>,
    client_metadata_url: Option<String>,
    issuer: Option<String>,
    identity_token: Option<Secret>,
    identity_token_file: Option<String>,
    identity_provider: Option<ProviderEntry>,
    token_url: Option<String>,
    audience: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    redirect_port: Option<u16>,
    /// True if each user logs in.
    #[serde(default)]
    pub(super) per_user: bool,
}

/// The identity provider of a company, and the client there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderEntry {
    issuer: String,
    client_id: String,
    client_secret: Option<Secret>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum GrantEntry {
    #[default]
    AuthorizationCode,
    ClientCredentials,
    WorkloadIdentity,
    EnterpriseManaged,
    TokenExchange,
}

/// Opens the authorization at a server, by its entry or by default; `None` if its headers hold credentials. `url` is its
/// URL, `headers` are the names of its headers.
pub(super) fn open(
    entry: Option<McpAuthEntry>,
    (url, headers): (&str, &[&str]),
    place: &dyn ServerEntry,
    namespace: &str,
) -> Result<Option<ClientSettings>, String> {
    let is_in_headers = headers.iter().any(|name| name.eq_ignore_ascii_case("authorization"));
    match entry {
        // The header is for the list of tools.
        Some(entry) if entry.grant == GrantEntry::TokenExchange => {
            entry.exchange(by_default(place, namespace, MAX_USERS.get())?, place, url).map(Some)
        }
        Some(_) if is_in_headers => {
            Err("`headers` or `user_headers` has `Authorization` already; leave that or `auth` out".into())
        }
        None if is_in_headers || !OBTAINS_TOKENS => Ok(None),
        None => Ok(Some(by_default(place, namespace, KNOWN_SECRETS)?)),
        Some(entry) => {
            let known = if entry.per_user { MAX_USERS.get() } else { KNOWN_SECRETS };
            entry.settings(by_default(place, namespace, known)?, place).map(Some)
        }
    }
}

fn by_default(
    place: &dyn ServerEntry,
    namespace: &str,
    known_secrets: usize,
) -> Result<ClientSettings, String> {
    let mut auth = ClientSettings::new().with_store(place.token_store()?);
    auth.on_secret = Some(place.secret_sink(format!("{namespace}.token"), known_secrets));
    auth.login_command = Some(format!("toolcrib login {} {namespace}", shell_quoted(place.file())));
    auth.access = place.access()?;
    Ok(auth)
}

impl McpAuthEntry {
    /// Returns true if the token of each caller is exchanged.
    pub(super) fn is_exchange(&self) -> bool {
        self.grant == GrantEntry::TokenExchange
    }

    /// Returns the settings of a token exchange.
    fn exchange(
        self,
        mut auth: ClientSettings,
        place: &dyn ServerEntry,
        url: &str,
    ) -> Result<ClientSettings, String> {
        let other = [
            ("private_key", self.private_key.is_some()),
            ("client_metadata_url", self.client_metadata_url.is_some()),
            ("issuer", self.issuer.is_some()),
            ("identity_token", self.identity_token.is_some()),
            ("identity_token_file", self.identity_token_file.is_some()),
            ("identity_provider", self.identity_provider.is_some()),
            ("redirect_port", self.redirect_port.is_some()),
            ("per_user", self.per_user),
        ];
        if let Some((key, _)) = other.iter().find(|(_, is_set)| *is_set) {
            return Err(format!(
                "`{key}` is not for `grant: token_exchange`, which has `token_url`, `client_id`, `client_secret`, `scopes` \
                 and `audience`"
            ));
        }
        let missing = |key: &str| format!("`grant: token_exchange` needs `{key}`");
        let settings = ClientCredentials {
            token_url: self.token_url.ok_or_else(|| missing("token_url"))?,
            client_id: self.client_id.ok_or_else(|| missing("client_id"))?,
            client_secret: self.client_secret.ok_or_else(|| missing("client_secret"))?,
            scopes: self.scopes,
            audience: self.audience,
            secret_in_body: false,
        };
        place.may_reach(&settings.token_url)?;
        let resource = Url::parse(url).ok().map(|mut url| {
            url.set_query(None);
            url.set_fragment(None);
            url.to_string()
        });
        let exchange = TokenExchange::new(settings, resource, &auth.access, None);
        auth.grant = Grant::TokenExchange(exchange.map_err(|error| error.to_string())?);
        Ok(auth)
    }

    /// Returns the grant with the token by which others say who we are, where it wants one.
    fn grant(&mut self, place: &dyn AppEntry) -> Result<Grant, String> {
        use GrantEntry::{AuthorizationCode, ClientCredentials, EnterpriseManaged, WorkloadIdentity};
        let identity = match (self.identity_token.take(), self.identity_token_file.take()) {
            (Some(_), Some(_)) => {
                return Err(
                    "`auth` has an `identity_token` and an `identity_token_file`; leave one of them out"
                        .into(),
                );
            }
            (Some(token), None) => Some(IdentityToken::Text(token)),
            (None, Some(file)) => Some(IdentityToken::File(place.path(&file))),
            (None, None) => None,
        };
        if self.token_url.is_some() || self.audience.is_some() {
            return Err("`token_url` and `audience` are for `grant: token_exchange`".into());
        }
        match (self.grant, identity, self.identity_provider.take()) {
            (GrantEntry::TokenExchange, ..) => Err("`grant: token_exchange` has no identity".into()),
            (WorkloadIdentity | EnterpriseManaged, None, _) => {
                Err("this `grant` needs an `identity_token`, or an `identity_token_file`".into())
            }
            (WorkloadIdentity | EnterpriseManaged, Some(_), _) if self.client_id.is_none() => {
                Err("this `grant` needs a `client_id`".into())
            }
            (AuthorizationCode | ClientCredentials, Some(_), _) => {
                Err("`identity_token` is for `grant: workload_identity` and `enterprise_managed`".into())
            }
            (EnterpriseManaged, Some(token), Some(entry)) => {
                Url::parse(&entry.issuer)
                    .map_err(|error| format!("`identity_provider.issuer` is not a URL: {error}"))?;
                place.may_reach(&entry.issuer)?;
                let mut provider = IdentityProvider::new(entry.issuer, entry.client_id);
                provider.client_secret = entry.client_secret;
                Ok(Grant::EnterpriseManaged(provider, token))
            }
            (EnterpriseManaged, _, None) | (_, _, Some(_)) => {
                Err("`grant: enterprise_managed` and `identity_provider` go together".into())
            }
            (WorkloadIdentity, Some(token), None) => Ok(Grant::WorkloadIdentity(token)),
            (ClientCredentials, None, None) => Ok(Grant::ClientCredentials),
            (AuthorizationCode, None, None) => Ok(Grant::AuthorizationCode),
        }
    }

    /// Returns the settings laid over the defaults, or what is wrong with them.
    fn settings(mut self, mut auth: ClientSettings, place: &dyn AppEntry) -> Result<ClientSettings, String> {
        let has_proof = self.client_secret.is_some() || self.private_key.is_some();
        if has_proof && self.client_id.is_none() {
            return Err("`auth` has a secret and no client; set `client_id` too".into());
        }
        if self.client_secret.is_some() && self.private_key.is_some() {
            return Err(
                "`auth` has a `client_secret` and a `private_key`; a client proves itself by one of them"
                    .into(),
            );
        }
        auth.grant = self.grant(place)?;
        if self.per_user && !matches!(auth.grant, Grant::AuthorizationCode) {
            return Err("`per_user` goes with `grant: authorization_code`, by which users log in".into());
        }
        if matches!(auth.grant, Grant::ClientCredentials) && !has_proof {
            return Err(
                "`grant: client_credentials` needs a `client_id`, and its `client_secret` or `private_key`"
                    .into(),
            );
        }
        if let Some(issuer) = &self.issuer {
            Url::parse(issuer).map_err(|error| format!("`issuer` is not a URL: {error}"))?;
            place.may_reach(issuer)?;
        }
        if let Some(document) = &self.client_metadata_url {
            let url = Url::parse(document).ok().filter(|url| url.scheme() == "https" && url.path() != "/");
            url.ok_or("`client_metadata_url` has to be an https URL with a path")?;
        }
        auth.client_id = self.client_id;
        auth.client_secret = self.client_secret;
        auth.private_key = self.private_key;
        auth.client_metadata_url = self.client_metadata_url;
        auth.issuer = self.issuer;
        auth.scopes = self.scopes;
        auth.redirect_port = self.redirect_port;
        Ok(auth)
    }
}
