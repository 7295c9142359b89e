//! A real model, where it and the library that runs it are there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Fixture, tool};
use crate::embedding::{EmbedError, Embedder, EmbeddingsEnrichment, FastEmbedder};

/// The folder of the model; `None` where it or the library is not there.
fn model() -> Option<PathBuf> {
    std::env::var_os("ORT_DYLIB_PATH")?;
    let shared = std::env::var_os("TOOLCRIB_SHARED")?;
    Some(Path::new(&shared).join("models/all-MiniLM-L6-v2-onnx-int8"))
}

fn likeness(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[tokio::test]
async fn tools_that_do_alike_point_alike() {
    let Some(folder) = model() else { return };
    let embedder = Arc::new(FastEmbedder::open(folder).unwrap());
    assert_eq!(embedder.dimension(), 384);
    let tools = [
        tool("delete_file", "Removes a file from the disk."),
        tool("erase_document", "Deletes a document from a folder."),
        tool("get_weather", "Current temperature and wind of a city."),
    ];
    let fixture = Fixture::new(EmbeddingsEnrichment::new(embedder.clone()), tools.to_vec());
    let (_, embeddings) = fixture.refresh().await;
    assert_eq!((embeddings.len(), embeddings.degraded()), (3, None));
    let [delete, erase, weather] = tools.each_ref().map(|tool| embeddings.of(tool).unwrap());
    assert!(likeness(delete, erase) > likeness(delete, weather) + 0.2);

    let alone = embedder.embed(&["a text"]).unwrap();
    let beside = embedder.embed(&["a text", "and a much longer one that stands beside it"]).unwrap();
    assert_eq!(alone[0], beside[0], "a vector does not depend on the texts beside");
}

#[tokio::test]
async fn a_model_that_is_broken_or_missing_leaves_the_tools_as_they_are() {
    let Some(folder) = model() else { return };
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    let whole = fs::read(folder.join("model.onnx")).unwrap();
    let onnx = copy.path().join("model.onnx");
    for bytes in [&whole[..whole.len() / 2], b"no model", b""] {
        fs::write(&onnx, bytes).unwrap();
        let error = FastEmbedder::open(copy.path()).unwrap_err();
        assert!(matches!(error, EmbedError::Model { .. }), "{error}");
        let fixture =
            Fixture::new(EmbeddingsEnrichment::degraded(error.clone()), vec![tool("read", "Reads.")]);
        let (snapshot, embeddings) = fixture.refresh().await;
        assert_eq!((snapshot.iter().len(), embeddings.degraded()), (1, Some(&error)));
    }
    fs::write(&onnx, &whole).unwrap();
    fs::write(copy.path().join("tokenizer.json"), "{").unwrap();
    assert!(matches!(FastEmbedder::open(copy.path()), Err(EmbedError::Model { .. })));
    fs::remove_file(&onnx).unwrap();
    assert!(matches!(FastEmbedder::open(copy.path()), Err(EmbedError::Model { .. })));
}

#[test]
fn without_the_folder_or_the_library_there_is_an_error_and_no_panic() {
    let error = FastEmbedder::open("no/such/folder").unwrap_err();
    assert!(matches!(error, EmbedError::Model { .. } | EmbedError::Library { .. }), "{error}");
}
