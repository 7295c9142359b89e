//! Passwords are in nothing that anybody reads.

use serde_json::json;
use toolcrib_model::Secret;

use super::{Place, call, context};
use crate::{DatabaseConfig, Location};

#[tokio::test]
async fn a_password_is_in_no_result_and_no_error() {
    for place in Place::all(&DatabaseConfig::default()).await {
        if place.location.password.is_none() {
            continue;
        }
        let secret = place.location.password.as_ref().unwrap().expose().to_owned();
        let listed = place.ok("list_connections", json!({})).await.to_string();
        assert!(!listed.contains(&secret), "{listed}");
        let wrong = Location { password: Some(Secret::new("wr0ng-word")), ..place.location.clone() };
        let other = Place::at(wrong, &DatabaseConfig::default(), tempfile::tempdir().unwrap());
        let error = call(&other.module, &context(), "query", json!({"sql": "SELECT 1"})).await.error.unwrap();
        assert!(!format!("{error:?}").contains("wr0ng-word"), "{error}");
        assert!(!format!("{:?}", other.location).contains("wr0ng-word"));
        // One who repeats it in a statement does not read it in the error of the server.
        let repeated =
            place.error("query", json!({"sql": format!("SELECT x FROM \"{secret}\" '{secret}'")})).await;
        assert!(!format!("{repeated:?}").contains(&secret), "{repeated}");
    }
}
