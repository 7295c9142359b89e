//! Vectors that several processes share.

use std::sync::Arc;

use toolcrib_io::table::{MemoryTable, SharedTable as _};
use toolcrib_model::Tool;

use super::super::{BATCH, EmbeddingsEnrichment};
use super::{Fault, Fixture, Words, counts, of, tool};

fn tools(count: usize) -> Vec<Tool> {
    (0..count).map(|number| tool(&format!("t{number}"), &format!("Counts to {number}."))).collect()
}

/// A process that shares a table, with its embedder.
fn process(table: &Arc<MemoryTable>, tools: Vec<Tool>) -> (Fixture, Arc<Words>) {
    let words = Words::new(Fault::None);
    let enrichment = EmbeddingsEnrichment::new(words.clone()).with_table(Arc::clone(table) as _);
    (Fixture::new(enrichment, tools), words)
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_processes_one_embeds_the_texts_and_the_others_wait_for_its_vectors() {
    let table = Arc::new(MemoryTable::default());
    let total = 3 * BATCH;
    let (one, makes) = process(&table, tools(total));
    makes.hold(true);
    let (_first, made) = one.begin().await;
    makes.calls.subscribe().wait_for(|calls| *calls == 1).await.unwrap();
    let (two, waits) = process(&table, tools(total));
    let (_second, taken) = two.begin().await;
    makes.hold(false);
    made.finished().await;
    taken.finished().await;
    assert_eq!(makes.given().len(), total);
    assert!(waits.given().is_empty(), "nothing is embedded twice");
    assert_eq!(counts(&taken), (total, 0));
    for tool in tools(total) {
        assert_eq!(of(&made, &tool), of(&taken, &tool));
    }
    // A process that starts later does not wait, and one with a text more embeds that alone.
    let (three, later) = process(&table, tools(total));
    let (_third, embeddings) = three.begin().await;
    embeddings.finished().await;
    assert!(later.given().is_empty());
    three.offer(tools(total + 1));
    let (_fourth, embeddings) = three.begin().await;
    embeddings.finished().await;
    assert_eq!((later.given().len(), counts(&embeddings)), (1, (total + 1, 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_newest_sets_are_kept_and_a_damaged_one_is_made_again() {
    let table = Arc::new(MemoryTable::default());
    let (one, _) = process(&table, Vec::new());
    for count in 1..20 {
        one.offer(tools(count));
        let (_snapshot, embeddings) = one.begin().await;
        embeddings.finished().await;
    }
    let rows = table.ids();
    // One row lists the others.
    assert_eq!(rows.len(), 9, "{rows:?}");
    for id in rows {
        if table.get(&id).await.unwrap().unwrap().get("file").is_some() {
            table.put(&id, serde_json::json!({"file": "AAAA"})).await.unwrap();
        }
    }
    let (two, words) = process(&table, tools(19));
    let (_snapshot, embeddings) = two.begin().await;
    embeddings.finished().await;
    assert_eq!((words.given().len(), counts(&embeddings)), (19, (19, 19)));
}
