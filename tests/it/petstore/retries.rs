//! What is tried again, when, and what is told where it is not.

use std::fmt::Write as _;

use serde_json::json;
use toolcrib_testkit::PetStore;

use super::shop::Shop;

/// Long past: there is nothing to wait for.
const PAST: &str = "Thu, 01 Jan 1970 00:00:00 GMT";

#[tokio::test]
async fn what_may_be_repeated_is_tried_again_when_the_server_says_so_and_nothing_else_is() {
    let shop = Shop::open().await;
    let pet = json!({"id": 1, "name": "Rex", "photoUrls": []});
    let mut transcript = String::new();
    for (troubles, name, arguments) in [
        (&[(429, "0")][..], "getInventory", json!({})),
        (&[(503, "0"), (429, PAST)], "findPetsByTags", json!({})),
        (&[(503, "0")], "updatePet", pet),
        (&[(502, "0")], "deletePet", json!({"petId": 2})),
        // Once too often.
        (&[(429, "0"), (429, "0"), (429, "0")], "hasUser", json!({"username": "Bob"})),
        // Longer than anybody waits: who calls is told, and decides.
        (&[(429, "60")], "getInventory", json!({})),
        (&[(429, "soon")], "placeOrder", json!({"petId": 1})),
        // Twice would be two orders.
        (&[(429, "0")], "placeOrder", json!({"petId": 1})),
        (&[(503, "7")], "placeOrder", json!({"petId": 1})),
        // It does not pass.
        (&[(500, "0")], "getInventory", json!({})),
    ] {
        for (status, wait) in troubles {
            shop.store.answer_next(*status, &[("retry-after", wait)]);
        }
        writeln!(transcript, "# {troubles:?}").unwrap();
        transcript.push_str(&shop.transcript(name, &arguments).await);
    }
    snapshot!(shop.dir, transcript);
}

#[tokio::test]
async fn an_operation_that_is_declared_idempotent_is_tried_again() {
    let store = PetStore::start().await.unwrap();
    let shop = Shop::with(store, "idempotent: {operations: [placeOrder]}");
    shop.store.answer_next(429, &[("retry-after", "0")]);
    let done = shop.call("placeOrder", &json!({"petId": 1})).await.expect(0).json();
    assert_eq!(done["metadata"]["attempts"], 2);
    assert_eq!(shop.store.asked(), ["POST /store/order"; 2]);
}
