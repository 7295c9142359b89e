//! The search tiers with a model, by the binary: with the real library and model, and with each of them wrong.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::serve::client::Served;
use crate::support::{RunOutput, TestDir, onnx};

const LIBRARY: &str = "ORT_DYLIB_PATH";

/// What stands in for a library of another version: it exports what is looked for, and says how old it is.
const OLD_LIBRARY: &str = r#"
static const char *version(void) { return "1.4.0"; }
static const void *api(unsigned number) { (void)number; return 0; }
static const struct { const void *(*api)(unsigned); const char *(*version)(void); } base = {api, version};
const void *OrtGetApiBase(void) { return &base; }
"#;

fn dir(model: &Path) -> TestDir {
    lab_of("fastembed", model)
}

fn lab_of(tier: &str, model: &Path) -> TestDir {
    let search = format!("search: {{tier: {tier}, model_dir: '{}'}}", model.display());
    TestDir::with_app(&format!(
        "modules: {{hello: {{}}, filesystem: {{}}}}\ntools:\n  capabilities: {{default_policy: grant}}\n  {search}\n"
    ))
}

async fn search(dir: &TestDir) -> (Value, RunOutput) {
    let output = dir.run(["search", "app.yaml", "read a text file", "--json"]).await.expect(0);
    let found = output.json();
    assert_eq!(found["results"][0]["name"], "filesystem.read", "{output:#?}");
    (found, output)
}

async fn check(dir: &TestDir, name: &str) -> Value {
    let doctor = dir.run(["doctor", "app.yaml", "--json"]).await.expect(0).json();
    let checks = doctor["checks"].as_array().unwrap().clone();
    checks.into_iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {doctor}"))
}

#[tokio::test]
async fn a_model_of_ones_own_finds_by_meaning() {
    let Some((library, model)) = onnx() else { return };
    let dir = dir(&model).with_variable(LIBRARY, &library);
    let (found, _) = search(&dir).await;
    assert_eq!((&found["engine"], &found["degraded"]), (&json!("hybrid"), &json!(false)));
    let tier = check(&dir, "search tier fastembed").await;
    assert_eq!(tier["status"], "ok");
    assert!(
        tier["detail"].as_str().unwrap().contains(LIBRARY),
        "it says which library, and why that: {tier}"
    );
    let app = check(&dir, "app search").await;
    assert!(app["detail"].as_str().unwrap().contains("all-MiniLM-L6-v2"), "{app}");
}

#[tokio::test]
async fn a_model_finds_by_meaning_without_another_library() {
    let Some((_, model)) = onnx() else { return };
    let dir = lab_of("model", &model).with_variable(LIBRARY, "/no/such/library.so");
    let (found, _) = search(&dir).await;
    assert_eq!((&found["engine"], &found["degraded"]), (&json!("hybrid"), &json!(false)));
    let app = check(&dir, "app search").await;
    assert!(app["detail"].as_str().unwrap().contains("all-MiniLM-L6-v2"), "{app}");
}

/// A server of the model in the folder, with the paths of a model hub, and its address.
async fn hub(model: &Path) -> String {
    let repository = "Xenova/all-MiniLM-L6-v2";
    let files = fs::read_dir(model).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let place = if name == "model.onnx" { "onnx/model_quantized.onnx".to_owned() } else { name };
        (place, fs::read(entry.path()).unwrap())
    });
    let files: Vec<(String, Vec<u8>)> = files.collect();
    let listed = files.iter().map(|(place, bytes)| json!({"path": place, "size": bytes.len()}));
    let listed = serde_json::to_vec(&listed.collect::<Vec<_>>()).unwrap();
    let mut pages = vec![
        (format!("/api/models/{repository}/revision/main"), br#"{"sha": "abc1"}"#.to_vec()),
        (format!("/api/models/{repository}/tree/abc1"), listed),
    ];
    pages.extend(
        files.into_iter().map(|(place, bytes)| (format!("/{repository}/resolve/abc1/{place}"), bytes)),
    );
    let app = pages.into_iter().fold(axum::Router::new(), |app, (path, bytes)| {
        app.route(&path, axum::routing::get(move || async move { bytes }))
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    format!("http://{address}")
}

#[tokio::test]
async fn a_model_is_fetched_then_chosen_for_an_app_and_answers_its_searches_by_either_engine() {
    let Some((library, model)) = onnx() else { return };
    let app = "
modules: {filesystem: {}} # files
tools:
  capabilities: {default_policy: grant}
serve: {surface: discovery}
";
    let dir = TestDir::with_app(app)
        .with_variable(LIBRARY, &library)
        .with_variable("HF_ENDPOINT", hub(&model).await);
    let missing = dir.run(["models", "use", "AllMiniLML6V2Q", "app.yaml"]).await.expect(1);
    assert!(missing.stderr.contains("fetches it"), "it is not fetched by itself: {missing:#?}");
    let pulled = dir.run(["models", "pull", "AllMiniLML6V2Q"]).await.expect(0);
    assert!(pulled.stdout.contains("AllMiniLML6V2Q is in "), "{pulled:#?}");
    for tier in ["model", "fastembed"] {
        dir.run(["models", "use", "AllMiniLML6V2Q", "app.yaml", "--tier", tier]).await.expect(0);
        let text = dir.read("app.yaml");
        let settings = format!("  search:\n    tier: {tier}\n    model: AllMiniLML6V2Q\n");
        assert!(text.contains(&settings), "{text}");
        assert!(text.contains("# files\n"), "comments stay: {text}");
        let (found, _) = search(&dir).await;
        assert_eq!((&found["engine"], &found["degraded"]), (&json!("hybrid"), &json!(false)), "{tier}");
        let served = Served::start(&dir, &[]).await;
        let query = json!({"name": "search_tools", "arguments": {"query": "read a text file"}});
        let answer = served.modern(&[], "tools/call", query).await.to_string();
        assert!(answer.contains("filesystem.read(") && !answer.contains("degraded"), "{tier}: {answer}");
    }
}

#[tokio::test]
async fn an_app_file_is_changed_only_for_a_model_that_works() {
    let Some((_, model)) = onnx() else { return };
    let app = "tools: {registry: []}\n";
    let dir = TestDir::with_app(app)
        .with_file("broken/model.onnx", "no model")
        .with_file("broken/tokenizer.json", "{}");
    let broken = dir.run(["models", "use", "broken", "app.yaml"]).await.expect(1);
    assert!(broken.stderr.contains("broken"), "{broken:#?}");
    assert_eq!(dir.read("app.yaml"), app);
    let folder = model.display().to_string();
    let dir = dir.with_file("app.yaml", "tools: {search: keyword}\n");
    let told = dir.run(["models", "use", &folder, "app.yaml"]).await.expect(2);
    assert!(
        told.stderr.contains("set this in `tools.search` by hand:\n{tier: model, model_dir: "),
        "{told:#?}"
    );
    assert_eq!(dir.read("app.yaml"), "tools: {search: keyword}\n");
}

#[tokio::test]
async fn an_evaluation_with_a_model_is_one_of_that_model_or_fails() {
    let Some((library, model)) = onnx() else { return };
    let dir = TestDir::new()
        .with_file(
            "tools.json",
            r#"[{"namespace": "files", "name": "remove", "description": "Deletes a file."}]"#,
        )
        .with_file("queries.jsonl", "{\"query\": \"erase a document\", \"relevant\": [\"files::remove\"]}\n")
        .with_variable(LIBRARY, &library);
    let evaluate = async |tier: &str, folder: &Path, code: i32| {
        let folder = folder.display().to_string();
        let words = ["eval", "--tools", "tools.json", "--queries", "queries.jsonl", "--json"];
        let tier = ["--tier", tier, "--model-dir", &folder];
        dir.run_words(&[&words[..], &tier].concat()).await.expect(code).json()
    };
    for (tier, engine) in [("fastembed", "hybrid onnx:"), ("model", "hybrid rten:")] {
        let report = evaluate(tier, &model, 0).await;
        assert!(report["engine"].as_str().unwrap().starts_with(engine), "{report}");
        assert_eq!(report["hit@1"], json!(1.0), "{report}");
        let missing = evaluate(tier, Path::new("no/such/folder"), 1).await;
        assert!(missing["error"]["message"].as_str().unwrap().contains("no/such/folder"), "{missing}");
    }
}

#[tokio::test]
async fn without_the_library_the_builtin_table_serves_and_the_doctor_says_what_to_do() {
    let Some((_, model)) = onnx() else { return };
    let missing = dir(&model).with_variable(LIBRARY, "/no/such/library.so");
    let old = dir(&model).with_file("old.c", OLD_LIBRARY);
    let compiled = old
        .command("cc", &old.path(""))
        .args(["-shared", "-fPIC", "-o", "old.so", "old.c"])
        .stdout(Stdio::inherit())
        .status()
        .await
        .expect("the C compiler that Rust links with");
    assert!(compiled.success());
    let path = old.path("old.so").display().to_string();
    let old = old.with_variable(LIBRARY, path);
    for (dir, said) in [(missing, "/no/such/library.so"), (old, "got '1.4.0'")] {
        let (found, output) = search(&dir).await;
        assert_eq!((&found["engine"], &found["degraded"]), (&json!("hybrid"), &json!(true)), "{said}");
        assert!(output.stderr.contains(said), "{output:#?}");
        let tier = check(&dir, "search tier fastembed").await;
        assert_eq!(tier["status"], "missing");
        assert!(tier["detail"].as_str().unwrap().contains(said), "{tier}");
        assert!(tier["next"].as_str().unwrap().contains("pip install onnxruntime"), "{tier}");
        let app = check(&dir, "app search").await;
        assert_eq!(app["status"], "failed");
        assert!(app["next"].as_str().unwrap().contains("builtin"), "{app}");
    }
}

#[tokio::test]
async fn with_a_model_that_is_truncated_or_missing_the_builtin_table_serves() {
    let Some((library, model)) = onnx() else { return };
    let copy = TestDir::new();
    for entry in fs::read_dir(&model).unwrap() {
        let entry = entry.unwrap();
        // Not a copy of the file, which would be as read-only as it.
        fs::write(copy.path("home").join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
    }
    let onnx = copy.path("home/model.onnx");
    let whole = fs::read(&onnx).unwrap();
    fs::write(&onnx, &whole[..whole.len() / 2]).unwrap();
    for folder in [copy.path("home"), copy.path("none")] {
        for tier in ["fastembed", "model"] {
            let dir = lab_of(tier, &folder).with_variable(LIBRARY, &library);
            let (found, output) = search(&dir).await;
            assert_eq!((&found["engine"], &found["degraded"]), (&json!("hybrid"), &json!(true)));
            assert!(output.stderr.contains(folder.to_str().unwrap()), "it says which model: {output:#?}");
        }
    }
}

#[tokio::test]
async fn a_named_model_says_how_it_is_fetched_and_fetching_it_offline_ends_with_5() {
    let Some((library, _)) = onnx() else { return };
    let app = "modules: {filesystem: {}}\ntools: {search: {tier: fastembed, model: all-MiniLM-L6-v2}}\n";
    let dir = TestDir::with_app(app)
        .with_variable(LIBRARY, &library)
        .with_variable("HF_ENDPOINT", "http://127.0.0.1:1");
    let (_, output) = search(&dir).await;
    assert!(output.stderr.contains("`toolcrib models pull all-MiniLM-L6-v2` fetches it"), "{output:#?}");
    dir.run(["models", "pull", "all-MiniLM-L6-v2"]).await.expect(5);
    let models = check(&dir, "search models").await;
    assert_eq!(models["status"], "missing", "a model that did not come is not there: {models}");
    let unknown = dir.run(["models", "pull", "no-such-model", "--json"]).await.expect(2).json();
    assert!(unknown["error"]["message"].as_str().unwrap().contains("toolcrib models list"), "{unknown}");
}

#[tokio::test]
async fn the_models_that_have_a_name_are_listed_each_by_a_name_of_its_own() {
    if onnx().is_none() {
        return;
    }
    let dir = TestDir::new();
    let listed = dir.run(["models", "list", "--json"]).await.expect(0).json();
    let models = listed["models"].as_array().unwrap();
    let mut names: Vec<&str> = models.iter().map(|model| model["name"].as_str().unwrap()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(count > 10 && names.len() == count, "{names:?}");
    let told = dir.run(["models", "list"]).await.expect(0);
    assert!(told.stdout.contains("paraphrase-multilingual-MiniLM-L12-v2"), "{told:#?}");
}
