//! What the tools say of themselves, and what an operator may say of the module.

use serde_json::json;
use toolcrib_model::Risk;
use toolcrib_port::{CallContext, ToolEngine as _};

use super::Place;
use crate::tests::declared;

/// The tools, their risks, and words of somebody who wants each.
const TOOLS: &[(&str, Risk, &str)] = &[
    ("get", Risk::Low, "récupérer une url"),
    ("head", Risk::Low, "vérifier une url"),
    ("post", Risk::Medium, "envoyer des données"),
    ("put", Risk::Medium, "remplacer une ressource"),
    ("patch", Risk::Medium, "modifier une ressource"),
    ("delete", Risk::High, "supprimer une ressource"),
    ("json_api", Risk::Medium, "appeler une api"),
    ("fetch_page", Risk::Low, "lire une page web"),
    ("download", Risk::Medium, "télécharger un fichier"),
];

/// Those of which a second call does no more than the first.
const IDEMPOTENT: &[&str] = &["get", "head", "put", "delete", "fetch_page", "download"];

#[tokio::test]
async fn each_tool_says_its_risk_and_what_it_changes_and_is_found_in_french() {
    for tool in declared(&Place::of(json!({})).module, TOOLS).await {
        let name = tool.name.name();
        assert_eq!(tool.traits().idempotent, IDEMPOTENT.contains(&name), "{name}");
        assert_eq!(tool.metadata().get("cacheable"), None, "{name}");
        assert_eq!(tool.output_parameters["type"], "object", "{name}");
    }
}

#[test]
fn a_configuration_that_cannot_be_meant_is_refused() {
    for (config, said) in [
        (
            json!({"headers": {"api.example.com/path": {}}}),
            "`api.example.com/path` under `headers` is not an origin",
        ),
        (json!({"headers": {"ftp://api.example.com": {}}}), "is not an origin"),
        (json!({"headers": {"https://user@api.example.com": {}}}), "is not an origin"),
        (json!({"private_origins": ["*"]}), "`*` under `private_origins` is not an origin"),
        (json!({"headers": {"a.example": {"a b": "x"}}}), "the header `a b` of `a.example` cannot be sent"),
        (json!({"headers": {"a.example": {"Key": "secret\r\nX: 1"}}}), "the header `Key`"),
    ] {
        let error = Place::make(config, None).err().unwrap().to_string();
        assert!(error.starts_with("module `http`: ") && error.contains(said), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn nobody_is_asked_about_a_host_that_may_not_be_reached_or_a_file_that_may_not_be_written() {
    let access = json!({"network": ["api.example.com"], "filesystem": [{"path": "in", "mode": "write"}]});
    let place = Place::make(json!({}), Some(access)).unwrap();
    let url = "https://api.example.com/a";
    for (tool, arguments, allowed) in [
        ("delete", json!({"url": url}), true),
        ("delete", json!({"url": "https://other.example.com/a"}), false),
        ("download", json!({"url": url, "path": "in/a"}), true),
        ("download", json!({"url": url, "path": "out/a"}), false),
    ] {
        let call = crate::tests::pending(&place.module, tool, &arguments).await;
        let checked = place.module.check(&call, &CallContext::new("test")).await;
        assert_eq!(checked.is_ok(), allowed, "{tool} {arguments}: {checked:?}");
    }
}
