//! The mistakes in `approvals` that are found before anything starts.

use crate::Blueprint;

fn refused(approvals: &str) -> String {
    Blueprint::from_text("app.yaml", &format!("approvals:\n  {approvals}\n")).unwrap_err().to_string()
}

#[test]
fn people_and_rules_are_checked_before_anything_starts() {
    for (approvals, message) in [
        ("people: {operator: {}}", "the operator is a person already"),
        ("people: {'a b': {}}", "no name for a person"),
        ("people: {alice: {key: short}}", "a key has at least 16 characters"),
        ("people: {alice: {principals: [ci]}, bob: {principals: [ci]}}", "another person is `ci` already"),
        ("people: {alice: {}, bob: {principals: [alice]}}", "another person is `alice` already"),
        ("rules: [{approvers: 2}]", "app.yaml:2:11"),
        ("rules: [{module: pay, approvers: 9}]", "expected at most 8 approvers, found 9"),
        ("rules: [{module: pay, approvers: 0}]", "app.yaml:2"),
        ("rules: [{module: pay, ask: [mail]}]", "unknown channel `mail`"),
    ] {
        let error = refused(approvals);
        assert!(error.contains(message), "{approvals}: {error}");
    }
}

#[test]
fn mail_is_checked_before_anything_starts() {
    let mail = |settings: &str| {
        format!(
            "url: https://tools.example.com\n  people: {{alice: {{email: alice@example.com}}}}\n  \
             channels: {{mail: {{type: email, people: [alice], {settings}}}}}"
        )
    };
    let fine = "server: \"smtps://mail.example.com\", from: Toolcrib <toolcrib@example.com>";
    let settings = format!("{fine}, user: toolcrib, password: secret");
    Blueprint::from_text("app.yaml", &format!("approvals:\n  {}\n", mail(&settings))).unwrap();
    for (approvals, message) in [
        ("people: {alice: {email: nobody}}".to_owned(), "expected an address, such as `alice@example.com`"),
        (mail(&format!("{fine}, user: toolcrib")), "expected a `password`"),
        (mail(&format!("{fine}, password: secret")), "expected a `user`"),
        (mail("server: \"smtps://mail.example.com\", from: nobody"), "expected an address"),
        (
            mail("server: \"https://mail.example.com\", from: a@example.com"),
            "expected `smtps://` or `smtp://`",
        ),
        (mail("server: mail, from: a@example.com"), "it is no URL"),
    ] {
        let error = refused(&approvals);
        assert!(error.contains(message), "{approvals}: {error}");
    }
}

#[test]
fn channels_are_checked_before_anything_starts() {
    let hook = |url: &str, settings: &str| {
        format!("url: {url}\n  people: {{alice: {{}}}}\n  channels: {{hook: {{{settings}}}}}")
    };
    let base = "https://tools.example.com";
    let fine = "type: webhook, url: \"https://hooks.example.com/x\", people: [alice]";
    Blueprint::from_text("app.yaml", &format!("approvals:\n  {}\n", hook(base, fine))).unwrap();
    for (approvals, message) in [
        (
            format!("people: {{alice: {{}}}}\n  channels: {{hook: {{{fine}}}}}"),
            "channels need `approvals.url`",
        ),
        (hook("tools.example.com", fine), "expected a URL, such as `https://tools.example.com`"),
        (hook("http://tools.example.com", fine), "expected `https://`"),
        (hook("https://tools.example.com/x", fine), "a scheme and a host only"),
        (hook(base, "url: \"https://hooks.example.com\", people: [alice]"), "the channel needs a `type`"),
        (hook(base, "type: pigeon, people: [alice]"), "unknown channel type `pigeon`"),
        (hook(base, "type: webhook, url: \"https://hooks.example.com\", people: []"), "the list is empty"),
        (
            hook(base, "type: webhook, url: \"https://hooks.example.com\", people: [bob]"),
            "unknown person `bob`",
        ),
        (
            hook(
                base,
                "type: webhook, url: \"https://hooks.example.com\", people: [alice, alice], format: slack",
            ),
            "give each person a separate channel",
        ),
        (
            hook(
                base,
                "type: email, server: \"smtps://mail.example.com\", from: a@example.com, people: [alice]",
            ),
            "the person `alice` has no `email`",
        ),
        (hook(base, "type: webhook, url: nowhere, people: [alice]"), "it is no URL"),
        (hook(base, "type: webhook, url: \"${NO_SUCH_HOOK}\", people: [alice]"), "`NO_SUCH_HOOK` is not set"),
    ] {
        let error = refused(&approvals);
        assert!(error.contains(message), "{approvals}: {error}");
    }
}

#[test]
fn push_messages_go_to_people_who_can_sign_in_at_the_console() {
    let push = |people: &str| {
        format!(
            "url: https://tools.example.com\n  people: {{alice: {{}}, bob: {{key: a-key-of-sixteen}}}}\n  \
             channels: {{phones: {{type: web_push, subject: \"mailto:ops@example.com\", people: {people}}}}}"
        )
    };
    Blueprint::from_text("app.yaml", &format!("approvals:\n  {}\n", push("[operator, bob]"))).unwrap();
    for (people, message) in [
        ("[]", "the list is empty"),
        ("[operator, alice]", "the person `alice` has no `key`"),
        ("[operator, carol]", "unknown person `carol`; there is: alice, bob, operator"),
    ] {
        let error = refused(&push(people));
        assert!(error.contains(message), "{people}: {error}");
    }
}
