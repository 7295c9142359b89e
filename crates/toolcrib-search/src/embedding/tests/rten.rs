//! A real model, run by the program itself, where the model is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Fixture, alike_tools_point_alike, cosine, tool};
use crate::embedding::{EmbedError, Embedder, EmbeddingsEnrichment, FastEmbedder, RtenEmbedder};

/// Texts of many kinds: words, names, punctuation, accents, other scripts, longer than the model reads.
const TEXTS: [&str; 9] = [
    "a",
    "delete_file",
    "Removes a file from the disk.",
    "What's the weather in São Paulo tomorrow, and how much is 3.5 km² in acres?",
    "erstelle einen neuen Branch im Repository",
    "创建一个新分支",
    "погода завтра в Москве",
    "[MASK] <tag> {\"key\": [1, 2, 3]} \u{1f600}\u{200d}\u{1f525} \t\r\n",
    "internationalization of supercalifragilisticexpialidocious antidisestablishmentarianism",
];

/// The folder of the model, where it is there.
fn model() -> Option<PathBuf> {
    let shared = std::env::var_os("TOOLCRIB_SHARED")?;
    Some(Path::new(&shared).join("models/all-MiniLM-L6-v2-onnx-int8"))
}

/// A copy of the model, to be changed.
fn copy(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        fs::write(copy.path().join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
    }
    copy
}

#[tokio::test]
async fn without_another_library_tools_that_do_alike_point_alike() {
    let Some(folder) = model() else { return };
    alike_tools_point_alike(Arc::new(RtenEmbedder::open(folder).unwrap())).await;
}

#[test]
fn both_engines_give_the_same_vectors() {
    let (Some(folder), Some(_)) = (model(), std::env::var_os("ORT_DYLIB_PATH")) else { return };
    let fast = FastEmbedder::open(&folder, None).unwrap();
    let own = RtenEmbedder::open(&folder).unwrap();
    assert_ne!(own.id(), fast.id(), "vectors of one are not taken for vectors of the other");
    let long = TEXTS.join(" ").repeat(8);
    let texts: Vec<&str> = TEXTS.into_iter().chain([long.as_str(), ""]).collect();
    let (fast, own) = (fast.embed(&texts).unwrap(), own.embed(&texts).unwrap());
    for ((text, fast), own) in texts.iter().zip(fast).zip(own) {
        let cosine = cosine(&fast, &own);
        assert!(cosine > 0.999, "{cosine}: {text}");
    }
}

#[tokio::test]
async fn a_damaged_model_is_an_error_that_names_it_and_the_remedy() {
    let Some(folder) = model() else { return };
    let copy = copy(&folder);
    let onnx = copy.path().join("model.onnx");
    let whole = fs::read(&onnx).unwrap();
    let mut garbled = whole.clone();
    garbled[1 << 20..2 << 20].fill(0xa5);
    for bytes in [&whole[..whole.len() / 2], &whole[..100], b"no model", b""] {
        fs::write(&onnx, bytes).unwrap();
        let error = RtenEmbedder::open(copy.path()).unwrap_err();
        let told = error.to_string();
        assert!(told.contains(&copy.path().display().to_string()), "{told}");
        assert!(told.contains("copy or pull it again"), "{told}");
        let fixture =
            Fixture::new(EmbeddingsEnrichment::degraded(error.clone()), vec![tool("read", "Reads.")]);
        let (snapshot, embeddings) = fixture.refresh().await;
        assert_eq!((snapshot.iter().len(), embeddings.degraded()), (1, Some(error)));
    }
    // Damage inside of the weights changes vectors, but it is never the end of the program.
    fs::write(&onnx, &garbled).unwrap();
    drop(RtenEmbedder::open(copy.path()));
    fs::remove_file(&onnx).unwrap();
    let error = RtenEmbedder::open(copy.path()).unwrap_err();
    assert!(error.to_string().contains("model.onnx"), "{error}");
}

#[test]
fn a_tokenizer_of_another_model_is_an_error_when_the_model_is_opened() {
    let Some(folder) = model() else { return };
    let copy = copy(&folder);
    let path = copy.path().join("tokenizer.json");
    let mut tokenizer: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let vocabulary = tokenizer["model"]["vocab"].as_object_mut().unwrap();
    for number in vocabulary.len()..40_000 {
        vocabulary.insert(format!("token{number}"), json!(number));
    }
    fs::write(&path, tokenizer.to_string()).unwrap();
    let error = RtenEmbedder::open(copy.path()).unwrap_err();
    assert!(error.to_string().contains("take both from one model"), "{error}");

    for text in ["{", "", "[]", "{\"model\": {\"type\": \"WordPiece\"}}"] {
        fs::write(&path, text).unwrap();
        let error = RtenEmbedder::open(copy.path()).unwrap_err();
        assert!(error.to_string().contains("tokenizer.json"), "{error}");
    }
}

#[test]
fn only_the_model_and_its_tokenizer_are_needed() {
    let Some(folder) = model() else { return };
    let copy = copy(&folder);
    for file in ["config.json", "special_tokens_map.json", "tokenizer_config.json"] {
        fs::remove_file(copy.path().join(file)).unwrap();
    }
    let [whole, few] = [folder.as_path(), copy.path()].map(|folder| RtenEmbedder::open(folder).unwrap());
    assert_eq!(whole.embed(&TEXTS).unwrap(), few.embed(&TEXTS).unwrap());

    let missing = FastEmbedder::open(copy.path(), None).unwrap_err();
    assert!(matches!(missing, EmbedError::Model { .. } | EmbedError::Library { .. }), "{missing}");
}

#[test]
fn without_the_folder_or_the_download_the_error_says_what_is_missing() {
    let error = RtenEmbedder::open("no/such/folder").unwrap_err();
    assert!(error.to_string().contains("no/such/folder"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let error = RtenEmbedder::open_named("all-MiniLM-L6-v2", folder.path()).unwrap_err();
    assert!(error.to_string().contains("`toolcrib models pull all-MiniLM-L6-v2` fetches it"), "{error}");
}
