//! A real model, where it and the library that runs it are there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Fixture, alike_tools_point_alike, tool};
use crate::embedding::{EmbedError, EmbeddingsEnrichment, FastEmbedder};

/// The folder of the model; `None` where it or the library is not there.
fn model() -> Option<PathBuf> {
    std::env::var_os("ORT_DYLIB_PATH")?;
    let shared = std::env::var_os("TOOLCRIB_SHARED")?;
    Some(Path::new(&shared).join("models/all-MiniLM-L6-v2-onnx-int8"))
}

#[tokio::test]
async fn tools_that_do_alike_point_alike() {
    let Some(folder) = model() else { return };
    alike_tools_point_alike(Arc::new(FastEmbedder::open(folder, None).unwrap())).await;
}

#[tokio::test]
async fn a_model_that_is_broken_or_missing_leaves_the_tools_as_they_are() {
    let Some(folder) = model() else { return };
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        fs::write(copy.path().join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
    }
    let whole = fs::read(folder.join("model.onnx")).unwrap();
    let onnx = copy.path().join("model.onnx");
    for bytes in [&whole[..whole.len() / 2], b"no model", b""] {
        fs::write(&onnx, bytes).unwrap();
        let error = FastEmbedder::open(copy.path(), None).unwrap_err();
        assert!(matches!(error, EmbedError::Model { .. }), "{error}");
        let fixture =
            Fixture::new(EmbeddingsEnrichment::degraded(error.clone()), vec![tool("read", "Reads.")]);
        let (snapshot, embeddings) = fixture.refresh().await;
        assert_eq!((snapshot.iter().len(), embeddings.degraded()), (1, Some(error)));
    }
    fs::write(&onnx, &whole).unwrap();
    fs::write(copy.path().join("tokenizer.json"), "{").unwrap();
    assert!(matches!(FastEmbedder::open(copy.path(), None), Err(EmbedError::Model { .. })));
    fs::remove_file(&onnx).unwrap();
    assert!(matches!(FastEmbedder::open(copy.path(), None), Err(EmbedError::Model { .. })));
}

#[test]
fn without_the_folder_or_the_library_there_is_an_error_and_no_panic() {
    let error = FastEmbedder::open("no/such/folder", None).unwrap_err();
    assert!(matches!(error, EmbedError::Model { .. } | EmbedError::Library { .. }), "{error}");
}

#[test]
fn a_library_that_is_none_is_told_with_its_place_and_the_next_is_tried() {
    // In this process another test may have loaded one already, which stays.
    let folder = tempfile::tempdir().unwrap();
    let name = format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    fs::write(folder.path().join(&name), "no library").unwrap();
    match crate::embedding::load_library(Some(folder.path())) {
        Ok(library) => assert_ne!(library.path, folder.path().join(&name)),
        Err(error) => assert!(error.to_string().contains(&name), "{error}"),
    }
}

#[test]
fn a_named_model_that_was_not_fetched_says_how_to_fetch_it() {
    let folder = tempfile::tempdir().unwrap();
    let error = FastEmbedder::open_named("all-MiniLM-L6-v2", folder.path(), None).unwrap_err();
    assert!(error.to_string().contains("`toolcrib models pull all-MiniLM-L6-v2` fetches it"), "{error}");
    let error = FastEmbedder::open_named("no-such-model", folder.path(), None).unwrap_err();
    assert!(error.to_string().contains("toolcrib models list"), "{error}");
}
