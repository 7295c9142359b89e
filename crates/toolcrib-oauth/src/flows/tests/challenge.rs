//! `WWW-Authenticate`, as servers write it.

use super::super::challenge::Challenge;

#[test]
fn a_challenge_is_read_as_servers_write_it() {
    let place = "https://a.example/meta";
    for (header, metadata, scopes, error) in [
        ("Bearer", None, "", None),
        ("", None, "", None),
        (r#"Bearer resource_metadata="https://a.example/meta""#, Some(place), "", None),
        ("bearer resource_metadata=https://a.example/meta", Some(place), "", None),
        (
            r#"BEARER realm="x", scope="a b  c", error="insufficient_scope""#,
            None,
            "a b c",
            Some("insufficient_scope"),
        ),
        (r#"Bearer error = "invalid_token" , scope = a"#, None, "a", Some("invalid_token")),
        // Of several schemes only ours counts.
        (r#"Basic realm="scope=b", Bearer scope="a""#, None, "a", None),
        (r#"Bearer scope="a", DPoP scope="b", error="other""#, None, "a", None),
        (r#"DPoP scope="b", error="use_dpop_nonce""#, None, "b", Some("use_dpop_nonce")),
        (r#"Bearer scope="a", DPoP error="use_dpop_nonce""#, None, "", Some("use_dpop_nonce")),
        (r#"Negotiate dG9rZW4==, Bearer scope="a""#, None, "a", None),
        // What stands in a quoted text is text.
        (r#"Bearer realm="a, scope=b \" error=c", scope="d""#, None, "d", None),
        // The first of a name counts, and what is no scope does not.
        (r#"Bearer scope="a", scope="b""#, None, "a", None),
        ("Bearer scope=\"a \u{7f} b\"", None, "a b", None),
        // A text without an end is nothing.
        (r#"Bearer scope="a"#, None, "", None),
        (r#"Bearer scope="a\"#, None, "", None),
        ("Bearer =,=;;,= scope", None, "", None),
    ] {
        let read = Challenge::read(header);
        assert_eq!(read.resource_metadata.as_deref(), metadata, "{header}");
        assert_eq!(read.scopes.join(" "), scopes, "{header}");
        assert_eq!(read.error.as_deref(), error, "{header}");
    }
}

#[test]
fn no_challenge_has_more_scopes_than_are_asked_for() {
    let many: Vec<String> = (0..1_000).map(|number| format!("s{number}")).collect();
    let read = Challenge::read(&format!(r#"Bearer scope="{} {}""#, many.join(" "), "x".repeat(10_000)));
    assert_eq!(read.scopes.len(), super::super::scopes::MAX_SCOPES);
}
