//! The example of tools in bash and Python, by the binary.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::Lab;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/exec-modules");

/// A lab with the files of the example.
fn lab() -> Lab {
    let files = [
        "app.yaml",
        "logs/toolcrib.yaml",
        "logs/count_levels.sh",
        "words/toolcrib.yaml",
        "words/most_frequent.py",
        "work/shop.log",
    ];
    files.iter().fold(Lab::new(), |lab, file| {
        lab.with_file(
            file,
            fs::read(Path::new(EXAMPLE).join(file)).unwrap_or_else(|error| panic!("{file}: {error}")),
        )
    })
}

async fn call(lab: &Lab, tool: &str, arguments: &Value, code: i32) -> Value {
    let arguments = arguments.to_string();
    lab.run(["call", "app.yaml", tool, &arguments, "--json"]).await.expect(code).json()
}

#[tokio::test]
async fn a_tool_in_bash_and_one_in_python_are_called_like_any_other() {
    let lab = lab();
    let levels = call(&lab, "logs.count_levels", &json!({"file": "shop.log"}), 0).await;
    assert_eq!(levels["result"], json!({"error": 2, "warning": 1, "info": 3}));
    let text = "Der Hund, der Kater – und DER Igel. \"Ende\"\n";
    let words = call(&lab, "text.most_frequent", &json!({"text": text, "count": 1}), 0).await;
    assert_eq!(words["result"], json!({"words": 8, "most_frequent": [{"word": "der", "times": 3}]}));
}

#[tokio::test]
async fn what_a_program_is_not_asked_rightly_or_cannot_do_is_told_as_data() {
    let lab = lab().with_file("secret.log", "ERROR secret\n");
    for (file, error) in [
        ("none.log", "no_such_file"),
        ("../secret.log", "outside_of_the_workspace"),
        (".", "outside_of_the_workspace"),
    ] {
        let result = call(&lab, "logs.count_levels", &json!({"file": file}), 1).await;
        assert_eq!(result["error"]["message"], error, "{file}: {result}");
    }
    let wrong = call(&lab, "text.most_frequent", &json!({"text": "x", "count": 0}), 2).await;
    assert_eq!(wrong["error"]["kind"], "invalid_args", "its schema is held to before it is started: {wrong}");
    let none = call(&lab, "text.most_frequent", &json!({"text": "…"}), 1).await;
    assert_eq!(none["error"]["message"], "no_words", "{none}");
}

#[tokio::test]
async fn its_tools_are_found_and_shown_and_what_may_not_be_started_is_told_with_its_place() {
    let lab = lab();
    let found = lab.run(["search", "app.yaml", "combien d'erreurs", "--json"]).await.expect(0).json();
    assert_eq!(found["results"][0]["name"], "logs.count_levels", "{found}");
    let app = lab.read("app.yaml").replace("[bash, python3]", "[bash]");
    let lab = lab.with_file("app.yaml", app);
    snapshot!(lab, lab.run(["validate", "app.yaml"]).await.report());
}
