//! The sessions of clients with tokens of an authorization server.

use serde_json::json;
use toolcrib_app::App;
use toolcrib_app::sections::serve::ServedOAuth;

use super::OAuth;

/// What an app says that takes tokens of an authorization server.
fn served() -> ServedOAuth {
    let oauth = json!({
        "issuer": "https://login.example.com",
        "audience": "https://tools.example.com/mcp",
        "clients": [{"name": "desk", "client_id": "desk", "scopes": ["tools:read"]}],
    });
    let app = App::from_text("app.yaml", &json!({"serve": {"oauth": oauth}}).to_string()).unwrap();
    app.config.serve.oauth.as_ref().unwrap().served(&app.file).unwrap()
}

#[test]
fn each_subject_has_a_session_that_stays_the_same_and_that_nobody_else_can_tell() {
    let first = OAuth::new(served(), None, None).unwrap();
    let ada = first.person("desk", "ada");
    assert!(ada.session.starts_with("serve/desk/") && ada.name == "desk", "{ada:?}");
    assert_eq!(first.person("desk", "ada"), ada);
    for other in [
        first.person("desk", "bob"),
        first.person("other", "ada"),
        OAuth::new(served(), None, None).unwrap().person("desk", "ada"),
    ] {
        assert!(other.session != ada.session && other.owner != ada.owner, "{other:?}");
    }
    // Another version of the app keeps it, unless the subject is one of another issuer.
    assert_eq!(OAuth::new(served(), Some(&first), None).unwrap().person("desk", "ada"), ada);
    let mut elsewhere = served();
    elsewhere.server.issuer = "https://elsewhere.example.com".to_owned();
    assert_ne!(OAuth::new(elsewhere, Some(&first), None).unwrap().person("desk", "ada"), ada);
}
