//! Every operation is called, and every error of the store is told.

use std::collections::BTreeSet;

use serde_json::json;
use toolcrib_testkit::{ModelServer, PetStore, StoreRequest, Turn};

use super::shop::{IMAGE, PANORAMA, Shop};

#[tokio::test]
async fn every_operation_of_the_pet_store_is_called_and_brings_back_what_the_store_says() {
    let shop = Shop::open().await;
    let bo = json!({"id": 3, "name": "Bo Ø", "photoUrls": [], "category": {"id": 1, "name": "fish"}});
    let steps = [
        ("addPet", json!({"name": "Bo", "photoUrls": ["a b"], "tags": ["fish", "red"], "status": "sold"})),
        ("findPetsByStatus", json!({"status": ["available", "sold"]})),
        ("findPetsByTags", json!({"tags": ["red", "fish"]})),
        ("findPetsByTags", json!({"tags": ["a&tags=fish"]})),
        ("updatePet", bo),
        ("updatePetWithForm", json!({"petId": 3, "name": "B & o=1", "status": "pending"})),
        ("getPetById", json!({"petId": 3})),
        ("uploadFile", json!({"petId": 3, "additionalMetadata": "from the left", "body": "file:rex.png"})),
        ("downloadImage", json!({"petId": 3})),
        (
            "uploadPhotos",
            json!({
                "petId": 3,
                "caption": "both sides",
                "about": {"year": 2024},
                "photos": ["file:notes.txt", "aGVsbG8="],
            }),
        ),
        ("getInventory", json!({})),
        ("placeOrder", json!({"petId": 3, "quantity": 1, "complete": false})),
        ("getOrderById", json!({"orderId": 1})),
        ("deleteOrder", json!({"orderId": 1})),
        ("createUser", json!({"username": "Ada/B?", "email": null, "password": "p&q"})),
        ("createUsersWithListInput", json!({"body": [{"username": "Bob"}, {"username": "Cy"}]})),
        ("loginUser", json!({"username": "Ada/B?", "password": "p&q"})),
        ("getUserByName", json!({"username": "Ada/B?", "locale": "de-AT"})),
        ("hasUser", json!({"username": "Bob"})),
        ("updateUser", json!({"username": "Bob", "username__body": "Bob", "email": "b@x.example"})),
        ("logoutUser", json!({})),
        ("deleteUser", json!({"username": "Bob"})),
        ("deletePet", json!({"petId": 3})),
    ];
    let mut transcript = String::new();
    for (name, arguments) in &steps {
        transcript.push_str(&shop.transcript(name, arguments).await);
    }
    snapshot!(shop.dir, transcript);

    let upload =
        shop.store.requests().into_iter().find(|asked| asked.target.contains("uploadImage")).unwrap();
    assert_eq!(upload.body, IMAGE.as_slice());
    let tools = shop.dir.run(["tools", "app.yaml", "--json"]).await.expect(0).json();
    let tools =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["qualified_name"].as_str().unwrap());
    let all: BTreeSet<&str> = tools.filter_map(|name| name.strip_prefix("pets::")).collect();
    assert_eq!(steps.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), all);
}

#[tokio::test]
async fn every_error_of_the_pet_store_is_told_with_what_to_do() {
    let shop = Shop::open().await;
    let user = |name: &str| json!({"username": name, "password": "right"});
    let login = || json!({"username": "Ada", "password": "wrong"});
    let mut transcript = String::new();
    for (name, arguments) in [
        ("addPet", json!({"id": 1, "name": "Rex", "photoUrls": []})),
        ("addPet", json!({"name": " ", "photoUrls": []})),
        ("addPet", json!({"photoUrls": []})),
        ("updatePet", json!({"id": 7, "name": "x", "photoUrls": []})),
        ("updatePet", json!({"name": "x", "photoUrls": []})),
        ("updatePet", json!({"id": 1, "name": "", "photoUrls": []})),
        ("findPetsByStatus", json!({})),
        ("findPetsByStatus", json!({"status": ["lost"]})),
        ("getPetById", json!({"petId": 7})),
        ("getPetById", json!({"petId": -1})),
        ("getPetById", json!({"petId": "../store"})),
        ("updatePetWithForm", json!({"petId": 7, "status": "sold"})),
        ("uploadFile", json!({"petId": 7, "body": "aGk="})),
        ("uploadFile", json!({"petId": 1, "body": "file:../app.yaml"})),
        ("uploadFile", json!({"petId": 1, "body": "no base64"})),
        ("uploadPhotos", json!({"petId": 7, "photos": []})),
        ("downloadImage", json!({"petId": 1})),
        ("placeOrder", json!({"petId": 7})),
        ("placeOrder", json!({"petId": 1, "quantity": 2})),
        ("placeOrder", json!({"petId": 1})),
        ("deletePet", json!({"petId": 1})),
        ("deletePet", json!({"petId": 7})),
        ("getOrderById", json!({"orderId": 7})),
        ("getOrderById", json!({"orderId": 2})),
        ("deleteOrder", json!({"orderId": 2})),
        ("deleteOrder", json!({"orderId": 1001})),
        ("createUser", user("Ada")),
        ("createUser", user("Ada")),
        ("createUsersWithListInput", json!({"body": [{"email": "x"}]})),
        ("loginUser", login()),
        ("loginUser", login()),
        ("loginUser", login()),
        ("getUserByName", json!({"username": "../pet/1"})),
        ("getUserByName", json!({"username": ".."})),
        ("hasUser", json!({"username": "Bob"})),
        ("updateUser", json!({"username": "Bob", "username__body": "Bob"})),
        ("deleteUser", json!({"username": "Bob"})),
    ] {
        transcript.push_str(&shop.transcript(name, &arguments).await);
    }
    snapshot!(shop.dir, transcript);
}

#[tokio::test]
async fn an_answer_that_is_not_what_the_document_says_is_delivered_with_a_warning() {
    let shop = Shop::open().await;
    shop.store.answer_next(200, &[("content-type", "application/json")]);
    let result = shop.call("getInventory", &json!({})).await.expect(0).json();
    assert_eq!(result["result"]["title"], "In trouble", "{result:#}");
    let warning = result["metadata"]["output_violations"].to_string();
    assert!(warning.contains("must be of type integer"), "{warning}");
}

#[tokio::test]
async fn a_model_is_shown_the_type_and_the_size_of_an_image_and_not_its_bytes() {
    let shop = Shop::open().await;
    let turns = [
        Turn::call("pets__uploadFile", &json!({"petId": 1, "body": "file:panorama.png"})),
        Turn::call("pets__downloadImage", &json!({"petId": 1})),
        Turn::text("Done."),
    ];
    let server = ModelServer::start(turns).await.unwrap();
    let dir = shop.dir.with_variable("MODEL_URL", server.base_url());
    dir.run(["run", "app.yaml", "Copy the image.", "--json"]).await.expect(0);
    assert_eq!(shop.store.requests()[0].body, PANORAMA.as_slice());
    let told = server.requests().pop().unwrap().json().unwrap();
    let shown = told["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    let size = PANORAMA.len().to_string();
    assert!(shown.contains("image/png") && shown.contains(&size) && shown.contains("handle"), "{shown}");
    assert!(shown.len() < 1_000, "{shown}");
}

#[tokio::test]
async fn without_credentials_the_store_asks_for_them_and_the_error_says_who_sets_them() {
    let store = PetStore::start().await.unwrap();
    let shop = Shop::with(store, "auth: []");
    let mut transcript = String::new();
    for (name, arguments) in [
        ("addPet", json!({"name": "Bo", "photoUrls": []})),
        ("getInventory", json!({})),
        ("logoutUser", json!({})),
        ("deleteUser", json!({"username": "Bob"})),
    ] {
        transcript.push_str(&shop.transcript(name, &arguments).await);
    }
    snapshot!(shop.dir, transcript);
    assert_eq!(shop.store.tokens(), 0);
    let given =
        |asked: &StoreRequest| ["authorization", "api_key", "cookie"].map(|name| asked.header(name).len());
    assert!(shop.store.requests().iter().all(|asked| given(asked) == [0; 3]));
    // As a person sees it.
    let plain = shop.dir.run(["call", "app.yaml", "pets.getInventory"]).await.expect(1);
    snapshot!(shop.dir, plain.report());
}
