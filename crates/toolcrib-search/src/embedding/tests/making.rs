//! What is made, and what of faults.

use std::sync::Arc;

use serde_json::json;
use toolcrib_model::{QualifiedName, Tool};

use super::super::{BATCH, EmbedError, EmbeddingsEnrichment, MAX_EMBEDDED_BYTES, OpenedEmbedder};
use super::{Fault, Fixture, Words, counts, of, tool};

#[tokio::test]
async fn a_refresh_makes_vectors_of_what_is_new_or_changed_only() {
    let words = Words::new(Fault::None);
    let fixture = Fixture::new(
        EmbeddingsEnrichment::new(words.clone()),
        vec![tool("read", "Reads a file."), tool("write", "Writes a file."), tool("gone", "Goes.")],
    );
    let (_, embeddings) = fixture.refresh().await;
    assert_eq!((counts(&embeddings), embeddings.degraded()), ((3, 3), None));
    assert_eq!(words.given(), ["gone\nGoes.", "read\nReads a file.", "write\nWrites a file."]);

    let renamed = Tool::new(QualifiedName::new("other", "read").unwrap()).with_description("Reads a file.");
    let (read, changed) = (tool("read", "Reads a file."), tool("write", "Writes two files."));
    fixture.offer(vec![read.clone(), renamed.clone(), changed.clone()]);
    let (_, embeddings) = fixture.refresh().await;
    assert_eq!(words.given(), ["write\nWrites two files."]);
    assert_eq!(counts(&embeddings), (3, 1));
    assert_eq!(of(&embeddings, &renamed), of(&embeddings, &read));
    assert!(of(&embeddings, &changed).is_some());
    fixture.refresh().await;
    assert!(words.given().is_empty());

    fixture.offer(vec![tool("gone", "Goes.")]);
    fixture.refresh().await;
    assert_eq!(words.given(), ["gone\nGoes."], "what is gone is forgotten");
}

#[tokio::test]
async fn the_vector_of_a_tool_is_the_mean_of_those_of_its_texts() {
    let parameters = json!({"type": "object", "properties": {"path": {"description": "Where."}}});
    let read = tool("read", "Reads.").with_parameters(parameters);
    let words = Words::new(Fault::None);
    let fixture = Fixture::new(EmbeddingsEnrichment::new(words.clone()), vec![read.clone()]);
    let (_, embeddings) = fixture.refresh().await;
    let texts = words.given();
    assert_eq!(texts, ["read\nReads.", "read\nReads.\npath\nWhere."]);
    let vectors = embeddings.vectors().unwrap();
    let query = vectors.query("where is read").unwrap();
    let cosine = |text: &str| -> f32 {
        vectors.query(text).unwrap().iter().zip(&query).map(|(one, other)| one * other).sum()
    };
    let mean = f32::midpoint(cosine(&texts[0]), cosine(&texts[1]));
    let found = vectors.index().search(&query, 1, &|_| true);
    assert!(found[0].0 == 0 && (found[0].1 - mean).abs() < 0.01, "{found:?} {mean}");
}

#[tokio::test]
async fn overloads_of_one_name_share_a_vector() {
    let overload = |field: &str| {
        let parameters = json!({"type": "object", "properties": {field: {"type": "string"}}});
        tool("read", "Reads.").with_parameters(parameters)
    };
    let words = Words::new(Fault::None);
    let fixture =
        Fixture::new(EmbeddingsEnrichment::new(words.clone()), vec![overload("path"), overload("address")]);
    let (snapshot, embeddings) = fixture.refresh().await;
    assert_eq!((snapshot.iter().len(), counts(&embeddings)), (2, (1, 1)));
    assert_eq!(words.given(), ["read\nReads.", "read\nReads.\npath\naddress"]);
}

#[tokio::test]
async fn whatever_goes_wrong_the_tools_are_there_and_the_next_refresh_mends_it() {
    let nowhere = "the embedding model words gave a vector without direction for `odd\nIs odd.`";
    for (fault, error, others) in [
        (Fault::Fails, "the embedding model words failed: odd", false),
        (Fault::Panics, "the embedding model words panicked; this is a fault in its embedder", false),
        (Fault::TooFew, "the embedding model words gave 1 vectors for 2 texts", false),
        (Fault::TooShort, "the embedding model words gave a vector of 31 numbers, expected 32", true),
        (Fault::NotANumber, nowhere, true),
        (Fault::Infinite, nowhere, true),
        (Fault::Zeros, nowhere, true),
    ] {
        let words = Words::new(fault);
        let (fine, odd) = (tool("fine", "Is fine."), tool("odd", "Is odd."));
        let fixture = Fixture::new(EmbeddingsEnrichment::new(words.clone()), vec![fine.clone(), odd.clone()]);
        let (snapshot, embeddings) = fixture.refresh().await;
        assert_eq!(snapshot.iter().len(), 2, "{fault:?}");
        assert_eq!(embeddings.degraded().unwrap().to_string(), error, "{fault:?}");
        assert_eq!(embeddings.vectors().is_some(), others, "{fault:?}");
        assert_eq!((of(&embeddings, &fine).is_some(), of(&embeddings, &odd)), (others, None), "{fault:?}");
        if let Some(vectors) = embeddings.vectors() {
            assert!(vectors.query("what is odd").is_err(), "{fault:?}");
        }
        *words.fault.lock() = Fault::None;
        let (_, embeddings) = fixture.refresh().await;
        assert_eq!((counts(&embeddings).0, embeddings.degraded()), (2, None), "{fault:?}");
    }
}

#[tokio::test]
async fn an_embedder_that_could_not_be_opened_is_told_with_every_snapshot() {
    let error = EmbedError::Library { message: "it is not there".into() };
    for tools in [vec![], vec![tool("read", "Reads.")]] {
        let fixture = Fixture::new(EmbeddingsEnrichment::degraded(error.clone()), tools.clone());
        let (snapshot, embeddings) = fixture.refresh().await;
        assert_eq!(snapshot.iter().len(), tools.len());
        assert!(embeddings.degraded() == Some(error.clone()) && embeddings.vectors().is_none());
    }
    let panics = EmbeddingsEnrichment::lazy(|| std::panic::resume_unwind(Box::new("odd")));
    let (snapshot, embeddings) = Fixture::new(panics, vec![tool("read", "Reads.")]).refresh().await;
    assert_eq!((snapshot.iter().len(), embeddings.vectors().is_none()), (1, true));
    assert!(matches!(embeddings.degraded(), Some(EmbedError::Panicked { .. })));
}

#[tokio::test]
async fn an_embedder_in_place_of_another_makes_vectors_and_says_why_it_is_there() {
    let error = EmbedError::Library { message: "it is not there".into() };
    let opened = OpenedEmbedder { embedder: Some(Words::new(Fault::None)), fault: Some(error.clone()) };
    let enrichment = EmbeddingsEnrichment::lazy(move || opened.clone());
    let (_, embeddings) = Fixture::new(enrichment, vec![tool("read", "Reads.")]).refresh().await;
    assert_eq!((counts(&embeddings), embeddings.degraded()), ((1, 1), Some(error)));
}

#[tokio::test]
async fn the_text_of_a_tool_is_bounded() {
    let words = Words::new(Fault::None);
    let tools = vec![tool("long", &"ß".repeat(1 << 20))];
    let fixture = Fixture::new(EmbeddingsEnrichment::new(words.clone()), tools);
    let (_, embeddings) = fixture.refresh().await;
    assert_eq!((counts(&embeddings), embeddings.degraded()), ((1, 1), None));
    assert!(words.given().iter().all(|text| text.len() <= MAX_EMBEDDED_BYTES));
}

#[tokio::test]
async fn an_embedder_is_given_no_more_than_a_batch() {
    let words = Words::new(Fault::None);
    let tools: Vec<_> = (0..=2 * BATCH).map(|number| tool(&format!("t{number}"), "Counts.")).collect();
    let fixture = Fixture::new(EmbeddingsEnrichment::new(Arc::clone(&words) as Arc<_>), tools);
    let (_, embeddings) = fixture.refresh().await;
    assert_eq!(counts(&embeddings), (2 * BATCH + 1, 2 * BATCH + 1));
    assert_eq!(*words.largest.lock(), BATCH);
}
