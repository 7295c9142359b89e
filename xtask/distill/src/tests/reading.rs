//! What is read: the command line, the corpus, the cache.

use std::fs;
use std::path::Path;

use crate::arguments::{Arguments, Task};
use crate::corpus::Corpus;
use crate::multilingual::Recipe;
use crate::teacher::Cache;

fn task(line: &str) -> Result<Task, String> {
    Task::read(line.split_whitespace().map(str::to_owned)).map_err(|error| error.to_string())
}

fn arguments(line: &str) -> Result<Arguments, String> {
    match task(line)? {
        Task::English(arguments) => Ok(arguments),
        Task::Multilingual(recipe) => panic!("{recipe:?}"),
    }
}

#[test]
fn the_command_line_of_other_languages_is_read() {
    let recipe = Recipe { downloads: "d".into(), english: "e".into(), out: "o".into(), epochs: Some(2) };
    assert_eq!(task("multilingual d --english e --out o --epochs 2"), Ok(Task::Multilingual(recipe)));
    for (line, error) in [
        ("multilingual", "multilingual needs the folder of the packages"),
        ("multilingual d --teacher t", "there is no --teacher; "),
        ("multilingual d --epochs x", "--epochs: \"x\" is no number"),
    ] {
        assert!(task(line).unwrap_err().starts_with(error), "{line}");
    }
}

#[test]
fn the_command_line_is_read() {
    let read = arguments("--teacher t --corpus c --out o --cache k --epochs 2 --every 3").unwrap();
    let folders = [&read.teacher, &read.corpus, &read.out, &read.cache];
    assert_eq!(folders, ["t", "c", "o", "k"].map(Path::new));
    assert_eq!((read.epochs, read.every, arguments("").unwrap().epochs), (2, 3, 8));
    for (line, error) in [
        ("--what 1", "there is no --what; "),
        ("--every", "--every needs a value"),
        ("--every 0", "--every takes a number from 1 on"),
        ("--epochs x", "--epochs: \"x\" is no number"),
    ] {
        assert!(arguments(line).unwrap_err().starts_with(error), "{line}");
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// One document that may be used, one that names a licence under which it may not, one of a repository that nobody looked
/// at, one that is broken, and one that the list does not name.
fn write_documents(folder: &Path) {
    const PETS: &str =
        "paths:\n  /pets:\n    get:\n      summary: Lists pets.\n      parameters: [{name: petKind}]\n";
    let other = PETS.replace("pets", "trains");
    let licence = |name: &str, paths: &str| format!("info:\n  license: {{name: {name}}}\n{paths}");
    let known = "OAI/OpenAPI-Specification";
    let mut entries = Vec::new();
    for (file, repository, document) in [
        ("shared.yaml", known, licence("CC BY-NC-SA 4.0", &other)),
        ("pets.yaml", known, licence("MIT", PETS)),
        ("other.yaml", "somebody/else", other.clone()),
        ("broken.yaml", known, "paths: [".to_owned()),
    ] {
        write(folder, &format!("openapi/{file}"), &document);
        entries.push(serde_json::json!({"file": file, "repo": repository, "rev": "c", "operations": 1}));
    }
    write(folder, "openapi/index.json", &serde_json::Value::from(entries).to_string());
    write(folder, "openapi/unlisted.yaml", &other);
}

#[test]
fn the_corpus_has_tools_operations_and_requests_but_no_labelled_query() {
    let folder = tempfile::tempdir().unwrap();
    let tools = r#"[{"name": "getUser", "namespace": "n", "description": "Gets a user.", "parameters":
        {"type": "object", "properties": {"userId": {"type": "integer", "description": "Which one."}}}}]"#;
    for set in ["metatool", "seal_tools", "stabletoolbench", "bfcl"] {
        write(folder.path(), &format!("retrieval/{set}/tools.json"), tools);
        write(
            folder.path(),
            &format!("retrieval/{set}/queries.jsonl"),
            r#"{"id": "1", "query": "Secret one"}"#,
        );
        write(
            folder.path(),
            &format!("retrieval/{set}/meta.json"),
            r#"{"source": "o/r", "commit": "c", "license": "MIT", "n_tools": 1}"#,
        );
    }
    let requests = [("1", "Secret by id"), ("2", "Secret one "), ("3", "Who is it?")]
        .map(|(id, query)| format!(r#"{{"id": "{id}", "query": "{query}"}}"#));
    write(folder.path(), "retrieval/metatool/queries_all_single.jsonl", &requests.join("\n"));
    write_documents(folder.path());

    let corpus = Corpus::read(folder.path()).unwrap();
    let origins = serde_json::to_value(&corpus.origins).unwrap();
    assert_eq!(origins["bfcl"]["license"], "MIT");
    assert_eq!(origins["OAI/OpenAPI-Specification"]["license"], "Apache-2.0");
    assert_eq!(origins.as_object().unwrap().len(), 5, "{origins}");
    assert_eq!(
        corpus.left_out.iter().map(|(file, why)| format!("{file}: {why}")).collect::<Vec<_>>(),
        ["other.yaml: no licence is known of somebody/else", "shared.yaml: its licence is CC BY-NC-SA 4.0"]
    );
    let texts: Vec<&str> = corpus.texts.iter().map(|text| text.content.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Gets a user.",
            "get user\nGets a user.",
            "user id\nWhich one.",
            "get user\nGets a user.\nuser id\nWhich one.",
            "Lists pets.",
            "get pets\nLists pets.",
            "pet kind",
            "get pets\nLists pets.\npet kind",
            "Who is it?",
        ]
    );
    assert_eq!(corpus.counts().iter().map(|(_, count)| count).sum::<usize>(), texts.len());
    assert_eq!(corpus.digest(), Corpus::read(folder.path()).unwrap().digest());
}

#[test]
fn what_the_teacher_said_is_kept_and_a_torn_end_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/cache");
    let mut cache = Cache::open(&path).unwrap();
    cache.add(&[1], &[0.5, -0.5]).unwrap();
    cache.add(&[2], &[1.0, 2.0]).unwrap();
    assert!(cache.add(&[3], &[1.0]).is_err(), "of another width");
    cache.flush().unwrap();
    drop(cache);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let mut cache = Cache::open(&path).unwrap();
    assert_eq!((cache.width(), cache.holds(&[1]), cache.holds(&[2])), (2, true, false));
    cache.add(&[2], &[1.0, 2.0]).unwrap();
    cache.flush().unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
    assert_eq!(Cache::open(&path).unwrap().get(&[1]).unwrap(), [0.5, -0.5]);
}
