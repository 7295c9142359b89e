//! How two arms become one ranking, and when there is no match.

use std::sync::Arc;

use toolcrib_model::Tool;

use super::{found, name, tool};
use crate::embedding::{EmbedError, Embedder, Embeddings};
use crate::{Outcome, Ranking, Reason, SearchIndex, SearchOptions, SearchSettings};

/// Knows a few subjects: each is a direction.
struct Subjects;

const SUBJECTS: &[&[&str]] =
    &[&["weather", "storm", "climate", "umbrella"], &["money", "invoice", "cash"], &["song", "tune"]];

impl Embedder for Subjects {
    fn id(&self) -> &'static str {
        "subjects"
    }

    fn dimension(&self) -> usize {
        SUBJECTS.len() + 2
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &&str| {
            let has = |words: &[&str]| words.iter().any(|word| text.to_lowercase().contains(word));
            let of = |words: &&[&str]| f32::from(u8::from(has(words)));
            SUBJECTS
                .iter()
                .map(of)
                .chain([0.1 - of(&(&["zirconium"] as &[&str])) / 10.0, of(&(&["zirconium"] as &[&str]))])
                .collect()
        };
        Ok(texts.iter().map(vector).collect())
    }

    fn coverage(&self, text: &str) -> f32 {
        f32::from(u8::from(text.is_ascii()))
    }
}

async fn index(ranking: Ranking) -> SearchIndex {
    let tools: Vec<Arc<Tool>> = [
        tool("a::umbrella", "Lends an umbrella."),
        tool("b::pay", "Pays an invoice."),
        tool("c::play", "Plays a tune to somebody."),
        tool("d::paint", "Paints a wall for somebody."),
        tool("e::天气", "天气"),
    ]
    .map(Arc::new)
    .into();
    let settings = SearchSettings { ranking, ..SearchSettings::default() };
    let index = SearchIndex::build_with(tools.iter().map(AsRef::as_ref), &settings).unwrap();
    assert_eq!(index.model(), None);
    let embeddings = Embeddings::of_tools(Arc::new(Subjects), &tools);
    embeddings.finished().await;
    index.attach(embeddings.vectors().unwrap());
    assert_eq!(index.model(), Some("subjects"));
    index
}

fn ask(index: &SearchIndex, query: &str) -> Outcome {
    index.search(query, &SearchOptions::default())
}

#[tokio::test]
async fn a_tool_is_found_by_what_it_means() {
    for ranking in [Ranking::Fused, Ranking::Weighted] {
        let index = index(ranking).await;
        let outcome = ask(&index, "climate");
        assert_eq!(found(&outcome)[0], "a::umbrella", "{ranking:?}");
        let explain = &outcome.hits[0].explain;
        assert!(explain.keyword.is_none() && explain.terms.is_empty());
        assert_eq!(explain.meaning.unwrap().rank, Some(1));
        assert_eq!(found(&ask(&index, "climate")), found(&outcome));
    }
}

#[tokio::test]
async fn words_and_meaning_count_together_and_names_before_both() {
    let index = index(Ranking::Fused).await;
    let outcome = ask(&index, "a song for somebody");
    assert_eq!(found(&outcome)[0], "c::play");
    let explain = &outcome.hits[0].explain;
    let (keyword, meaning) = (explain.keyword.unwrap(), explain.meaning.unwrap());
    let sum = keyword.share * keyword.weight + meaning.share * meaning.weight;
    assert!((sum - explain.fused).abs() < 1e-6 && (keyword.weight + meaning.weight - 1.0).abs() < 1e-6);
    assert_eq!(found(&ask(&index, "d.paint the climate storm"))[0], "d::paint");
}

#[tokio::test]
async fn the_weighted_sum_is_ten_times_the_likeness_and_a_boost() {
    let index = index(Ranking::Weighted).await;
    let outcome = ask(&index, "umbrella weather");
    let hit = &outcome.hits[0];
    assert_eq!(hit.name, name("a::umbrella"));
    let similarity = hit.explain.meaning.unwrap().score;
    assert!((hit.explain.fused - (10.0 * similarity + 3.0)).abs() < 1e-4, "{:?}", hit.explain);
}

#[tokio::test]
async fn what_the_embedder_does_not_know_is_left_to_the_words() {
    let index = index(Ranking::Fused).await;
    let outcome = ask(&index, "天气 weather");
    assert!(outcome.evidence.weight <= 0.0 && outcome.evidence.similarity.is_none());
    assert!(outcome.hits.iter().all(|hit| hit.explain.meaning.is_none()));
    assert_eq!(found(&outcome), ["e::天气"]);
}

#[tokio::test]
async fn a_query_that_is_like_nothing_has_no_match_and_the_nearest_names() {
    let index = index(Ranking::Fused).await;
    let outcome = ask(&index, "zirconium quilting");
    assert_eq!(outcome.no_match, Some(Reason::NothingSimilar), "{outcome:?}");
    assert_eq!((outcome.hits.len(), outcome.nearest.len()), (0, 3));
    assert!(outcome.evidence.confidence < crate::limits::MIN_CONFIDENCE);
}

#[tokio::test]
async fn hidden_tools_are_found_by_neither_arm() {
    let index = index(Ranking::Fused).await;
    let options =
        SearchOptions { limit: 5, filter: Some(&|name| name.namespace() != "a"), ..SearchOptions::default() };
    for query in ["climate", "umbrella", "a.umbrella", "zirconium quilting"] {
        let outcome = index.search(query, &options);
        let shown = outcome.hits.iter().map(|hit| &hit.name).chain(&outcome.nearest);
        assert!(shown.into_iter().all(|name| name.namespace() != "a"), "{query}: {outcome:?}");
    }
}
