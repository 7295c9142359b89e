//! Vectors that are made while tools are searched and change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use toolcrib_model::Tool;

use super::super::{BATCH, EmbedError, Embedder, Embeddings, EmbeddingsEnrichment, Progress};
use super::{Fault, Fixture, Words, counts, of, tool};
use crate::{SearchIndex, SearchOptions};

#[tokio::test]
async fn words_find_tools_while_vectors_are_being_made() {
    let words = Words::new(Fault::None);
    let total = BATCH + 1;
    let tools = (0..total).map(|number| tool(&format!("t{number}"), "Counts sheep.")).collect();
    let fixture = Fixture::new(EmbeddingsEnrichment::new(words.clone()), tools);
    words.hold(true);
    let (snapshot, embeddings) = fixture.begin().await;
    assert!(embeddings.vectors().is_none());
    assert_eq!(embeddings.degraded(), Some(EmbedError::Unfinished { left: total }));
    assert_eq!(embeddings.progress(), Progress { done: 0, total });
    let index = SearchIndex::build(snapshot.iter().map(|entry| entry.tool.as_ref())).unwrap();
    assert!(!index.search("sheep", &SearchOptions::default()).hits.is_empty());
    words.hold(false);
    embeddings.finished().await;
    assert_eq!((counts(&embeddings), embeddings.degraded()), ((total, total), None));
    assert_eq!(embeddings.progress(), Progress { done: total, total });
}

#[tokio::test]
async fn a_refresh_meanwhile_leaves_each_generation_its_own_vectors() {
    let words = Words::new(Fault::None);
    let fixture = Fixture::new(
        EmbeddingsEnrichment::new(words.clone()),
        vec![tool("same", "Stays."), tool("changed", "Was so."), tool("old", "Goes.")],
    );
    words.hold(true);
    let (_first, old) = fixture.begin().await;
    fixture.offer(vec![tool("same", "Stays."), tool("changed", "Is so."), tool("new", "Comes.")]);
    let (_second, new) = fixture.begin().await;
    words.hold(false);
    old.finished().await;
    new.finished().await;
    let names = |embeddings: &Embeddings| -> Vec<String> {
        embeddings.vectors().unwrap().names().iter().map(|name| name.name().to_owned()).collect()
    };
    assert_eq!(names(&old), ["changed", "old", "same"]);
    assert_eq!(names(&new), ["changed", "new", "same"]);
    let changed = tool("changed", "");
    assert_ne!(of(&old, &changed), of(&new, &changed));
    let mut given = words.given();
    given.sort();
    let expected = ["changed\nIs so.", "changed\nWas so.", "new\nComes.", "old\nGoes.", "same\nStays."];
    assert_eq!(given, expected, "each once");
}

#[tokio::test]
async fn the_newest_generation_comes_first_and_one_that_nobody_holds_is_given_up() {
    let words = Words::new(Fault::None);
    let many = |word: &str| -> Vec<Tool> {
        (0..3 * BATCH).map(|number| tool(&format!("{word}{number}"), "Counts.")).collect()
    };
    let fixture = Fixture::new(EmbeddingsEnrichment::new(words.clone()), many("old"));
    words.hold(true);
    let first = fixture.begin().await;
    // The first batch is under way.
    words.calls.subscribe().wait_for(|calls| *calls == 1).await.unwrap();
    fixture.offer(many("new"));
    let (_second, new) = fixture.begin().await;
    drop(first);
    words.hold(false);
    new.finished().await;
    let given = words.given();
    assert_eq!(given.len(), 4 * BATCH);
    assert!(given.iter().skip(BATCH).all(|text| text.starts_with("new")));
}

/// What the tools of a generation say.
fn generation(number: usize) -> Vec<Tool> {
    (0..20).map(|tool_number| tool(&format!("t{tool_number}"), &format!("Is of {}.", number * 7))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn searches_while_tools_change_see_one_generation_each() {
    const TASKS: usize = 64;
    const CHANGES: usize = 100;
    let words = Words::new(Fault::None);
    let fixture = Arc::new(Fixture::new(EmbeddingsEnrichment::new(words.clone()), generation(0)));
    let (_, embeddings) = fixture.refresh().await;
    assert!(embeddings.vectors().is_some());
    let (is_over, by_vector) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let search = || {
        let (fixture, words) = (fixture.clone(), words.clone());
        let (is_over, by_vector) = (is_over.clone(), by_vector.clone());
        async move {
            while !is_over.load(Ordering::Relaxed) {
                let snapshot = fixture.registry.snapshot();
                let embeddings = snapshot.artifacts().get::<Embeddings>(Embeddings::KEY).unwrap();
                if let Some(vectors) = embeddings.vectors() {
                    let query = vectors.query("Is of").unwrap();
                    for (row, _) in vectors.index().search(&query, 5, &|_| true) {
                        let name = &vectors.names()[row as usize];
                        let said = &snapshot.get(name).unwrap().first().unwrap().tool.description;
                        let text = format!("{}\n{said}", name.name());
                        let expected = super::super::vectors::embed(words.as_ref(), &[&text]).unwrap();
                        let exact = expected[0].as_ref().unwrap();
                        let cosine: f32 =
                            vectors.of(name).unwrap().iter().zip(exact).map(|(one, other)| one * other).sum();
                        assert!(cosine > 0.99, "a vector of another generation: {cosine} {text}");
                    }
                    by_vector.fetch_add(1, Ordering::Relaxed);
                } else {
                    let error = embeddings.degraded();
                    // They may have come meanwhile.
                    let is_there = embeddings.vectors().is_some();
                    assert!(is_there || matches!(error, Some(EmbedError::Unfinished { .. })), "{error:?}");
                }
                tokio::task::yield_now().await;
            }
        }
    };
    let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(search())).collect();
    for change in 1..=CHANGES {
        fixture.offer(generation(change));
        let (_, embeddings) = fixture.begin().await;
        if change % 10 == 0 {
            embeddings.finished().await;
        }
    }
    let (_, last) = fixture.refresh().await;
    is_over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    assert!(by_vector.load(Ordering::Relaxed) > 0);
    assert_eq!((counts(&last).0, last.degraded()), (20, None));
    assert_eq!(words.dimension(), last.vectors().unwrap().index().dimension());
}
