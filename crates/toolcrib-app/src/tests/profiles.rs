//! What is said of profiles before anything starts.

use super::wrong;
use crate::{App, Blueprint, LaunchOptions};

#[test]
fn what_is_wrong_with_profiles_is_said_at_its_place() {
    let text = "
serve:
  tokens: [{name: ci, token: aaaaaaaaaaaaaaaa, profile: revew}]
  oauth:
    issuer: https://login.example.com
    audience: https://tools.example.com/mcp
    clients: [{name: staff, scopes: [tools], profile: other}]
profiles:
  review:
    tools: [git.log, git]
    namespaces: ['a[']
    policy: {grant: [{module: git}]}
";
    insta::assert_snapshot!(wrong(text));
    insta::assert_snapshot!(wrong(&text.replace("    policy: {grant: [{module: git}]}\n", "")));
    insta::assert_snapshot!(wrong("profiles: {'a b': {}, c: {policy: {deny: [{agent: x}]}}}\n"));
    insta::assert_snapshot!(wrong("profiles: {c: {pin: 5}}\n"));
}

#[test]
fn an_app_is_not_served_with_a_profile_that_does_not_exist() {
    let app = |profile: &str| {
        let app = App::from_text("app.yaml", "modules: {hello: {}}\nprofiles: {review: {}}\n").unwrap();
        Blueprint::new(app.with_served_profile(Some(profile.to_owned())), LaunchOptions::default())
    };
    assert!(app("review").is_ok());
    let error = app("revieww").unwrap_err().to_string();
    insta::assert_snapshot!(error);
}
