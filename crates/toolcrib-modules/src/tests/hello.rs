//! What `hello` promises.

use serde_json::json;
use toolcrib_model::{ErrorKind, Risk};

use super::{call, tool};
use crate::hello::{MAX_NAMES, module};

#[tokio::test]
async fn people_are_greeted_by_name() {
    let module = module();
    assert_eq!(call(&module, "say_hello", json!({"name": "Ada"})).await.result, json!("Hello, Ada!"));
    let many = call(&module, "greet_many", json!({"names": ["Ada", "Zoé"]})).await;
    assert_eq!(many.result, json!(["Hello, Ada!", "Hello, Zoé!"]));
    assert_eq!(call(&module, "status", json!({})).await.result["status"], "ok");
}

#[tokio::test]
async fn a_call_with_too_many_names_or_a_wrong_argument_is_refused() {
    let module = module();
    let names = vec!["x"; MAX_NAMES + 1];
    for (name, arguments) in [
        ("greet_many", json!({"names": names})),
        ("say_hello", json!({})),
        ("say_hello", json!({"name": "Ada", "loud": true})),
        ("status", json!({"verbose": true})),
    ] {
        let error = call(&module, name, arguments.clone()).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidArgs, "{name} {arguments}");
    }
}

#[tokio::test]
async fn all_tools_are_of_low_risk_and_found_in_french() {
    let module = module();
    for (name, alias) in
        [("say_hello", "dire bonjour"), ("greet_many", "saluer plusieurs personnes"), ("status", "statut")]
    {
        let tool = tool(&module, name).await;
        assert_eq!(tool.traits().risk, Risk::Low);
        assert!(tool.aliases().any(|known| known == alias), "{name}");
    }
}
