//! What a sender of push messages promises, at a push service on a socket.

use axum::response::IntoResponse as _;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey};
use ring::rand::SystemRandom;
use toolcrib_testkit::{Canary, Hit};

use super::*;
use crate::channels::{MAX_ATTEMPTS, WebhookChannel};

const LIFETIME: Duration = Duration::from_mins(5);

fn sender(allow_private: bool) -> WebPush {
    let http = HttpClient::new(WebhookChannel::http_policy(allow_private)).unwrap();
    WebPush::new(http, "mailto:ops@example.com", allow_private).with_first_pause(Duration::from_millis(1))
}

fn subscription(endpoint: &str) -> PushSubscription {
    let key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
    let key = URL_SAFE_NO_PAD.encode(key.compute_public_key().unwrap());
    PushSubscription::new(endpoint, &key, &URL_SAFE_NO_PAD.encode([7; 16])).unwrap()
}

async fn sent(status: StatusCode) -> (Result<(), PushError>, Vec<Hit>) {
    let service = Canary::start(move |_: &Hit| status.into_response()).await.unwrap();
    let key = VapidKey::from_pkcs8(&VapidKey::generate().unwrap()).unwrap();
    let subscription = subscription(&service.url("/push/1"));
    let sent = sender(true).send("phones", &key, &subscription, ("hello", LIFETIME)).await;
    (sent, service.hits())
}

#[tokio::test]
async fn a_push_service_gets_a_signed_and_encrypted_message() {
    let (sent, hits) = sent(StatusCode::CREATED).await;
    sent.unwrap();
    let [hit] = hits.as_slice() else { panic!("{hits:?}") };
    assert_eq!((hit.method.as_str(), hit.uri.as_str()), ("POST", "/push/1"));
    for (name, value) in [("content-encoding", "aes128gcm"), ("ttl", "300"), ("urgency", "high")] {
        assert_eq!(hit.header(name), value);
    }
    assert!(hit.header("authorization").starts_with("vapid t="));
    assert!(!hit.body.contains("hello"));
}

#[tokio::test]
async fn a_subscription_that_has_ended_is_told_of_and_not_tried_again() {
    for status in [StatusCode::NOT_FOUND, StatusCode::GONE] {
        let (sent, hits) = sent(status).await;
        assert!(matches!(sent, Err(PushError::Gone)), "{sent:?}");
        assert_eq!(hits.len(), 1);
    }
    let (sent, hits) = sent(StatusCode::SERVICE_UNAVAILABLE).await;
    assert!(matches!(sent, Err(PushError::Failed(_))), "{sent:?}");
    assert_eq!(hits.len(), MAX_ATTEMPTS as usize);
}

#[tokio::test]
async fn an_endpoint_is_public_and_secure() {
    let (public, private) = (sender(false), sender(true));
    let check = |sender: &WebPush, url: &str| sender.check_endpoint(&Url::parse(url).unwrap()).is_ok();
    assert!(check(&public, "https://push.example.com/a"));
    for url in [
        "http://push.example.com/a",
        "https://127.0.0.1/a",
        "https://169.254.169.254/latest",
        "https://[::1]/a",
        "https://user:key@push.example.com/a",
        "file:///etc/passwd",
        "http://127.0.0.1/a",
    ] {
        assert!(!check(&public, url), "{url}");
    }
    assert!(check(&private, "http://127.0.0.1:9/a"));
    assert!(!check(&private, "http://push.example.com/a"));
}

#[test]
fn a_subscription_with_other_keys_than_a_browser_makes_is_refused() {
    let good = subscription("https://push.example.com/a");
    let key = good.p256dh.as_str();
    for (endpoint, key, auth) in [
        ("no URL", key, good.auth.as_str()),
        (&format!("https://push.example.com/{}", "x".repeat(MAX_ENDPOINT_BYTES)), key, &good.auth),
        ("https://push.example.com/a", "AAAA", &good.auth),
        ("https://push.example.com/a", &URL_SAFE_NO_PAD.encode([5; 65]), &good.auth),
        ("https://push.example.com/a", key, "AAAA"),
        ("https://push.example.com/a", key, ""),
    ] {
        assert!(PushSubscription::new(endpoint, key, auth).is_err(), "{endpoint} {key} {auth}");
    }
}
