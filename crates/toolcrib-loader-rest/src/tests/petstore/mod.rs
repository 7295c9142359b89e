//! The classic pet store, driven through all its operations, with its errors.

mod server;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, Secret};

use self::server::{IMAGE, Service};
use super::Fixture;
use crate::{ClientCredentials, Credential, CredentialKind, RestSource};

/// The store, loaded from its own URL, with a token for writing and a key for reading.
async fn store(workspace: &std::path::Path) -> (Service, Fixture) {
    let service = Service::start().await;
    let origin = &service.origin;
    let token = CredentialKind::OAuth2(ClientCredentials {
        token_url: format!("{origin}/oauth/token"),
        client_id: "app".into(),
        client_secret: Secret::new("secret"),
        scopes: vec!["write:pets".into()],
        audience: None,
        secret_in_body: true,
    });
    let key = CredentialKind::ApiKey { value: Secret::new("the key"), slot: None };
    let source = RestSource::new(&format!("{origin}/openapi.yaml"), "pets")
        .with_private_allowed()
        .with_variable("version", "v3")
        .with_workspace(workspace)
        .with_credential(Credential::new(key).for_origin(origin).for_scheme("api_key"))
        .with_credential(Credential::new(token).for_origin(origin));
    let fixture = Fixture::open(source).await;
    assert_eq!(fixture.loaded.rejected, []);
    (service, fixture)
}

#[tokio::test]
async fn the_pet_store_is_driven_through_all_its_operations() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rex.png"), "an image").unwrap();
    let (_service, pets) = store(folder.path()).await;
    let upload = json!({"petId": 1, "file": "file:rex.png", "additionalMetadata": "from the left"});
    let blob = json!({"mimeType": "image/png", "bytes": 200, "blob": STANDARD.encode(IMAGE)});
    let rex = json!({"id": 1, "name": "Rex", "photoUrls": [], "tags": ["a", "b"], "status": "pending"});
    let with = |changes: Value| {
        let mut pet = rex.clone();
        pet.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        pet
    };
    let gone = Value::Null;
    let ada = json!({"username": "Ada/B", "email": null, "password": "p&q"});
    let steps = [
        (
            "addPet",
            json!({"name": "Rex", "photoUrls": [], "tags": ["a", "b"], "status": "pending"}),
            with(json!({})),
        ),
        ("updatePet", with(json!({"name": "Rexi"})), with(json!({"name": "Rexi"}))),
        ("updatePetWithForm", json!({"petId": 1, "name": "R & x"}), with(json!({"name": "R & x"}))),
        ("getPetById", json!({"petId": 1}), with(json!({"name": "R & x"}))),
        ("findPetsByStatus", json!({"status": ["sold", "pending"]}), json!([with(json!({"name": "R & x"}))])),
        ("findPetsByStatus", json!({"status": ["sold"]}), json!([])),
        ("findPetsByTags", json!({"tags": ["b", "a"]}), json!([with(json!({"name": "R & x"}))])),
        ("findPetsByTags", json!({"tags": ["b", "c"]}), json!([])),
        ("downloadImage", json!({"petId": 1}), blob),
        ("getInventory", json!({}), json!({"pending": 1})),
        ("placeOrder", json!({"petId": 1, "quantity": 2}), json!({"petId": 1, "quantity": 2, "id": 1})),
        ("getOrderById", json!({"orderId": 1}), json!({"petId": 1, "quantity": 2, "id": 1})),
        ("deleteOrder", json!({"orderId": 1}), gone.clone()),
        ("createUser", ada.clone(), ada.clone()),
        ("createUsersWithListInput", json!({"body": [ada, {"username": "Bob"}]}), json!("2 users")),
        ("loginUser", json!({"username": "Ada/B", "password": "p&q"}), json!("logged in")),
        ("logoutUser", json!({"session": "a;b"}), gone.clone()),
        (
            "updateUser",
            json!({"username": "Bob", "body": {"username": "Bob", "email": "b@x"}}),
            json!({"username": "Bob", "email": "b@x"}),
        ),
        ("getUserByName", json!({"username": "Bob"}), json!({"username": "Bob", "email": "b@x"})),
        ("deleteUser", json!({"username": "Bob"}), gone.clone()),
        ("deletePet", json!({"petId": 1}), gone),
    ];
    for (name, arguments, expected) in &steps {
        let result = pets.call(name, arguments.clone()).await;
        assert_eq!((&result.error, &result.result), (&None, expected), "{name}");
    }
    let received = pets.call("uploadFile", upload).await.result;
    let boundary = received["type"].as_str().unwrap().strip_prefix("multipart/form-data; boundary=").unwrap();
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"additionalMetadata\"\r\n\r\nfrom the left\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"rex.png\"\r\n\
         Content-Type: image/png\r\n\r\nan image\r\n--{boundary}--\r\n"
    );
    assert_eq!(received["body"], expected);
    let head = pets.call("hasUser", json!({"username": "Ada/B"})).await;
    assert_eq!(head.result["status"], 200);
    let mut called: Vec<&str> =
        steps.iter().map(|(name, ..)| *name).chain(["uploadFile", "hasUser"]).collect();
    called.sort_unstable();
    called.dedup();
    let mut all: Vec<&str> = pets.loaded.tools.iter().map(|tool| tool.name.name()).collect();
    all.sort_unstable();
    assert_eq!(called, all, "every operation was called");
}

#[tokio::test]
async fn the_errors_of_the_pet_store_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (service, pets) = store(folder.path()).await;
    let mut told = Vec::new();
    for (name, arguments) in [
        ("updatePet", json!({"id": 7, "name": "x", "photoUrls": []})),
        ("getPetById", json!({"petId": 7})),
        ("updatePetWithForm", json!({"petId": 7, "status": "sold"})),
        ("deletePet", json!({"petId": 7, "api_key": "forged"})),
        ("placeOrder", json!({"petId": 7})),
        ("getOrderById", json!({"orderId": 7})),
        ("deleteOrder", json!({"orderId": 7})),
        ("loginUser", json!({"username": "x", "password": "y"})),
        ("logoutUser", json!({})),
        ("getUserByName", json!({"username": "../pet/1"})),
        ("getUserByName", json!({"username": ".."})),
        ("hasUser", json!({"username": "x"})),
        ("uploadFile", json!({"petId": 7, "file": "file:../x"})),
    ] {
        let result = pets.call(name, arguments).await;
        let error = result.error.clone().unwrap();
        let wait = result.metadata.get("retry_after_ms").map(|wait| format!(", again in {wait} ms"));
        let wait = wait.unwrap_or_default();
        told.push(format!("{name}: [{} {}{wait}] {}", error.kind.as_str(), error.retryable, error.message));
    }
    insta::assert_snapshot!(told.join("\n"));

    let source = RestSource::new(&format!("{}/openapi.yaml", service.origin), "pets").with_private_allowed();
    let stranger = Fixture::open(source.clone()).await;
    let error = stranger.call("getInventory", json!({})).await.error.unwrap();
    assert!(error.message.ends_with("403 Forbidden: No key: send the key"), "{error}");
    assert!(error.hint.unwrap().contains("`auth` of this source"));
    // The document lists the values of the variable, and the setting is none of them.
    let wrong = Fixture::open(source.with_variable("version", "v9")).await;
    let error = wrong.call("getInventory", json!({})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(error.message.contains("knows no `v9` for its variable `version`, but v2, v3"), "{error}");
}
