//! The tools of the built-in modules by the binary: they are found in the words of whoever wants them, and give what they
//! promise.

use serde_json::json;

use crate::support::TestDir;

/// The modules that the requests are searched in.
const APP: &str = "
app: {workspace: work}
modules: {filesystem: {}}
tools: {capabilities: {default_policy: grant}}
";

/// What people ask for, and the tool that is meant. Another module adds its own lines, and its name to [`APP`].
const REQUESTS: &[(&str, &str)] = &[
    ("lire un fichier", "filesystem.read"),
    ("afficher le contenu d'un fichier", "filesystem.read"),
    ("lister les fichiers d'un dossier", "filesystem.ls"),
    ("arborescence du projet", "filesystem.tree"),
    ("taille d'un fichier", "filesystem.stat"),
    ("trouver un fichier par son nom", "filesystem.find"),
    ("chercher dans les fichiers", "filesystem.grep"),
    ("écrire un fichier", "filesystem.write"),
    ("ajouter une ligne à un fichier", "filesystem.append"),
    ("remplacer du texte dans un fichier", "filesystem.edit"),
    ("créer un dossier", "filesystem.mkdir"),
    ("renommer un fichier", "filesystem.move"),
    ("copier un dossier", "filesystem.copy"),
    ("supprimer un fichier", "filesystem.delete"),
    ("effacer un dossier", "filesystem.delete"),
    ("read a file", "filesystem.read"),
    ("search for text in files", "filesystem.grep"),
    ("rename a file", "filesystem.move"),
    ("remove a folder", "filesystem.delete"),
];

/// An agent whose model says what was recorded.
const RECORDED: &str = "
agents:
  - id: main
    brain: {provider: openai, model: any, recording: turns.yaml}
";

/// What the model is given back has to have these texts in it.
const TURNS: &str = r#"
turns:
  - calls:
      - {name: filesystem.read, arguments: {path: pixel.gif}}
  - expect: [image/gif, handle, '"bytes":3000']
    text: It is a pixel.
"#;

/// The size of an image, in bytes: too much to be worth showing a model in letters.
const IMAGE_BYTES: usize = 3000;

/// What begins like an image and is that long.
fn image() -> Vec<u8> {
    let mut bytes = b"GIF89a\x01\0\x01\0\x80\0\0".to_vec();
    bytes.resize(IMAGE_BYTES, 0);
    bytes
}

#[tokio::test]
async fn a_request_in_french_or_english_finds_the_tool_that_is_meant() {
    let dir = TestDir::with_app(APP).with_file("work/todo.txt", "milk\nbread\n");
    let mut wrong = Vec::new();
    for (request, meant) in REQUESTS {
        let found = dir.run(["search", "app.yaml", request, "--json"]).await.expect(0).json();
        let first = found["results"][0]["name"].as_str().unwrap_or("nothing").to_owned();
        if first != *meant {
            wrong.push(format!("{request}: {first} instead of {meant}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn a_model_is_shown_an_image_as_a_handle_and_not_as_its_data() {
    let app = format!("{APP}{RECORDED}");
    let dir = TestDir::with_app(&app).with_file("work/pixel.gif", image()).with_file("turns.yaml", TURNS);
    let report = dir.run(["run", "app.yaml", "What is in the picture?", "--json"]).await.expect(0).json();
    assert_eq!(report["text"], "It is a pixel.", "{report}");
    let read = ["call", "app.yaml", "filesystem.read", r#"{"path": "pixel.gif"}"#, "--json"];
    let result = dir.run(read).await.expect(0).json();
    assert_eq!(result["result"]["mimeType"], json!("image/gif"), "a program is given all of it: {result}");
}
