//! What a search promises to requests in other languages than English.

use std::sync::Arc;

use toolcrib_model::{QualifiedName, Tool};

use crate::embedding::{BuiltinEmbedder, Embeddings};
use crate::{SearchIndex, SearchOptions};

async fn index(tools: &[(&str, &str)]) -> SearchIndex {
    let tool = |(name, description): &(&str, &str)| {
        Arc::new(Tool::new(QualifiedName::new("server", *name).unwrap()).with_description(*description))
    };
    let tools: Vec<Arc<Tool>> = tools.iter().map(tool).collect();
    let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new().unwrap()), &tools);
    embeddings.finished().await;
    let index = SearchIndex::build(tools.iter().map(AsRef::as_ref)).unwrap();
    index.attach(embeddings.vectors().unwrap());
    index
}

#[tokio::test]
async fn a_request_in_any_language_finds_tools_that_are_described_in_english() {
    let index = index(&[
        ("create_invoice", "Create an invoice for a customer."),
        ("get_forecast", "Get the weather forecast for the coming days."),
        ("send_message", "Send a message to a channel."),
        ("start_playback", "Play a song or a playlist."),
    ])
    .await;
    for (query, expected) in [
        ("Erstelle eine Rechnung für den Kunden", "create_invoice"),
        ("¿Qué tiempo hará mañana?", "get_forecast"),
        ("отправь сообщение в канал", "send_message"),
        ("شغّل أغنية", "start_playback"),
        ("播放歌曲", "start_playback"),
        ("天気予報を教えて", "get_forecast"),
        ("고객에게 청구서를 만들어줘", "create_invoice"),
        ("कल का मौसम कैसा रहेगा", "get_forecast"),
    ] {
        let outcome = index.search(query, &SearchOptions::default());
        let first = outcome.hits.first().map(|hit| hit.name.name().to_owned());
        assert_eq!(first.as_deref(), Some(expected), "{query}");
    }
}

#[tokio::test]
async fn a_request_in_another_language_is_weak_rather_than_without_match() {
    let index = index(&[("create_invoice", "Create an invoice for a customer.")]).await;
    let outcome = index.search("Wie hoch ist der höchste Berg der Welt?", &SearchOptions::default());
    assert!(outcome.no_match.is_none());
    assert!(outcome.evidence.is_weak());
}
