//! Fetching a model, from a server that is near.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;

use sha2::{Digest, Sha256};
use toolcrib_io::http::{HttpClient, HttpPolicy};
use url::Url;

use super::super::{EmbedError, NamedModel, pull};

const REPOSITORY: &str = "Xenova/paraphrase-multilingual-MiniLM-L12-v2";
const SMALL: [&str; 4] =
    ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

/// A server of files, in a thread that ends with the test.
fn serve(pages: BTreeMap<String, String>) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let line = lines.next().and_then(Result::ok).unwrap_or_default();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let path = line.split(' ').nth(1).unwrap_or_default();
            let answer = match pages.get(path) {
                Some(body) if body.starts_with("->") => {
                    format!(
                        "HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                        &body[2..]
                    )
                }
                Some(body) => {
                    format!(
                        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                        body.len()
                    )
                }
                None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(),
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

/// What the server has of the model, whose file is this.
fn pages(listed: &str, sent: &str) -> BTreeMap<String, String> {
    let mut files: Vec<_> =
        SMALL.iter().map(|file| serde_json::json!({"path": file, "size": file.len()})).collect();
    let digest = format!("{:x}", Sha256::digest(listed));
    files.push(serde_json::json!({"path": "onnx/model.onnx", "size": listed.len(), "lfs": {"oid": digest}}));
    let mut pages = BTreeMap::from([
        (format!("/api/models/{REPOSITORY}/revision/main"), r#"{"sha": "abc1"}"#.to_owned()),
        (
            format!("/api/models/{REPOSITORY}/tree/abc1?recursive=true"),
            serde_json::to_string(&files).unwrap(),
        ),
        (format!("/{REPOSITORY}/resolve/abc1/onnx/model.onnx"), "->/elsewhere".to_owned()),
        ("/elsewhere".to_owned(), sent.to_owned()),
    ]);
    for file in SMALL {
        pages.insert(format!("/{REPOSITORY}/resolve/abc1/{file}"), file.to_owned());
    }
    pages
}

async fn fetch(url: &Url, folder: &Path) -> Result<Vec<(String, u64, u64)>, EmbedError> {
    let policy = HttpPolicy { allow_private: true, ..HttpPolicy::default() };
    let client = HttpClient::new(policy).unwrap();
    let model = NamedModel::find("paraphrase-multilingual-minilm-l12-v2").unwrap();
    let mut seen = Vec::new();
    pull(&client, url, &model, folder, |step| seen.push((step.file.to_owned(), step.done, step.total)))
        .await?;
    Ok(seen)
}

#[tokio::test]
async fn a_model_is_fetched_once_with_its_progress_and_its_list() {
    let folder = tempfile::tempdir().unwrap();
    let url = serve(pages("weights", "weights"));
    let seen = fetch(&url, folder.path()).await.unwrap();
    assert_eq!(seen.first(), Some(&("onnx/model.onnx".to_owned(), 7, 7)));
    assert_eq!(seen.len(), 5);
    let model = NamedModel::find(REPOSITORY).unwrap().folder(folder.path());
    assert_eq!(fs::read_to_string(model.join("onnx/model.onnx")).unwrap(), "weights");
    assert_eq!(fetch(&url, folder.path()).await.unwrap(), [], "it is there");

    fs::write(model.join("onnx/model.onnx"), "weig").unwrap();
    assert_eq!(fetch(&url, folder.path()).await.unwrap().len(), 5, "it is not whole");
}

#[tokio::test]
async fn what_does_not_come_as_it_is_listed_is_not_kept() {
    for sent in ["wrights", "weight", "weights and more"] {
        let folder = tempfile::tempdir().unwrap();
        let error = fetch(&serve(pages("weights", sent)), folder.path()).await.unwrap_err();
        assert!(matches!(error, EmbedError::Model { .. }), "{error}");
        let model = NamedModel::find(REPOSITORY).unwrap().folder(folder.path());
        assert_eq!(fs::read_dir(model.join("onnx")).unwrap().count(), 0, "{sent}");
        assert!(!model.join("files.json").exists());
    }
}

#[tokio::test]
async fn a_server_without_the_model_or_with_nonsense_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let revision = format!("/api/models/{REPOSITORY}/revision/main");
    for pages in [
        BTreeMap::new(),
        BTreeMap::from([(revision.clone(), "{".to_owned())]),
        BTreeMap::from([(revision.clone(), r#"{"sha": "../.."}"#.to_owned())]),
        BTreeMap::from([(revision.clone(), format!("->{revision}"))]),
    ] {
        assert!(fetch(&serve(pages), folder.path()).await.is_err());
    }
}

#[tokio::test]
async fn an_address_of_the_private_network_is_refused_unless_it_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let url = serve(pages("weights", "weights"));
    let client = HttpClient::new(HttpPolicy::default()).unwrap();
    let model = NamedModel::find(REPOSITORY).unwrap();
    assert!(pull(&client, &url, &model, folder.path(), |_| {}).await.is_err());
}

#[test]
fn every_model_is_found_by_its_repository_and_what_there_is_not_is_an_error() {
    for model in NamedModel::all() {
        assert_eq!(NamedModel::find(model.repository()).unwrap().repository(), model.repository());
        assert_eq!(NamedModel::find(&model.own_name()).unwrap().own_name(), model.own_name());
    }
    let found = NamedModel::find("all-minilm-l12-v2").unwrap();
    assert_eq!(found.own_name(), "AllMiniLML12V2", "of two in one repository the one that is not quantized");
    assert!(NamedModel::find("no-such-model").is_err());
}
