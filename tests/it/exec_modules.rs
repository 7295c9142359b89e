//! The example of tools in bash and Python, by the binary.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::TestDir;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/exec-modules");

/// A dir with the files of the example.
fn dir() -> TestDir {
    let files = [
        "app.yaml",
        "logs/toolcrib.yaml",
        "logs/count_levels.sh",
        "words/toolcrib.yaml",
        "words/most_frequent.py",
        "work/shop.log",
    ];
    files.iter().fold(TestDir::new(), |dir, file| {
        dir.with_file(
            file,
            fs::read(Path::new(EXAMPLE).join(file)).unwrap_or_else(|error| panic!("{file}: {error}")),
        )
    })
}

async fn call(dir: &TestDir, tool: &str, arguments: &Value, code: i32) -> Value {
    let arguments = arguments.to_string();
    dir.run(["call", "app.yaml", tool, &arguments, "--json"]).await.expect(code).json()
}

#[tokio::test]
async fn a_tool_in_bash_and_one_in_python_are_called_like_any_other() {
    let dir = dir();
    let levels = call(&dir, "logs.count_levels", &json!({"file": "shop.log"}), 0).await;
    assert_eq!(levels["result"], json!({"error": 2, "warning": 1, "info": 3}));
    let text = "Der Hund, der Kater – und DER Igel. \"Ende\"\n";
    let words = call(&dir, "text.most_frequent", &json!({"text": text, "count": 1}), 0).await;
    assert_eq!(words["result"], json!({"words": 8, "most_frequent": [{"word": "der", "times": 3}]}));
}

#[tokio::test]
async fn what_a_program_is_not_asked_rightly_or_cannot_do_is_told_as_data() {
    let dir = dir().with_file("secret.log", "ERROR secret\n");
    for (file, error) in [
        ("none.log", "no_such_file"),
        ("../secret.log", "outside_of_the_workspace"),
        (".", "outside_of_the_workspace"),
    ] {
        let result = call(&dir, "logs.count_levels", &json!({"file": file}), 1).await;
        assert_eq!(result["error"]["message"], error, "{file}: {result}");
    }
    let wrong = call(&dir, "text.most_frequent", &json!({"text": "x", "count": 0}), 2).await;
    assert_eq!(wrong["error"]["kind"], "invalid_args", "its schema is held to before it is started: {wrong}");
    let none = call(&dir, "text.most_frequent", &json!({"text": "…"}), 1).await;
    assert_eq!(none["error"]["message"], "no_words", "{none}");
}

#[tokio::test]
async fn its_tools_are_found_and_shown_and_what_may_not_be_started_is_told_with_its_place() {
    let dir = dir();
    let found = dir.run(["search", "app.yaml", "combien d'erreurs", "--json"]).await.expect(0).json();
    assert_eq!(found["results"][0]["name"], "logs.count_levels", "{found}");
    let app = dir.read("app.yaml").replace("[bash, python3]", "[bash]");
    let dir = dir.with_file("app.yaml", app);
    snapshot!(dir, dir.run(["validate", "app.yaml"]).await.report());
}
