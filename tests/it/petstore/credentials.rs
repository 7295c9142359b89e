//! The credentials of an app file: where they go, where they do not, and that nobody sees them.

use serde_json::{Value, json};
use toolcrib_testkit::{ModelServer, PetStore, StoreRequest, Turn};

use super::shop::Shop;
use crate::support::TestDir;

const SECRET: &str = "canary & 7f3a91c2e4";

/// Base64 of `me:` and the secret, of the secret, and its percent-encoded form.
const SPELLINGS: [&str; 4] =
    [SECRET, "bWU6Y2FuYXJ5ICYgN2YzYTkxYzJlNA==", "Y2FuYXJ5ICYgN2YzYTkxYzJlNA", "canary%20%26%207f3a91c2e4"];

/// An operation that the store does not have: it sends back what it was asked. Its parameters would write where
/// credentials go.
const DOCUMENT: &str = "
openapi: 3.0.3
info: {title: Echo, version: '1'}
servers: [{url: 'SERVER'}]
paths:
  /echo:
    get:
      operationId: echo
      parameters:
        - {name: Authorization, in: header, schema: {type: string}}
        - {name: x-KEY, in: header, schema: {type: string}}
        - {name: Cookie, in: header, schema: {type: string}}
        - {name: API_KEY, in: query, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string}}
        - {name: filter, in: query, schema: {type: object}}
        - {name: others, in: cookie, schema: {type: object}}
      responses: {'200': {description: ok}}
    post: {operationId: change, responses: {'200': {description: ok}}}
    trace: {operationId: trace, responses: {'200': {description: ok}}}
";

/// An app that calls it. `settings` are those of the source, in YAML.
fn dir(server: &str, settings: &str) -> TestDir {
    let app = format!(
        "
tools:
  registry:
    - type: rest
      namespace: api
      spec: api.yaml
      allow_private: true
      {settings}
  capabilities: {{default_policy: grant}}
"
    );
    TestDir::with_app(&app)
        .with_file("api.yaml", DOCUMENT.replace("SERVER", server))
        .with_variable("TOKEN", SECRET)
        .with_variable("CLIENT_SECRET", PetStore::CLIENT_SECRET)
        .with_variable("TOOLCRIB_LOG", "trace")
}

/// Everything in a request that somebody could be known by.
fn proof(asked: &StoreRequest) -> [String; 4] {
    let header = |name: &str| asked.header(name).to_owned();
    let query = asked.target.split_once('?').map_or("", |(_, query)| query);
    [header("authorization"), header("x-key"), header("cookie"), query.to_owned()]
}

#[track_caller]
fn assert_hidden(text: &str) {
    assert!(SPELLINGS.iter().all(|spelling| !text.contains(spelling)), "{text}");
}

#[tokio::test]
async fn each_kind_of_credential_goes_into_its_slot_is_reached_by_no_argument_and_stands_in_no_output() {
    let store = PetStore::start().await.unwrap();
    let key = |place: &str, name: &str| {
        format!("{{type: api_key, value: '${{TOKEN}}', in: {place}, name: {name}}}")
    };
    let basic = "Basic bWU6Y2FuYXJ5ICYgN2YzYTkxYzJlNA==";
    let encoded = "canary%20%26%207f3a91c2e4";
    for (auth, expected, forged) in [
        (
            "{type: bearer, token: '${TOKEN}'}".to_owned(),
            [&format!("Bearer {SECRET}"), "", "", ""],
            "Authorization",
        ),
        ("{type: basic, username: me, password: '${TOKEN}'}".into(), [basic, "", "", ""], "Authorization"),
        (key("header", "X-Key"), ["", SECRET, "", ""], "x-KEY"),
        (key("query", "api_key"), ["", "", "", &format!("api_key={encoded}")], "API_KEY"),
        (key("cookie", "session"), ["", "", &format!("session={encoded}"), ""], "session"),
    ] {
        let settings = format!("base_url: '{}'\n      auth: {auth}", store.base_url());
        let dir = dir("https://nowhere.example", &settings);
        let shown = dir.run(["show", "app.yaml", "api.echo", "--json"]).await.expect(0).json();
        let arguments = shown["forms"][0]["parameters"]["properties"].as_object().unwrap();
        assert!(!arguments.contains_key(forged), "{auth}: {arguments:?}");

        let before = store.requests().len();
        let mut outputs = vec![shown.to_string()];
        for arguments in [
            json!({forged: "forged"}),
            json!({"filter": {"Api_Key": "forged"}, "others": {"session": "forged"}}),
        ] {
            outputs.push(dir.run(["call", "app.yaml", "api.echo", &arguments.to_string()]).await.report());
        }
        // Members of objects that would be sent under the name of another parameter are refused, wherever the credential goes.
        assert_eq!(store.requests().len(), before, "{auth}");

        let called = dir.run(["call", "app.yaml", "api.echo", "--json"]).await.expect(1);
        assert_eq!(proof(&store.requests().pop().unwrap()), expected, "{auth}");
        // The server has sent all of it back, in the body and in a header.
        let message = called.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("[secret"), "{message}");
        outputs.push(called.report());
        for words in [
            &["call", "app.yaml", "api.echo"][..],
            &["call", "app.yaml", "api.change"],
            &["validate", "app.yaml", "--connect"],
            &["tools", "app.yaml", "--json"],
            &["plan", "app.yaml", "--json"],
            &["doctor", "app.yaml"],
        ] {
            outputs.push(dir.run_words(words).await.report());
        }
        for output in &outputs {
            assert_hidden(output);
        }
        // Servers send such a request back as they got it.
        dir.run(["call", "app.yaml", "api.trace"]).await;
        let traced = store.requests().pop().unwrap();
        assert_eq!((traced.method.as_str(), proof(&traced)), ("TRACE", [""; 4].map(str::to_owned)), "{auth}");
    }
}

#[tokio::test]
async fn a_credential_goes_to_no_other_origin_and_across_no_redirect() {
    let (own, other) = (PetStore::start().await.unwrap(), PetStore::start().await.unwrap());
    let (here, there) = (own.base_url(), other.base_url());
    let elsewhere = there.replace("127.0.0.1", "localhost");
    let secured = "auth: {type: bearer, token: '${TOKEN}', origin: 'ORIGIN'}";
    // The document names the other server, and so does the setting for calls; the credential is for this one.
    for (server, settings, asked) in [
        (&there, secured.replace("ORIGIN", &here), &other),
        (&here, format!("base_url: '{there}'\n      {}", secured.replace("ORIGIN", &here)), &other),
        (&there, secured.replace("ORIGIN", &elsewhere), &other),
        (&here, secured.replace("ORIGIN", &here.replace("http:", "https:")), &own),
    ] {
        let before = asked.requests().len();
        asked.answer_next(401, &[]);
        let error = dir(server, &settings).run(["call", "app.yaml", "api.echo", "--json"]).await.expect(1);
        let hint = error.json()["error"]["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("is for another origin than this server, and was not sent"), "{hint}");
        let sent = asked.requests().split_off(before);
        assert_eq!(sent.iter().map(proof).collect::<Vec<_>>(), [[""; 4].map(str::to_owned)]);
        assert_hidden(&error.report());
    }

    let dir = dir(&here, &secured.replace("ORIGIN", &here));
    let (before, others) = (own.requests().len(), other.requests().len());
    for target in [&there, &elsewhere, "//localhost/", "http://169.254.169.254/latest/meta-data"] {
        own.answer_next(307, &[("location", "/api/v3/two")]);
        own.answer_next(308, &[("location", target)]);
        let error = dir.run(["call", "app.yaml", "api.echo"]).await.expect(1);
        assert!(error.stderr.contains("redirects to another origin are not followed"), "{}", error.stderr);
        assert_hidden(&error.report());
        // A call that changes something goes nowhere else at all.
        own.answer_next(307, &[("location", "/api/v3/two")]);
        dir.run(["call", "app.yaml", "api.change"]).await.expect(1);
    }
    let sent = own.requests().split_off(before);
    let lines: Vec<_> = sent.iter().map(StoreRequest::line).collect();
    assert_eq!(lines, ["GET /echo", "GET /two", "POST /echo"].repeat(4));
    assert!(sent.iter().all(|asked| asked.header("authorization") == format!("Bearer {SECRET}")));
    assert_eq!(other.requests().len(), others, "nobody came by a redirect");
}

#[tokio::test]
async fn a_token_is_fetched_once_for_a_run_and_anew_when_it_is_no_longer_taken() {
    let shop = Shop::open().await;
    let add = |name: &str| Turn::call("pets__addPet", &json!({"name": name, "photoUrls": []}));
    let turns = [
        add("Bo"),
        add("Cy").and_call("pets__updatePetWithForm", &json!({"petId": 1, "status": "sold"})),
        // Refused while the token is still good for its issuer.
        add("Di"),
        Turn::text("Done."),
    ];
    let server = ModelServer::start(turns).await.unwrap();
    let dir = shop.dir.with_variable("MODEL_URL", server.base_url()).with_variable("TOOLCRIB_LOG", "trace");
    let fetched = |asked: &StoreRequest| asked.header("authorization").to_owned();
    let run_output = dir.run(["run", "app.yaml", "Add pets.", "--json"]).await.expect(0);
    assert_eq!(
        shop.store.requests().iter().map(fetched).collect::<Vec<_>>(),
        ["Bearer token-of-the-store-1"; 4]
    );
    assert_eq!(shop.store.tokens(), 1);
    assert!(!run_output.report().contains("token-of-the-store"), "{}", run_output.report());
    let told: Vec<Value> = server.requests().iter().map(|request| request.json().unwrap()).collect();
    assert!(told.iter().all(|request| !request.to_string().contains("token-of-the-store")));

    // A token that was taken back: the call is made once more, with another, and not a third time.
    for (refusals, tokens, code) in [(1, [2, 3], 0), (2, [4, 5], 1)] {
        let before = shop.store.requests().len();
        for _ in 0..refusals {
            shop.store.answer_next(401, &[]);
        }
        let pet = json!({"name": "Ed", "photoUrls": []}).to_string();
        dir.run(["call", "app.yaml", "pets.addPet", &pet]).await.expect(code);
        let sent: Vec<_> = shop.store.requests().split_off(before).iter().map(fetched).collect();
        assert_eq!(sent, tokens.map(|number| format!("Bearer token-of-the-store-{number}")));
    }
}

#[tokio::test]
async fn a_client_that_the_issuer_does_not_know_sends_no_call_and_tells_no_secret() {
    let store = PetStore::start().await.unwrap();
    for form in ["body", "header"] {
        let settings = format!(
            "base_url: '{}'\n      auth: {{type: oauth2, token_url: '{}', client_id: app, client_secret: '${{TOKEN}}', client_auth: {form}}}",
            store.base_url(),
            store.token_url(),
        );
        let dir = dir("https://nowhere.example", &settings);
        let refused = dir.run(["call", "app.yaml", "api.echo"]).await.expect(5);
        assert!(refused.stderr.contains("/oauth/token: "), "{}", refused.stderr);
        assert!(refused.stderr.contains("invalid_client"), "{}", refused.stderr);
        assert_hidden(&refused.report());
    }
    assert_eq!((store.requests().len(), store.tokens()), (0, 0));
}
