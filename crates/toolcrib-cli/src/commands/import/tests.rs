//! What is a secret, and what a reference.

use std::collections::BTreeSet;
use std::path::Path;

use super::app::namespace;
use super::texts::Texts;
use super::variables::Variables;
use crate::arguments::Client;
use crate::commands::entry_secrets::{in_arguments, is_plain_header, is_plain_variable};

#[test]
fn what_looks_like_a_key_is_found_among_the_arguments_and_nothing_else_is() {
    let cases: [(&[&str], &[&str]); 16] = [
        (&["-y", "@modelcontextprotocol/server-filesystem", "/home/ada"], &[]),
        (&["--api-key", "abc"], &["abc"]),
        (&["--api-key=abc"], &["abc"]),
        (&["--token", "--verbose"], &[]),
        (&["--no-auth", "serve"], &[]),
        (&["-e", "GITHUB_TOKEN"], &[]),
        (&["-e", "GITHUB_TOKEN=abc"], &["abc"]),
        (&["--header", "Authorization: Bearer abc"], &["abc"]),
        (&["--header", "Authorization:${AUTH}"], &[]),
        (&["postgresql://ada:pw@db/main"], &["pw"]),
        (&["https://x.example/mcp?api_key=abc&page=2"], &["abc"]),
        (&["https://x.example/s/0123456789abcdef0123456789/mcp"], &["0123456789abcdef0123456789"]),
        (&["https://x.example/a-long-name-without-any-digit/mcp"], &[]),
        (&["ghp_0123456789abcdef"], &["ghp_0123456789abcdef"]),
        (&["sk-short"], &[]),
        (&["--port=8080", "C:\\tools\\server.exe", "http://localhost:8080/mcp"], &[]),
    ];
    for (arguments, expected) in cases {
        let found: Vec<&str> =
            in_arguments(arguments).into_iter().map(|(at, range)| &arguments[at][range]).collect();
        assert_eq!(found, expected, "{arguments:?}");
    }
}

#[test]
fn a_variable_is_a_secret_unless_it_plainly_is_none() {
    let plain = [
        ("LOG_LEVEL", "debug"),
        ("PORT", "8080"),
        ("LIMIT", "20"),
        ("DEBUG", "true"),
        ("AUTH", "false"),
        ("ANY", ""),
    ];
    let secret = [
        ("GITHUB_TOKEN", "abc"),
        ("KEY", "1"),
        ("ANYTHING", "x"),
        ("DATABASE_URL", "postgres://ada:pw@db/main"),
        ("BASE_PATH", "ghp_0123456789abcdef"),
        ("${HOME}", "canary-v2-9876543210"),
        ("HOME", "0123456789abcdef0123456789"),
    ];
    for (name, value) in plain {
        assert!(is_plain_variable(name, value), "{name}={value}");
    }
    for (name, value) in secret {
        assert!(!is_plain_variable(name, value), "{name}={value}");
    }
    assert!(is_plain_header("Accept", "text/plain"));
    assert!(!is_plain_header("X-Team", "sales"), "nobody knows what a header is for");
}

fn translated(client: Client, text: &str) -> (Result<String, String>, Vec<String>) {
    let lookup = |_: &str| None;
    let mut variables = Variables::new(&lookup);
    let mut texts = Texts {
        client: Some(client),
        project: Some(Path::new("/home/ada/${p}")),
        namespace: "crm",
        source: "`crm` in f",
        variables: &mut variables,
    };
    let text = texts.plain(text);
    (text, variables.all.into_iter().map(|variable| variable.name).collect())
}

#[test]
fn references_of_each_client_become_references_of_an_app() {
    use Client::{ClaudeCode, Cursor, Gemini, VsCode};
    let cases: [(Client, &str, &str, &[&str]); 13] = [
        (ClaudeCode, "a ${KEY} b", "a ${KEY} b", &["KEY"]),
        (ClaudeCode, "${KEY:-none}", "${KEY:-none}", &[]),
        (ClaudeCode, "$KEY and $5", "$KEY and $5", &[]),
        (Gemini, "$KEY-${OTHER}", "${KEY}-${OTHER}", &["KEY", "OTHER"]),
        (Cursor, "${env:KEY}", "${KEY}", &["KEY"]),
        (Cursor, "${userHome}${/}x", "${HOME}/x", &[]),
        (Cursor, "${workspaceFolder}/x", "/home/ada/$${p}/x", &[]),
        (VsCode, "${input:api-key}", "${API_KEY}", &["API_KEY"]),
        (VsCode, "${", "$${", &[]),
        (VsCode, "${}", "$${}", &[]),
        (VsCode, "${a b}", "$${a b}", &[]),
        (VsCode, "${${KEY}}", "$${${KEY}}", &["KEY"]),
        (VsCode, "$", "$", &[]),
    ];
    for (client, text, expected, names) in cases {
        let (translated, variables) = translated(client, text);
        assert_eq!(translated.as_deref(), Ok(expected), "{text}");
        assert_eq!(variables, names, "{text}");
    }
    assert!(translated(VsCode, "${command:x}").0.is_err(), "only the editor knows what it is");
    assert!(translated(VsCode, "$${KEY}").0.is_err(), "an app would read an escape");
}

#[test]
fn a_variable_stands_for_one_value() {
    let lookup = |name: &str| match name {
        "PATH" => Some("/bin".to_owned()),
        "SET" => Some("same".to_owned()),
        _ => None,
    };
    let mut variables = Variables::new(&lookup);
    let mut holding =
        |value: &str, wanted: &str, namespace: &str| variables.holding(value, wanted, namespace, "f");
    assert_eq!(holding("one", "KEY", "a"), "KEY");
    assert_eq!(holding("one", "KEY", "b"), "KEY");
    assert_eq!(holding("two", "KEY", "b"), "B_KEY");
    assert_eq!(holding("three", "KEY", "b"), "B_KEY_2");
    assert_eq!(holding("/opt", "PATH", "a"), "A_PATH", "what is set here means something else");
    assert_eq!(holding("same", "SET", "a"), "SET");
    assert_eq!(holding("x", "1-é", "a"), "V_1");
    let set: Vec<_> = variables
        .all
        .iter()
        .filter(|variable| variable.is_set)
        .map(|variable| variable.name.as_str())
        .collect();
    assert_eq!(set, ["SET"]);
}

#[test]
fn names_become_namespaces_that_differ() {
    let mut taken = BTreeSet::new();
    let mut names = |name: &str| namespace(name, &mut taken);
    assert_eq!(names("git.hub / mcp"), "git_hub_mcp");
    assert_eq!(names("git hub mcp"), "git_hub_mcp_2");
    assert_eq!(names("Git_Hub_MCP"), "Git_Hub_MCP_3");
    assert_eq!(names("日本::\u{202e}x"), "日本_x");
    assert_eq!(names(""), "server");
    assert_eq!(names("::"), "server_2");
    assert_eq!(names(&"x".repeat(500)).len(), 48);
}
