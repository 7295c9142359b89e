//! Additions to the texts of app files.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib_app::Extensions;

use super::app::{appended, push, value};
use super::yaml_text::{block, flow};
use super::{AppEdit, CollectionStyle};
use crate::exit::Failure;

const GRANT: [&str; 3] = ["tools", "capabilities", "grant"];

fn server() -> Value {
    json!({"type": "mcp", "name": "notes", "command": ["npx", "-y", "a: b", "yes"], "env": {"TOKEN": "${TOKEN}"}})
}

fn rule() -> Value {
    json!({"module": "notes", "actions": ["write"]})
}

/// Appends a server and a rule to a file with this text.
fn edited(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.yaml");
    fs::write(&path, text).unwrap();
    let mut edit = AppEdit::open(&path).unwrap();
    edit.append(&["tools", "registry"], &server(), CollectionStyle::Block).unwrap();
    edit.append(&GRANT, &rule(), CollectionStyle::Flow).unwrap();
    edit.after().to_owned()
}

#[test]
fn an_addition_keeps_comments_order_and_layout() {
    let texts = [
        "app: {id: x} # the app\n\ntools:\n  # servers\n  registry:\n    - type: mcp   # one\n      name: a\n      \
         command: [a]\n    # behind a\n\n  capabilities:\n    default_policy: approve # asks\n",
        "tools:\n  registry:\n  - {type: mcp, name: a, command: [a]} # one\n  capabilities: {default_policy: grant, \
         grant: [{module: a}]}\n# end\n",
        "tools: {registry: [{type: mcp, name: a, command: [a]}]}\n",
        "app: {id: x}",
        "tools:\nserve: {}\n",
        "tools:\r\n  registry: []\r\nserve: {} # here\r\n",
        "tools:\n  registry: []   # none\n  # - {type: mcp}\n  capabilities: {grant: []}\n",
        "tools: {registry: []}\n",
    ];
    let edited: Vec<_> = texts.iter().map(|text| edited(text)).collect();
    insta::assert_snapshot!(edited.join("----\n"));
}

#[test]
fn every_app_file_of_the_repository_can_be_edited() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["examples", "crates/toolcrib-cli/starter", "tests/it", "benches"] {
        collect(&root.join(folder), &mut files);
    }
    assert!(files.len() >= 9, "{files:?}");
    for file in files {
        let before = fs::read_to_string(&file).unwrap();
        let Some(mut expected) = value(&before).filter(Value::is_object) else { continue };
        push(&mut expected, &GRANT, rule()).unwrap();
        let after = appended(&before, &GRANT, &flow(&rule())).unwrap();
        assert_eq!(value(&after), Some(expected), "{}", file.display());
        // Comments are not part of the value.
        let comments = |text: &str| text.matches('#').count();
        assert_eq!(comments(&after), comments(&before), "{}", file.display());
    }
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            collect(&path, files);
        } else if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("app.yaml")) {
            files.push(path);
        }
    }
}

#[test]
fn a_list_that_is_something_else_is_an_error_with_the_text_to_add() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.yaml");
    for text in ["tools: 3\n", "tools: {capabilities: {grant: everything}}\n"] {
        fs::write(&path, text).unwrap();
        let mut edit = AppEdit::open(&path).unwrap();
        let failure = edit.append(&GRANT, &rule(), CollectionStyle::Flow).unwrap_err();
        assert!(failure.message.contains("add this to `tools.capabilities.grant` by hand"), "{failure:?}");
        assert!(failure.message.ends_with("{module: notes, actions: [write]}"), "{failure:?}");
        assert_eq!(edit.after(), text);
    }
}

/// Chooses a model in a file with this text.
fn with_model(text: &str) -> Result<String, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.yaml");
    fs::write(&path, text).unwrap();
    let mut edit = AppEdit::open(&path)?;
    let settings = [("tier", json!("model")), ("model", json!("bge-small-en-v1.5"))];
    edit.set(&["tools", "search"], &settings, &["tier", "model", "model_dir"])?;
    Ok(edit.after().to_owned())
}

#[test]
fn settings_are_replaced_and_nothing_else_changes() {
    let texts = [
        "app: {id: a}",
        "tools:\n    registry: []   # none\n",
        "tools:\n  search: {tier: fastembed, model_dir: x, ranking: weighted}  # ours\n",
        "tools:\n  search:\n    # why\n    ranking: fused\n    tier: builtin\n  registry: []\n",
        "tools:\n  search:\n    synonyms: [[a, b]]\n",
        "tools: {registry: []}\n",
        "tools:\n  search:\n    model: >\n      folded\n      text\n  registry: []\n",
    ];
    let edited: Vec<_> = texts.iter().map(|text| with_model(text).unwrap()).collect();
    insta::assert_snapshot!(edited.join("----\n"));
    for text in ["tools: [", "- a list\n", "tools:\n  search: keyword\n"] {
        assert!(with_model(text).is_err(), "{text}");
    }
}

#[test]
fn a_file_that_changed_meanwhile_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.yaml");
    fs::write(&path, "modules: {hello: {}}\n").unwrap();
    let mut edit = AppEdit::open(&path).unwrap();
    edit.append(&GRANT, &rule(), CollectionStyle::Flow).unwrap();
    fs::write(&path, "modules: {}\n").unwrap();
    assert!(edit.write().unwrap_err().message.contains("has changed"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "modules: {}\n");
}

#[test]
fn an_addition_that_makes_the_app_invalid_is_found_before_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.yaml");
    fs::write(&path, "modules: {hello: {}}\n").unwrap();
    let mut edit = AppEdit::open(&path).unwrap();
    edit.append(&["tools", "registry"], &json!({"type": "mcq", "name": "a"}), CollectionStyle::Block)
        .unwrap();
    let error = edit.check(&Extensions::default()).unwrap_err().to_string();
    assert!(error.contains("app.yaml") && error.contains("mcq"), "{error}");
}

proptest::proptest! {
    #[test]
    fn every_text_is_read_back_as_it_was(text in ".{0,40}") {
        let item = json!({"a": text, "b": [text], "c": {text.as_str(): 1}});
        let wrapped = |inner: &str| format!("x:\n  {}\n", inner.trim_end().replace('\n', "\n  "));
        proptest::prop_assert_eq!(value(&wrapped(&block(&item))), Some(json!({"x": item})));
        proptest::prop_assert_eq!(value(&format!("x: {}\n", flow(&item))), Some(json!({"x": item})));
    }
}
