//! Signatures and the keys that they are checked by.

use serde_json::{Value, json};

use super::super::algorithm::SignatureAlgorithm;
use super::super::keys::{KeySet, MAX_KEYS, SignatureCheck};
use super::super::token::{Token, TokenError};
use super::{NOW, served, vectors};

fn set(keys: &[&Value]) -> KeySet {
    KeySet::read(json!({"keys": keys}).to_string().as_bytes()).unwrap()
}

fn check(keys: &[&Value], token: &Value) -> SignatureCheck {
    let served = served();
    set(keys).check(&Token::read(token.as_str().unwrap(), &served, NOW).ok().unwrap())
}

/// A key with some of its members changed; `null` takes one out.
fn changed(key: &Value, members: &Value) -> Value {
    let mut key = key.clone();
    for (name, value) in members.as_object().unwrap() {
        match value {
            Value::Null => drop(key.as_object_mut().unwrap().remove(name)),
            value => key[name] = value.clone(),
        }
    }
    key
}

#[test]
fn every_algorithm_takes_what_another_library_has_signed_and_nothing_that_was_changed() {
    let vectors = vectors();
    for algorithm in SignatureAlgorithm::ALL {
        let name = format!("{algorithm:?}").replace("EdDsa", "EdDSA");
        let (key, token) = (&vectors[&name]["key"], &vectors[&name]["token"]);
        assert_eq!(check(&[key], token), SignatureCheck::Genuine, "{name}");
        let text = token.as_str().unwrap();
        // Of the head, whose letters say the same in another order of its members, and of the signature.
        let (signed, signature) = text.rsplit_once('.').unwrap();
        let first = if signature.starts_with('A') { 'B' } else { 'A' };
        let other = json!(format!("{signed}.{first}{}", &signature[1..]));
        assert_eq!(check(&[key], &other), SignatureCheck::Forged, "{name}");
        assert_eq!(check(&[key], &json!(format!("{signed}."))), SignatureCheck::Forged, "{name}");
    }
}

#[test]
fn a_public_key_is_no_secret_and_no_signature_is_none() {
    let vectors = vectors();
    for name in ["HS256", "none"] {
        let token = vectors[name]["token"].as_str().unwrap();
        assert_eq!(Token::read(token, &served(), NOW).err(), Some(TokenError::Algorithm), "{name}");
    }
    // A secret in the set is passed over, whatever it says that it is for.
    let secret = json!({"kty": "oct", "k": "c2VjcmV0", "kid": "r", "alg": "RS256"});
    assert!(KeySet::read(json!({"keys": [secret]}).to_string().as_bytes()).is_err());
}

#[test]
fn a_key_that_is_too_weak_is_none() {
    let vectors = vectors();
    assert_eq!(check(&[&vectors["weak"]["key"]], &vectors["weak"]["token"]), SignatureCheck::Forged);
}

#[test]
fn an_algorithm_that_the_app_or_the_key_does_not_allow_is_refused() {
    let vectors = vectors();
    let mut served = served();
    served.algorithms = vec![SignatureAlgorithm::ES256];
    let token = vectors["RS256"]["token"].as_str().unwrap();
    assert_eq!(Token::read(token, &served, NOW).err(), Some(TokenError::Algorithm));
    let key = changed(&vectors["RS256"]["key"], &json!({"alg": "PS256"}));
    assert_eq!(check(&[&key], &vectors["RS256"]["token"]), SignatureCheck::Forged);
    let key = changed(&vectors["RS256"]["key"], &json!({"alg": "RS256"}));
    assert_eq!(check(&[&key], &vectors["RS256"]["token"]), SignatureCheck::Genuine);
    // A key of another kind under the same id.
    let key = changed(&vectors["ES256"]["key"], &json!({"kid": "r"}));
    assert_eq!(check(&[&key], &vectors["RS256"]["token"]), SignatureCheck::Forged);
}

#[test]
fn a_key_is_found_by_its_id_and_without_one_among_all() {
    let vectors = vectors();
    let (key, token) = (&vectors["RS256"]["key"], &vectors["RS256"]["token"]);
    let renamed = changed(key, &json!({"kid": "other"}));
    assert_eq!(check(&[&renamed], token), SignatureCheck::UnknownKey);
    assert_eq!(check(&[&renamed, key], token), SignatureCheck::Genuine);
    let served = served();
    let mut token = Token::read(token.as_str().unwrap(), &served, NOW).ok().unwrap();
    token.key_id = None;
    assert_eq!(set(&[&vectors["ES256"]["key"], &renamed]).check(&token), SignatureCheck::Genuine);
    assert_eq!(set(&[&vectors["ES256"]["key"]]).check(&token), SignatureCheck::UnknownKey);
}

#[test]
fn keys_for_other_ends_are_passed_over() {
    let vectors = vectors();
    let key = &vectors["RS256"]["key"];
    for other in [
        json!({"use": "enc"}),
        json!({"key_ops": ["sign"]}),
        json!({"alg": "RSA-OAEP"}),
        json!({"alg": "HS256"}),
        json!({"kty": "FUTURE"}),
        json!({"n": null}),
        json!({"e": "%"}),
    ] {
        let other = changed(key, &other);
        assert!(KeySet::read(json!({"keys": [other]}).to_string().as_bytes()).is_err(), "{other}");
        assert_eq!(check(&[&other, &json!(7), key], &vectors["RS256"]["token"]), SignatureCheck::Genuine);
    }
    let verifies = changed(key, &json!({"key_ops": ["verify"], "use": "sig"}));
    assert_eq!(check(&[&verifies], &vectors["RS256"]["token"]), SignatureCheck::Genuine);
}

#[test]
fn a_set_that_is_too_large_or_none_is_refused() {
    let key = vectors()["ES256"]["key"].clone();
    let many = vec![key; MAX_KEYS + 1];
    let problems = [
        json!({"keys": many}).to_string(),
        json!({"keys": []}).to_string(),
        json!({"keys": {}}).to_string(),
        "[]".to_owned(),
        "<html>".to_owned(),
        r#"{"keys": [], "keys": []}"#.to_owned(),
    ];
    let problems = problems.map(|text| KeySet::read(text.as_bytes()).unwrap_err());
    assert_eq!(problems[0], "it has 65 keys; at most 64 are read");
    assert_eq!(problems[1], "it has no key for signatures");
    assert!(problems[2..4].iter().all(|problem| problem == "it has no list `keys`"), "{problems:?}");
}
