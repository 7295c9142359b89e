//! What a token says, before its signature is looked at.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::super::token::{Claims, LEEWAY_SECONDS, Token, TokenError};
use super::{NOW, served};
use crate::MAX_TOKEN_BYTES;

/// Members in the place of the usual ones; `null` takes one out.
fn laid(mut object: Value, members: &Value) -> String {
    for (name, value) in members.as_object().unwrap() {
        match value {
            Value::Null => drop(object.as_object_mut().unwrap().remove(name)),
            value => object[name] = value.clone(),
        }
    }
    object.to_string()
}

fn token(head: &Value, claims: &Value) -> String {
    let head = laid(json!({"alg": "RS256", "typ": "at+jwt", "kid": "r"}), head);
    let claims = laid(
        json!({
            "iss": "https://login.example.com",
            "aud": "https://tools.example.com/mcp",
            "sub": "ada",
            "exp": NOW,
        }),
        claims,
    );
    parts(&head, &claims)
}

fn parts(head: &str, claims: &str) -> String {
    format!("{}.{}.c2ln", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(claims))
}

fn read(text: &str) -> Result<Claims, TokenError> {
    Token::read(text, &served(), NOW).map(|token| token.claims)
}

#[test]
fn every_claim_is_looked_at_and_none_of_them_may_be_of_another_kind() {
    for (claims, error) in [
        (json!({"iss": "https://login.example.com/"}), TokenError::Issuer),
        (json!({"iss": null}), TokenError::Issuer),
        (json!({"iss": ["https://login.example.com"]}), TokenError::Issuer),
        (json!({"aud": "https://tools.example.com/mcp/"}), TokenError::Audience),
        (json!({"aud": ["https://other.example.com"]}), TokenError::Audience),
        (json!({"aud": []}), TokenError::Audience),
        (json!({"aud": null}), TokenError::Audience),
        (json!({"aud": {"https://tools.example.com/mcp": true}}), TokenError::Audience),
        (json!({"cnf": {"jkt": "a"}}), TokenError::Bound),
        (json!({"exp": null}), TokenError::NoTime),
        (json!({"exp": "4000000000"}), TokenError::NoTime),
        (json!({"exp": NOW - LEEWAY_SECONDS}), TokenError::Expired),
        (json!({"exp": -1}), TokenError::Expired),
        (json!({"nbf": "0"}), TokenError::NoTime),
        (json!({"nbf": NOW + LEEWAY_SECONDS + 1.0}), TokenError::Early),
        (json!({"sub": null}), TokenError::Subject),
        (json!({"sub": ""}), TokenError::Subject),
        (json!({"sub": 7}), TokenError::Subject),
        (json!({"sub": "x".repeat(2000)}), TokenError::Subject),
    ] {
        assert_eq!(read(&token(&json!({}), &claims)).unwrap_err(), error, "{claims}");
    }
    for claims in [
        json!({"aud": ["https://other.example.com", "https://tools.example.com/mcp"]}),
        json!({"exp": NOW - LEEWAY_SECONDS + 1.0}),
        json!({"nbf": NOW + LEEWAY_SECONDS}),
        json!({"nbf": 0.5}),
    ] {
        assert!(read(&token(&json!({}), &claims)).is_ok(), "{claims}");
    }
}

#[test]
fn only_heads_of_access_tokens_are_taken() {
    for (head, error) in [
        (json!({"alg": null}), TokenError::Algorithm),
        (json!({"alg": "none"}), TokenError::Algorithm),
        (json!({"alg": "None"}), TokenError::Algorithm),
        (json!({"alg": "HS512"}), TokenError::Algorithm),
        (json!({"alg": ["RS256"]}), TokenError::Algorithm),
        (json!({"typ": "dpop+jwt"}), TokenError::Kind),
        (json!({"typ": "logout+jwt"}), TokenError::Kind),
        (json!({"typ": 1}), TokenError::Kind),
        (json!({"crit": ["exp"]}), TokenError::Kind),
        (json!({"kid": 1}), TokenError::NoToken),
    ] {
        assert_eq!(read(&token(&head, &json!({}))).unwrap_err(), error, "{head}");
    }
    for head in [
        json!({"typ": "JWT"}),
        json!({"typ": "application/AT+JWT"}),
        json!({"typ": null}),
        json!({"kid": null}),
    ] {
        assert!(read(&token(&head, &json!({}))).is_ok(), "{head}");
    }
}

#[test]
fn what_can_be_read_in_two_ways_or_not_at_all_is_no_token() {
    let good = token(&json!({}), &json!({}));
    let (head, rest) = good.split_once('.').unwrap();
    let claims = r#"{"iss": "https://login.example.com", "aud": "a", "sub": "ada", "exp": 4000000000, "aud": "https://tools.example.com/mcp"}"#;
    for text in [
        String::new(),
        "a".to_owned(),
        "..".to_owned(),
        format!("{head}.{rest}.{rest}"),
        format!("{head}=.{rest}"),
        format!("{good}="),
        format!("{good}+"),
        parts("{}", "7"),
        parts("[]", "{}"),
        parts(r#"{"alg": "RS256"}"#, claims),
        parts(r#"{"alg": "none", "alg": "RS256"}"#, "{}"),
    ] {
        let error = read(&text).unwrap_err();
        assert!(matches!(error, TokenError::NoToken | TokenError::Algorithm), "{text} {error:?}");
    }
    assert_eq!(read(&parts(r#"{"alg": "RS256"}"#, claims)).unwrap_err(), TokenError::NoToken);
    let long = token(&json!({}), &json!({"x": "x".repeat(MAX_TOKEN_BYTES)}));
    assert_eq!(read(&long).unwrap_err(), TokenError::TooLong);
}

#[test]
fn scopes_and_the_client_are_found_where_servers_write_them() {
    for (claims, client, scopes) in [
        (json!({"scope": "a  b", "client_id": "one", "azp": "two"}), Some("one"), vec!["a", "b"]),
        (json!({"scp": ["a", 7, "b"], "azp": "two"}), Some("two"), vec!["a", "b"]),
        (json!({"scp": "a b"}), None, vec!["a", "b"]),
        (json!({"scope": 7, "client_id": 7}), None, vec![]),
    ] {
        let read = read(&token(&json!({}), &claims)).unwrap();
        assert_eq!(
            (read.client_id.as_deref(), read.scopes),
            (client, scopes.into_iter().map(str::to_owned).collect())
        );
    }
}
