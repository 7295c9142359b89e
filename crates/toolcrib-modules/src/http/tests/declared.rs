//! What the tools say of themselves, and what an operator may say of the module.

use serde_json::json;
use toolcrib_model::Risk;

use super::Place;
use crate::tests::tool;

/// The tools, their risks, whether a second call does no more than the first, and words of somebody who wants each.
const TOOLS: &[(&str, Risk, bool, &str)] = &[
    ("get", Risk::Low, true, "récupérer une url"),
    ("head", Risk::Low, true, "vérifier une url"),
    ("post", Risk::Medium, false, "envoyer des données"),
    ("put", Risk::Medium, true, "remplacer une ressource"),
    ("patch", Risk::Medium, false, "modifier une ressource"),
    ("delete", Risk::High, true, "supprimer une ressource"),
    ("json_api", Risk::Medium, false, "appeler une api"),
    ("fetch_page", Risk::Low, true, "lire une page web"),
    ("download", Risk::Medium, true, "télécharger un fichier"),
];

#[tokio::test]
async fn each_tool_says_its_risk_and_what_it_changes_and_is_found_in_french() {
    let place = Place::of(json!({}));
    let names: Vec<_> = TOOLS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(place.module.actions().collect::<Vec<_>>(), names);
    for (name, risk, is_idempotent, alias) in TOOLS {
        let tool = tool(&place.module, name).await;
        assert_eq!((tool.risk(), tool.is_idempotent()), (*risk, *is_idempotent), "{name}");
        assert_eq!(tool.side_effects().count() > 0, *risk != Risk::Low, "{name}");
        assert!(tool.aliases().any(|known| known == *alias), "{name}");
        assert_eq!(tool.metadata.get("cacheable"), None, "{name}");
        assert_eq!(tool.parameters["additionalProperties"], false, "{name}");
        assert_eq!(tool.output_parameters["type"], "object", "{name}");
    }
}

#[test]
fn a_configuration_that_cannot_be_meant_is_refused() {
    for (config, said) in [
        (
            json!({"headers": {"api.example.com/path": {}}}),
            "`api.example.com/path` under `headers` is no origin",
        ),
        (json!({"headers": {"ftp://api.example.com": {}}}), "is no origin"),
        (json!({"headers": {"https://user@api.example.com": {}}}), "is no origin"),
        (json!({"private_origins": ["*"]}), "`*` under `private_origins` is no origin"),
        (json!({"headers": {"a.example": {"a b": "x"}}}), "the header `a b` of `a.example` cannot be sent"),
        (json!({"headers": {"a.example": {"Key": "secret\r\nX: 1"}}}), "the header `Key`"),
    ] {
        let error = Place::make(config, None).err().unwrap().to_string();
        assert!(error.starts_with("module `http`: ") && error.contains(said), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
