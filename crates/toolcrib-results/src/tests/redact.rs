//! Secrets in texts.

use serde_json::json;
use toolcrib_model::Secret;

use super::secrets;
use crate::{MIN_SECRET_BYTES, Secrets, is_secret};

const SECRET: &str = "p@ss/w\"rd é7";

#[test]
fn a_secret_is_taken_out_in_every_form_that_it_is_usually_written_in() {
    let redactor = secrets(SECRET).redactor();
    for text in [
        SECRET,
        r#"p@ss/w\"rd é7"#,
        r#"p@ss\/w\"rd é7"#,
        "p%40ss%2Fw%22rd%20%C3%A97",
        "p%40ss%2fw%22rd%20%c3%a97",
        "p%40ss%2Fw%22rd+%C3%A97",
        "cEBzcy93InJkIMOpNw==",
        "cEBzcy93InJkIMOpNw",
        "704073732f7722726420c3a937",
    ] {
        assert_eq!(redactor.redact(&format!("<{text}>")), "<[secret TOKEN]>", "{text}");
    }
    // In base64 with something else before and behind it, at each offset: what is left stands for no byte of it alone.
    for (encoded, expected) in [
        ("dTpwQHNzL3cicmQgw6k3OnY=", "dTp[secret TOKEN]OnY="),
        ("dXU6cEBzcy93InJkIMOpNzp2", "dXU6[secret TOKEN]zp2"),
        ("dXV1OnBAc3MvdyJyZCDDqTc6dg==", "dXV1On[secret TOKEN]c6dg=="),
    ] {
        assert_eq!(redactor.redact(encoded), expected);
    }
    assert_eq!(redactor.redact("p@ss, no secret"), "p@ss, no secret");
}

#[test]
fn each_line_of_a_key_is_a_secret_and_its_frame_is_none() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----\n";
    let redactor = secrets(key).redactor();
    assert_eq!(redactor.redact("line AQEFAASCBKcwggSjAgEAAoIB!"), "line [secret TOKEN]!");
    assert_eq!(redactor.redact("-----BEGIN KEY-----"), "-----BEGIN KEY-----");
    assert_eq!(redactor.redact(key.trim()), "[secret TOKEN]");
}

#[test]
fn keys_and_values_at_any_depth_are_looked_at_and_no_key_is_lost() {
    let redactor = secrets("canary").redactor();
    let mut value = json!({"canary": [{"x": "a canary"}], "[secret TOKEN]": 1, "n": 5});
    redactor.redact_value(&mut value);
    assert_eq!(value, json!({"[secret TOKEN]": [{"x": "a [secret TOKEN]"}], "[secret TOKEN]…": 1, "n": 5}));
}

#[test]
fn a_text_that_is_cut_ends_before_a_secret_and_never_within() {
    let redactor = secrets("0123456789").redactor();
    for limit in 0..40 {
        let mut text = "abc 0123456789 def 0123456789".to_owned();
        redactor.redact_within(&mut text, limit);
        assert!(text.len() <= limit && !text.contains("012"), "{limit}: {text}");
    }
}

#[test]
fn a_short_secret_is_refused_and_a_longer_one_replaces_the_shorter_within() {
    let secrets = Secrets::new();
    assert!(!secrets.add("SHORT", Secret::new("x".repeat(MIN_SECRET_BYTES - 1))));
    assert!(secrets.add("ONE", Secret::new("abcdef")) && secrets.add("TWO", Secret::new("abcdefgh")));
    assert_eq!(secrets.redactor().redact("abcdefgh abcdef"), "[secret TWO] [secret ONE]");
    // Known under its first name.
    assert!(secrets.add("THREE", Secret::new("abcdef")));
    assert_eq!(secrets.redactor().redact("abcdef"), "[secret ONE]");
}

#[test]
fn of_secrets_that_follow_each_other_the_last_ones_are_known() {
    let secrets = Secrets::new();
    assert!(secrets.add("KEY", Secret::new("the-key")));
    for token in ["token-1", "token-2", "token-1", "token-3"] {
        assert!(secrets.add_latest("crm.token", Secret::new(token), 2));
    }
    // The first was told of again, so that the second is the oldest.
    let told = secrets.redactor().redact("the-key token-1 token-2 token-3").into_owned();
    assert_eq!(told, "[secret KEY] [secret crm.token] token-2 [secret crm.token]");
    assert!(!secrets.add_latest("crm.token", Secret::new("short"), 2));
    // One that is known by another name stays with it.
    assert!(secrets.add_latest("crm.token", Secret::new("the-key"), 2));
    assert_eq!(secrets.redactor().redact("the-key token-1"), "[secret KEY] [secret crm.token]");
}

#[test]
fn a_variable_is_a_secret_by_its_name_or_by_its_place() {
    let table = [
        ("/agents/0/brain/api_key", "${X}", "X", true),
        ("/tools/engines/a/env/DATA", "${WHAT}", "WHAT", true),
        ("/tools/engines/a/env/DATA", "${DATA_DIR}", "DATA_DIR", false),
        ("/tools/engines/a/argv/1", "${DB_PASSWORD}", "DB_PASSWORD", true),
        ("/tools/registry/0/url", "https://h/?q=${Q}", "Q", true),
        ("/tools/registry/0/url", "https://${HOST}/", "HOST", false),
        ("/app/prompt", "${GREETING}", "GREETING", false),
    ];
    for (pointer, text, name, expected) in table {
        assert_eq!(is_secret(pointer, text, name), expected, "{pointer} {name}");
    }
}
