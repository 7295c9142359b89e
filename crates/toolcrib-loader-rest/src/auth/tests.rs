//! Which credential goes where.

#![expect(clippy::needless_pass_by_value, reason = "the values are literals of the tests")]

use http::Method;
use serde_json::{Value, json};
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_model::Secret;
use toolcrib_policy::Access;
use url::Url;

use super::assignment::{Assignment, AuthMethod, CredentialProfile};
use super::{Auth, BoundAuth, Credential, CredentialKind, KeyLocation, Slot, SourceAccess};
use crate::Error;
use crate::operation::ParameterLocation;

fn schemes() -> Value {
    json!({
        "bearer": {"type": "http", "scheme": "Bearer"},
        "basic": {"type": "http", "scheme": "basic"},
        "oauth": {"type": "oauth2", "flows": {}},
        "key": {"type": "apiKey", "in": "query", "name": "api_key"},
        "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "host": {"type": "apiKey", "in": "header", "name": "Host"},
        "digest": {"type": "http", "scheme": "digest"},
    })
}

fn profile(method: AuthMethod, scheme: Option<&str>, slot: Option<Slot>) -> CredentialProfile {
    CredentialProfile { scheme: scheme.map(str::to_owned), method, slot }
}

fn bound(profiles: Vec<CredentialProfile>) -> BoundAuth {
    BoundAuth::new(profiles, schemes().as_object().unwrap(), &[])
}

/// The credentials of a call, as `0 header authorization`.
fn assignments(bound: &BoundAuth, security: Value) -> Vec<String> {
    let security = Some(&security).filter(|security| !security.is_null());
    let assignments = bound.credentials(security, &Method::GET).assignments;
    assignments
        .iter()
        .map(|Assignment { credential, slot }| {
            format!("{credential} {:?} {}", slot.location, slot.name).to_lowercase()
        })
        .collect()
}

#[test]
fn a_call_is_made_with_the_first_alternative_that_is_all_there() {
    let token = || profile(AuthMethod::Token, None, Some(Slot::authorization()));
    let key = |scheme| profile(AuthMethod::Key, scheme, None);
    let placed = || profile(AuthMethod::Key, None, Some(Slot::new(KeyLocation::Header, "x-key")));
    for (profiles, security, expected) in [
        (vec![token()], json!([{"bearer": []}]), vec!["0 header authorization"]),
        (vec![token()], json!([{"oauth": ["read"]}]), vec!["0 header authorization"]),
        (vec![key(None), token()], json!([{"basic": []}, {"bearer": []}]), vec!["1 header authorization"]),
        (
            vec![key(None), token()],
            json!([{"key": [], "oauth": []}]),
            vec!["0 query api_key", "1 header authorization"],
        ),
        (vec![key(Some("header")), key(None)], json!([{"header": []}]), vec!["0 header x-key"]),
        (vec![key(Some("header")), key(None)], json!([{"key": []}]), vec!["1 query api_key"]),
        // A key that says where it goes is for no other location, but is sent where the document is wrong.
        (vec![placed()], json!([{"header": []}]), vec!["0 header x-key"]),
        (vec![placed()], json!([{"key": []}]), vec!["0 header x-key"]),
        (vec![token()], json!([{"digest": []}]), vec!["0 header authorization"]),
        // The document does not say.
        (vec![token(), placed()], json!(null), vec!["0 header authorization", "1 header x-key"]),
        (vec![token(), token()], json!(null), vec!["0 header authorization"]),
        (vec![key(None)], json!(null), vec![]),
        (vec![key(Some("key"))], json!(null), vec![]),
        // It says that nothing is needed, or that nothing need be.
        (vec![token(), placed()], json!([]), vec![]),
        (vec![token()], json!([{}]), vec!["0 header authorization"]),
        (vec![token()], json!([{}, {"bearer": []}]), vec!["0 header authorization"]),
        // It must not have a key written where the client writes.
        (vec![key(None)], json!([{"host": []}]), vec![]),
    ] {
        let described = format!("{profiles:?} {security}");
        assert_eq!(assignments(&bound(profiles), security), expected, "{described}");
    }
}

#[test]
fn no_credential_goes_with_a_call_that_servers_send_back() {
    let bound = bound(vec![profile(AuthMethod::Token, None, Some(Slot::authorization()))]);
    assert_eq!(bound.credentials(None, &Method::TRACE).assignments, []);
}

#[test]
fn a_parameter_that_would_write_into_a_slot_is_known() {
    let key = |scheme: Option<&str>| bound(vec![profile(AuthMethod::Key, scheme, None)]);
    let session = Slot::new(KeyLocation::Cookie, "session");
    let cookie = bound(vec![profile(AuthMethod::Key, None, Some(session))]);
    for (bound, location, name, expected) in [
        (key(None), ParameterLocation::Query, "API_KEY", true),
        (key(None), ParameterLocation::Header, "x-KEY", true),
        (key(Some("header")), ParameterLocation::Query, "api_key", false),
        (key(Some("header")), ParameterLocation::Header, "X-Key", true),
        (key(None), ParameterLocation::Cookie, "api_key", false),
        (cookie.clone(), ParameterLocation::Cookie, "session", true),
        (cookie.clone(), ParameterLocation::Header, "Cookie", true),
        (cookie, ParameterLocation::Query, "session", false),
        (BoundAuth::default(), ParameterLocation::Query, "api_key", false),
    ] {
        assert_eq!(bound.owns(location, name), expected, "{location:?} {name}");
    }
}

#[test]
fn a_credential_that_cannot_be_used_says_why() {
    let open = |credential: Credential, base_url: Option<&str>| {
        let base_url = base_url.map(|url| url.parse().unwrap());
        let client = |_: &Url| {
            HttpClient::new(HttpPolicy::default()).map_err(|error| Error::malformed(error.to_string()))
        };
        {
            let access = Access::unlimited();
            let base_url = base_url.as_ref();
            let source = SourceAccess { namespace: "api", base_url, allow_private: false, access: &access };
            Auth::new(&[credential], &source, &client, &Error::malformed).map(|_| ())
        }
    };
    let bearer = |token: &str| Credential::new(CredentialKind::Bearer { token: Secret::new(token) });
    let key = |location, name: &str| {
        let slot = Some((location, name.to_owned()));
        Credential::new(CredentialKind::ApiKey { value: Secret::new("hunter2"), slot })
    };
    let basic = CredentialKind::Basic { username: "a:b".into(), password: Secret::new("hunter2") };
    let base = Some("https://api.example/v1");
    open(bearer("hunter2"), base).unwrap();
    for (credential, base_url, expected) in [
        (bearer("hunter2"), None, "set its `origin`, or `base_url`"),
        (bearer("hunter2\r\n"), base, "a value contains line breaks"),
        (bearer("hunter2").for_origin("api.example"), base, "`origin` is not a URL"),
        (bearer("hunter2").for_origin("ftp://api.example"), base, "`origin` is neither http nor https"),
        (Credential::new(basic), base, "must not have a colon"),
        (key(KeyLocation::Header, "Content-Length"), base, "cannot be the header of a key"),
        (key(KeyLocation::Header, "a b"), base, "cannot be the header of a key"),
        (key(KeyLocation::Query, ""), base, "must not be empty"),
    ] {
        let error = open(credential, base_url).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
    }
}
