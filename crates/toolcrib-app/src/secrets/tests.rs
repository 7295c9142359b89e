//! Providers with and without the secrets that an app names.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::{App, Extensions};

fn app(folder: &std::path::Path, text: &str, reads_dotenv: bool) -> App {
    let path = folder.join("app.yaml");
    std::fs::write(&path, text).unwrap();
    App::open_with(path, Extensions::default().with_dotenv(reads_dotenv)).unwrap()
}

fn origins(app: &App) -> String {
    let origins = app.file.secret_origins();
    let lines = origins.iter().map(|origin| match &origin.provider {
        Ok(provider) => format!("{}: {provider}\n", origin.name),
        Err(reason) => format!("{}: error: {reason}\n", origin.name),
    });
    lines.collect::<String>().replace(&app.file.folder.display().to_string(), "FOLDER")
}

/// Answers requests for the secrets of Vault's key/value engine as its documentation says.
async fn serve_vault(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).await.unwrap_or(0) == 0 {
                break;
            }
            head.extend(byte);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let is_allowed = head.contains("x-vault-token: root-token-1\r\n");
        let (status, body) = match head.split(' ').nth(1).unwrap_or_default() {
            _ if !is_allowed => {
                ("403 Forbidden", r#"{"errors": ["permission denied", "other-token"]}"#.to_owned())
            }
            "/v1/secret/data/apps/github" => {
                let data = r#"{"token": "from-vault-1", "number": 5, "empty": ""}"#;
                let metadata =
                    r#"{"created_time": "2026-01-01T00:00:00Z", "deletion_time": "", "version": 2}"#;
                (
                    "200 OK",
                    format!(r#"{{"request_id": "1", "data": {{"data": {data}, "metadata": {metadata}}}}}"#),
                )
            }
            "/v1/secret/data/rubbish" => ("200 OK", "<html>".to_owned()),
            _ => ("404 Not Found", r#"{"errors": []}"#.to_owned()),
        };
        let length = body.len();
        let response =
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        stream.write_all(response.as_bytes()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_provider_answers_for_what_it_has_and_says_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".env"), "TOOLCRIB_TEST_A=from-dotenv\nbroken\n").unwrap();
    let files = folder.path().join("mounted");
    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("B_TOKEN"), "from-file\n").unwrap();
    std::fs::write(files.join("EMPTY"), "\n").unwrap();
    std::fs::write(files.join("LONG"), "x".repeat(MAX_SECRET_BYTES + 1)).unwrap();
    std::fs::write(files.join("BINARY"), [0xff, 0xfe]).unwrap();
    std::fs::write(files.join("VAULT"), "root-token-1\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(serve_vault(listener));
    let text = format!(
        r#"
secrets:
  - {{type: dotenv}}
  - {{type: files, path: mounted}}
  - {{name: team, type: vault, url: "http://{address}", token_file: mounted/VAULT}}
  - {{name: wrong, type: vault, url: "http://{address}", token: "{{{{secret.cmd: [echo, other-token]}}}}"}}
  - {{name: down, type: vault, url: "http://127.0.0.1:1", token: long-enough-token}}
  - {{name: unset, type: vault, url: "http://127.0.0.1:1", token: "${{TOOLCRIB_NO_SUCH_VARIABLE}}"}}
app:
  description: >-
    {{{{secret.TOOLCRIB_TEST_A}}}} {{{{secret.CARGO_PKG_NAME}}}} {{{{secret.B_TOKEN}}}} ${{TOOLCRIB_TEST_A}}
    {{{{secret.files: EMPTY}}}} {{{{secret.files: LONG}}}} {{{{secret.files: BINARY}}}} {{{{secret.files: ../app.yaml}}}}
    {{{{secret.files: GONE}}}} {{{{secret.tem: x}}}}
    {{{{secret.team: apps/github#token}}}} {{{{secret.team: apps/github#number}}}} {{{{secret.team: apps/github#gone}}}}
    {{{{secret.team: gone}}}} {{{{secret.team: rubbish}}}} {{{{secret.team: a/../b}}}}
    {{{{secret.wrong: apps/github#token}}}} {{{{secret.down: a}}}} {{{{secret.unset: a}}}} {{{{secret.NOWHERE}}}}
    {{{{secret.cmd: [printf, "a%s", from]}}}} {{{{secret.cmd: [sh, -c, "echo why >&2; exit 3"]}}}} {{{{secret.cmd: [no-such-program]}}}}
    {{{{secret.cmd: ["true"]}}}}
"#
    );
    let app = app(folder.path(), &text, false);
    let told = origins(&app).replace(&address.to_string(), "ADDRESS");
    insta::assert_snapshot!(told);
    assert!(
        ["from-dotenv", "from-file", "from-vault", "afrom"].iter().all(|value| !told.contains(value))
            && !told.contains("root-token-1")
            && !told.contains("denied; other-token"),
        "no value is told"
    );
    insta::assert_snapshot!(
        app.file.providers.warnings().join("\n").replace(&folder.path().display().to_string(), "FOLDER")
    );
    serving.abort();
}

#[test]
fn a_secret_stands_wherever_a_variable_may_and_is_masked() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("SHOP"), "canary-9131\n").unwrap();
    let text = r#"
secrets: [{type: files, path: .}]
agents: [{id: a, brain: {provider: openai, model: m, api_key: "{{secret.SHOP}}"}}]
serve: {tokens: [{name: ci, token: "{{secret.SHOP}}-as-long-as-tokens-are"}]}
tools:
  registry:
    - {type: mcp, namespace: far, url: "http://127.0.0.1:9/", headers: {Authorization: "Bearer {{secret.SHOP}}"}}
    - {type: mcp, namespace: near, command: [server], env: {TOKEN: "{{secret.SHOP}}"}}
    - {type: mcp, namespace: off, url: "http://127.0.0.1:9/", headers: {Authorization: "Bearer {{secret.GONE}}"}}
    - {type: mcp, namespace: plain, command: [echo, "{{name}} {{{{secret.SHOP}}"]}
"#;
    let app = app(folder.path(), text, false);
    let [far, near, off, plain] = app.resolved.registry.as_slice() else { panic!("four entries") };
    assert_eq!(far.settings["headers"]["Authorization"], "Bearer canary-9131");
    assert_eq!(near.settings["env"]["TOKEN"], "canary-9131");
    assert_eq!(plain.settings["command"][1], "{{name}} {{secret.SHOP}}");
    assert!(far.unset.is_none() && near.unset.is_none() && plain.unset.is_none());
    let unset =
        off.unset.as_ref().unwrap().at("app.yaml").replace(&folder.path().display().to_string(), "FOLDER");
    insta::assert_snapshot!(unset);
    let clients = app.config.serve.clients(&app.file).unwrap();
    assert_eq!(clients[0].token.expose(), "canary-9131-as-long-as-tokens-are");
    assert_eq!(app.secrets().redactor().redact("it is canary-9131"), "it is [secret SHOP]");
}

#[test]
fn a_value_is_read_once_for_each_reading_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"tools: {registry: [{type: mcp, namespace: a, command: [x], env: {A: "{{secret.cmd: [sh, -c, 'echo ran >> runs; echo value-$(grep -c ran runs)']}}", B: "{{secret.cmd: [sh, -c, 'echo ran >> runs; echo value-$(grep -c ran runs)']}}"}}]}"#;
    for value in ["value-1", "value-2"] {
        let app = app(folder.path(), text, false);
        assert_eq!(app.resolved.registry[0].settings["env"]["A"], value);
        assert_eq!(app.resolved.registry[0].settings["env"]["B"], value);
    }
}

#[test]
fn the_file_of_variables_is_read_where_the_program_or_the_app_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".env"), "TOOLCRIB_TEST_C=here-it-is\nCARGO_PKG_NAME=no-override\n")
        .unwrap();
    let text = "app: {workspace: '${TOOLCRIB_TEST_C:-none}/${CARGO_PKG_NAME}'}";
    let workspace = |app: &App| app.file.workspace().unwrap().strip_prefix(folder.path()).unwrap().to_owned();
    let package = env!("CARGO_PKG_NAME");
    assert_eq!(workspace(&app(folder.path(), text, true)), std::path::Path::new("here-it-is").join(package));
    assert_eq!(workspace(&app(folder.path(), text, false)), std::path::Path::new("none").join(package));
    let named = format!("secrets: [{{type: dotenv}}]\n{text}");
    assert_eq!(
        workspace(&app(folder.path(), &named, false)),
        std::path::Path::new("here-it-is").join(package)
    );
    let none = format!("secrets: []\n{text}");
    assert_eq!(workspace(&app(folder.path(), &none, true)), std::path::Path::new("none").join(package));
}

#[test]
fn mistakes_in_the_section_are_said_at_their_places() {
    let wrong = |section: &str| {
        crate::Blueprint::from_text("app.yaml", &format!("secrets: {section}")).unwrap_err().to_string()
    };
    let sections = [
        "[{type: vaul}]",
        "[{type: files}]",
        "[{type: files, path: a, nam: b}]",
        "[{type: files, path: a}, {type: files, path: b}]",
        "[{type: files, path: a, name: cmd}]",
        "[{type: files, path: a, name: 'a b'}]",
        "[{type: vault, url: 'http://h', token: a, token_file: b}]",
        "[{type: vault, url: 'vault.example', token: a}]",
    ];
    insta::assert_snapshot!(sections.map(wrong).join("\n"));
}

#[tokio::test]
async fn a_command_that_hangs_or_prints_too_much_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let command =
        |words: &[&str]| SecretCommand::new(words.iter().map(|&word| word.into()).collect(), folder.path());
    let hanging = command(&["sleep", "600"]).with_timeout(Duration::from_millis(50));
    assert_eq!(hanging.run().await.unwrap_err(), "has not ended after 50ms");
    let long = command(&["sh", "-c", "head -c 20000 /dev/zero | tr '\\0' a"]).run().await.unwrap_err();
    assert_eq!(long, "printed no key: expected text of at most 16384 bytes");
}

#[test]
fn a_keyring_that_cannot_be_used_is_an_error_of_its_secrets_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
secrets: [{type: keyring, name: desktop}]
app: {description: "{{secret.CARGO_PKG_NAME}} {{secret.desktop: CRM_TOKEN}}"}
"#;
    let told = origins(&app(folder.path(), text, false));
    assert!(told.contains("CARGO_PKG_NAME: the environment\n"), "{told}");
    let reason = told.lines().find_map(|line| line.strip_prefix("desktop: CRM_TOKEN: error: ")).unwrap();
    if cfg!(not(feature = "keyring")) {
        assert_eq!(
            reason,
            "the secret `CRM_TOKEN` cannot be read from `desktop`: this program is built without the keyring; build it \
             with `--features keyring`, or ask the command of the keyring by `{{secret.cmd: [PROGRAM, ARGUMENT]}}`"
        );
    } else {
        // Nothing has stored such an entry.
        assert!(reason.starts_with("the secret `CRM_TOKEN` "), "{reason}");
    }
}
