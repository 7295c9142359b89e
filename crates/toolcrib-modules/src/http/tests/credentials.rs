//! Whom the operator's headers are sent.

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use serde_json::json;
use toolcrib_testkit::Canary;

use super::Place;

#[tokio::test]
async fn headers_of_an_origin_are_sent_there_and_nowhere_else() {
    let other = Canary::start(|_| "other".into_response()).await.unwrap();
    let elsewhere = other.url("/stolen");
    let own = Canary::start(move |hit| match hit.uri.as_str() {
        "/moved" => (StatusCode::FOUND, [(LOCATION, elsewhere.clone())]).into_response(),
        "/here" => (StatusCode::FOUND, [(LOCATION, "/last")]).into_response(),
        _ => "own".into_response(),
    })
    .await
    .unwrap();
    let back = own.url("/last");
    let bounce = Canary::start(move |_| (StatusCode::FOUND, [(LOCATION, back.clone())]).into_response())
        .await
        .unwrap();
    // The public client asks nobody here, so that the redirects themselves have to be seen.
    let place = Place::of(json!({
        "private_origins": [own.origin(), other.origin(), bounce.origin()],
        "headers": {own.origin(): {"Authorization": "Bearer a-secret", "X-Key": "another"}},
    }));
    // One that a call brings does not win.
    place.ok("get", json!({"url": own.url("/a"), "headers": {"X-Key": "mine", "X-Own": "call"}})).await;
    place.ok("get", json!({"url": own.url("/here")})).await;
    place.ok("get", json!({"url": other.url("/b")})).await;
    let same_host = format!("http://localhost:{}/", own.port());
    place.call("get", json!({"url": same_host})).await;
    let seen: Vec<_> = own
        .hits()
        .iter()
        .map(|hit| (hit.uri.clone(), hit.header("authorization").to_owned(), hit.header("x-key").to_owned()))
        .collect();
    let with_key = |path: &str| (path.to_owned(), "Bearer a-secret".to_owned(), "another".to_owned());
    assert_eq!(seen, [with_key("/a"), with_key("/here"), with_key("/last")]);
    assert_eq!(own.hits()[0].header("x-own"), "call");
    assert_eq!((other.hits().len(), other.hits()[0].header("authorization")), (1, ""));

    // What leaves is no longer sent to where private addresses are allowed, and brings nothing along.
    for url in [own.url("/moved"), bounce.url("/")] {
        let error = place.error("get", json!({"url": url, "headers": {"X-Own": "call"}})).await;
        assert!(error.message.contains("refused to connect"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert_eq!((other.hits().len(), bounce.hits().len(), own.hits().len()), (1, 1, 4));
}

#[test]
fn what_goes_along_to_another_origin_says_nothing_of_who_asks() {
    let given =
        [("Accept", "a"), ("X-Api-Key", "k"), ("Range", "bytes=1-"), ("X-Trace", "t"), ("Referer", "r")];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let sent = super::super::headers::from_call(&given).unwrap();
    let mut kept: Vec<_> = super::super::headers::portable(&sent).keys().map(ToString::to_string).collect();
    kept.sort();
    assert_eq!(kept, ["accept", "range"]);
}
