//! Validated credentials, and writing them into requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{COOKIE, HeaderName, HeaderValue};
use toolcrib_io::http::{HttpClient, Request, Response};
use toolcrib_model::{JsonObject, Secret, SubjectToken};
use toolcrib_oauth::client::{Authorization, ClientSettings, TokenExchange, TokenSource};
use toolcrib_policy::Access;
use toolcrib_port::CallContext;
use toolcrib_sdk::{subject_of_call, user_of_call};
use url::{Origin, Url};

use super::assignment::{Assignment, AuthMethod, CredentialProfile, may_hold_key};
use super::{BoundAuth, Credential, CredentialKind, Credentials, KeyLocation, Logins, Slot};
use crate::Error;
use crate::operation::check;
use crate::request::url_encoding::encode;

/// The shortest credential that is masked in responses. Shorter texts occur in them by chance.
const MIN_ECHO_BYTES: usize = 8;

/// The replacement of a masked credential.
const MASK: &[u8] = b"[secret]";

/// The credentials of a source.
#[derive(Debug, Default)]
pub(crate) struct Auth {
    credentials: Vec<PreparedCredential>,
}

#[derive(Debug)]
struct PreparedCredential {
    profile: CredentialProfile,
    origin: Origin,
    content: CredentialValue,
}

/// The value of a credential.
#[derive(Debug)]
enum CredentialValue {
    /// A complete `Authorization` header.
    Header(HeaderValue),
    Key(Secret),
    Token(Box<TokenSource>),
    Exchange(TokenExchange),
    Login(Box<Logins>),
}

/// The credentials that were sent with a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SentCredentials {
    /// The obtained token, by its credential and its number.
    token: Option<(usize, u64)>,
    /// The token that was exchanged for that of the caller, by its credential.
    exchanged: Option<(usize, Secret)>,
    /// The login whose token is sent.
    login: Option<LoginToken>,
    /// The secrets that were sent. Those that were derived or obtained here are unknown to the redaction of results.
    echoes: Vec<Secret>,
    /// True if a credential was withheld, because the request goes to another origin.
    pub(crate) withheld: bool,
}

/// The authorization of a login.
#[derive(Clone, Debug)]
struct LoginToken(Authorization);

impl PartialEq for LoginToken {
    /// Compares nothing: the token is among the echoes.
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for LoginToken {}

impl SentCredentials {
    /// Sends a request, with the token of a login if there is one.
    pub(crate) async fn send(
        &mut self,
        client: &HttpClient,
        request: Request,
    ) -> Result<Result<Response, toolcrib_io::Error>, Error> {
        let Some(LoginToken(authorization)) = self.login.clone() else {
            return Ok(client.send(request).await);
        };
        let response = authorization.send(client, request).await;
        authorization.secrets().iter().for_each(|secret| self.note(secret.expose()));
        Ok(response?)
    }

    /// Records the value behind `Bearer` or `Basic`.
    fn note_header(&mut self, header: &HeaderValue) {
        let text = header.to_str().unwrap_or_default();
        if let Some((_, secret)) = text.split_once(' ') {
            self.note(secret);
        }
    }

    fn note(&mut self, secret: &str) {
        if secret.len() >= MIN_ECHO_BYTES {
            self.echoes.push(Secret::new(secret));
        }
    }

    /// Writes headers of the user of the call into a request.
    pub(crate) fn add_user_headers(
        &mut self,
        headers: Vec<(String, Secret)>,
        request: &mut Request,
    ) -> Result<(), Error> {
        for (name, value) in headers {
            let header = sensitive(value.expose()).ok_or_else(unsendable)?;
            self.note_header(&header);
            self.note(value.expose());
            insert(request, &Slot::new(KeyLocation::Header, name), header)?;
        }
        Ok(())
    }

    /// Masks the credentials of the request in its response, since some servers echo them.
    pub(crate) fn without_echoes(&self, mut response: Response) -> Response {
        if self.echoes.is_empty() {
            return response;
        }
        response.body = self.masked(response.body);
        for value in response.headers.values_mut() {
            let masked = self.masked(Bytes::copy_from_slice(value.as_bytes()));
            if masked != value.as_bytes()
                && let Ok(masked) = HeaderValue::from_bytes(&masked)
            {
                *value = masked;
            }
        }
        response
    }

    fn masked(&self, body: Bytes) -> Bytes {
        self.echoes.iter().fold(body, |body, secret| {
            let secret = secret.expose().as_bytes();
            let finds = |body: &[u8]| body.windows(secret.len()).position(|window| window == secret);
            let Some(mut at) = finds(&body) else { return body };
            let (mut out, mut rest) = (Vec::with_capacity(body.len()), &body[..]);
            loop {
                let (before, found) = rest.split_at(at);
                out.extend_from_slice(before);
                out.extend_from_slice(MASK);
                rest = found.get(secret.len()..).unwrap_or_default();
                match finds(rest) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            out.extend_from_slice(rest);
            out.into()
        })
    }
}

/// The settings of a source that its credentials depend on.
pub(crate) struct SourceAccess<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) base_url: Option<&'a Url>,
    pub(crate) allow_private: bool,
    pub(crate) access: &'a Access,
}

/// The caller of a request.
pub(crate) struct Caller<'a> {
    pub(crate) context: &'a CallContext,
    pub(crate) namespace: &'a str,
}

impl Caller<'_> {
    /// Returns the user of the call, and the token that the user came with.
    fn user_with_token(&self) -> Result<(&str, &SubjectToken), Error> {
        let subject = subject_of_call(self.context, self.namespace).map_err(Error::caller)?;
        Ok((user_of_call(self.context, self.namespace).map_err(Error::caller)?, subject))
    }
}

impl Auth {
    /// Validates the credentials. `client` creates the client that obtains tokens from the given URL.
    pub(crate) fn new(
        credentials: &[Credential],
        source: &SourceAccess<'_>,
        client: &dyn Fn(&Url) -> Result<HttpClient, Error>,
        wrong: &dyn Fn(String) -> Error,
    ) -> Result<Self, Error> {
        let ready =
            credentials.iter().map(|credential| PreparedCredential::new(credential, source, client, wrong));
        Ok(Self { credentials: ready.collect::<Result<_, _>>()? })
    }

    /// Matches the credentials with the security schemes of a document, in the form of OpenAPI 3. `own` are the slots
    /// of the headers that the source sets.
    pub(crate) fn bind(&self, schemes: &JsonObject, own: &[Slot]) -> BoundAuth {
        BoundAuth::new(self.credentials.iter().map(|ready| ready.profile.clone()).collect(), schemes, own)
    }

    /// Writes credentials into a request, each only if the request goes to its origin.
    pub(crate) async fn write(
        &self,
        credentials: &Credentials,
        request: &mut Request,
        caller: &Caller<'_>,
    ) -> Result<SentCredentials, Error> {
        let mut sent = SentCredentials::default();
        for Assignment { credential, slot } in &credentials.assignments {
            let Some(ready) = self.credentials.get(*credential) else { continue };
            if ready.origin != request.url.origin() {
                sent.withheld = true;
                continue;
            }
            match &ready.content {
                CredentialValue::Header(value) => {
                    sent.note_header(value);
                    insert(request, slot, value.clone())?;
                }
                CredentialValue::Token(source) => {
                    let token = source.token().await?;
                    sent.token = Some((*credential, token.number));
                    sent.note_header(&token.header);
                    insert(request, slot, token.header)?;
                }
                CredentialValue::Exchange(exchange) => {
                    let (user, subject) = caller.user_with_token()?;
                    let token = exchange.token(user, subject).await?;
                    sent.exchanged = Some((*credential, token.token));
                    sent.note_header(&token.header);
                    insert(request, slot, token.header)?;
                }
                // Written when it is sent, since the server may ask for another one.
                CredentialValue::Login(logins) => sent.login = Some(LoginToken(logins.of_caller(caller)?)),
                CredentialValue::Key(key) => {
                    sent.note(key.expose());
                    match slot.location {
                        KeyLocation::Header => {
                            insert(request, slot, sensitive(key.expose()).ok_or_else(unsendable)?)?;
                        }
                        // Servers echo the requested URL, which contains the encoded key.
                        KeyLocation::Query => {
                            sent.note(&encode(key.expose()));
                            append_to_query(&mut request.url, slot, key);
                        }
                        KeyLocation::Cookie => {
                            sent.note(&encode(key.expose()));
                            append_to_cookies(request, slot, key)?;
                        }
                    }
                }
            }
        }
        Ok(sent)
    }

    /// Returns the logins of the source, if users log in there.
    pub(crate) fn logins(&self) -> Option<&Logins> {
        self.credentials.iter().find_map(|ready| match &ready.content {
            CredentialValue::Login(logins) => Some(&**logins),
            _ => None,
        })
    }

    /// Discards the token of a request that the server rejected. Returns true if the request had one.
    pub(crate) async fn discard(&self, sent: &SentCredentials, caller: &Caller<'_>) -> bool {
        if let Some((credential, token)) = &sent.exchanged
            && let Some(CredentialValue::Exchange(exchange)) =
                self.credentials.get(*credential).map(|ready| &ready.content)
            && let Ok((user, subject)) = caller.user_with_token()
        {
            exchange.discard(user, subject, token).await;
            return true;
        }
        let Some((credential, number)) = sent.token else { return false };
        match self.credentials.get(credential).map(|ready| &ready.content) {
            Some(CredentialValue::Token(source)) => {
                source.discard(number).await;
                true
            }
            _ => false,
        }
    }
}

impl PreparedCredential {
    fn new(
        credential: &Credential,
        source: &SourceAccess<'_>,
        client: &dyn Fn(&Url) -> Result<HttpClient, Error>,
        wrong: &dyn Fn(String) -> Error,
    ) -> Result<Self, Error> {
        let SourceAccess { base_url, access, .. } = *source;
        let own =
            credential.origin.as_deref().map(|text| url_of("origin", text).map_err(wrong)).transpose()?;
        let Some(origin) = own.as_ref().or(base_url).map(Url::origin) else {
            return Err(wrong(
                "a credential goes to one origin only: set its `origin`, or `base_url`".into(),
            ));
        };
        let header = |text: String| sensitive(&text).ok_or_else(|| wrong(UNSENDABLE.into()));
        let mut slot = Some(Slot::authorization());
        let (method, content) = match &credential.kind {
            CredentialKind::Bearer { token } => {
                (AuthMethod::Token, CredentialValue::Header(header(format!("Bearer {}", token.expose()))?))
            }
            CredentialKind::Basic { username, .. } if username.contains(':') => {
                return Err(wrong("the `username` must not have a colon".into()));
            }
            CredentialKind::Basic { username, password } => {
                let pair = STANDARD.encode(format!("{username}:{}", password.expose()));
                (AuthMethod::Basic, CredentialValue::Header(header(format!("Basic {pair}"))?))
            }
            CredentialKind::ApiKey { value, slot: location } => {
                header(value.expose().to_owned())?;
                slot = location
                    .as_ref()
                    .map(|(location, name)| key_slot(*location, name))
                    .transpose()
                    .map_err(wrong)?;
                (AuthMethod::Key, CredentialValue::Key(value.clone()))
            }
            CredentialKind::Login { settings, per_user } => {
                let Some(server) = base_url.filter(|_| own.is_none()) else {
                    return Err(wrong("a login is for `base_url`: set it, and leave `origin` out".into()));
                };
                let logins = Logins::new(
                    source.namespace,
                    server.clone(),
                    source.allow_private,
                    ClientSettings::clone(settings),
                    *per_user,
                );
                let logins = logins.map_err(|error| wrong(error.to_string()))?;
                (AuthMethod::Token, CredentialValue::Login(Box::new(logins)))
            }
            CredentialKind::TokenExchange(settings) => {
                let exchange = TokenExchange::new(settings.clone(), None, access, None);
                let exchange = exchange.map_err(|error| wrong(error.to_string()))?;
                (AuthMethod::Token, CredentialValue::Exchange(exchange))
            }
            CredentialKind::OAuth2(settings) => {
                let url = url_of("token_url", &settings.token_url).map_err(wrong)?;
                let source = TokenSource::new(settings.clone(), client(&url)?, url);
                (AuthMethod::Token, CredentialValue::Token(Box::new(source)))
            }
        };
        Ok(Self {
            profile: CredentialProfile { scheme: credential.scheme.clone(), method, slot },
            origin,
            content,
        })
    }
}

const UNSENDABLE: &str = "a value contains line breaks or other control characters";

fn unsendable() -> Error {
    Error::malformed(UNSENDABLE)
}

fn url_of(setting: &str, text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("`{setting}` is not a URL: {error}"))?;
    check(&url).map_err(|problem| format!("`{setting}` {problem}"))?;
    Ok(url)
}

/// Returns the slot of a key. A header that the client sets itself cannot hold one.
pub(crate) fn key_slot(location: KeyLocation, name: &str) -> Result<Slot, String> {
    match location {
        KeyLocation::Header if may_hold_key(name) => Ok(Slot::new(location, name.to_ascii_lowercase())),
        KeyLocation::Header => Err(format!("`{name}` cannot be the header of a key")),
        _ if name.is_empty() => Err("the `name` of a key must not be empty".into()),
        _ => Ok(Slot::new(location, name)),
    }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn insert(request: &mut Request, slot: &Slot, value: HeaderValue) -> Result<(), Error> {
    let name = HeaderName::from_bytes(slot.name.as_bytes()).map_err(|_| unsendable())?;
    request.headers.insert(name, value);
    Ok(())
}

fn append_to_query(url: &mut Url, slot: &Slot, key: &Secret) {
    let pair = format!("{}={}", encode(&slot.name), encode(key.expose()));
    let query = match url.query() {
        Some(query) if !query.is_empty() => format!("{query}&{pair}"),
        _ => pair,
    };
    url.set_query(Some(&query));
}

fn append_to_cookies(request: &mut Request, slot: &Slot, key: &Secret) -> Result<(), Error> {
    let pair = format!("{}={}", encode(&slot.name), encode(key.expose()));
    let cookies = match request.headers.get(COOKIE).and_then(|cookies| cookies.to_str().ok()) {
        Some(cookies) => format!("{cookies}; {pair}"),
        None => pair,
    };
    request.headers.insert(COOKIE, sensitive(&cookies).ok_or_else(unsendable)?);
    Ok(())
}
