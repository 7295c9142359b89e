//! Which tools are told to be near duplicates.

use std::sync::Arc;

use toolcrib_model::{QualifiedName, Tool};

use crate::duplicates::near_duplicates;
use crate::embedding::{BuiltinEmbedder, Embeddings};

fn tool(namespace: &str, name: &str, description: &str) -> Tool {
    Tool::new(QualifiedName::new(namespace, name).unwrap()).with_description(description)
}

fn groups(tools: &[Tool]) -> Vec<Vec<String>> {
    near_duplicates(tools, None)
        .iter()
        .map(|alike| alike.names.iter().map(QualifiedName::dotted).collect())
        .collect()
}

#[test]
fn tools_that_share_nearly_all_words_are_duplicates_in_any_order() {
    let mut tools = vec![
        tool("crm", "open_ticket", "Opens a ticket for a customer who has a problem."),
        tool("desk", "openTicket", "Opens tickets for customers who have problems."),
        tool("crm", "close_account", "Ends the contract and pays back what is left."),
        tool("sky", "weather", "How warm it will be."),
    ];
    assert_eq!(groups(&tools), [["crm.open_ticket", "desk.openTicket"]]);
    tools.reverse();
    assert_eq!(groups(&tools), [["crm.open_ticket", "desk.openTicket"]]);
    assert!(groups(&tools[..2]).is_empty() && groups(&[]).is_empty());
}

#[test]
fn many_copies_are_one_group() {
    let copies: Vec<Tool> = (10..50)
        .map(|number| tool(&format!("farm{number}"), "count_sheep", "Counts the sheep at night."))
        .collect();
    let groups = groups(&copies);
    assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [copies.len()]);
}

#[tokio::test]
async fn with_vectors_both_words_and_meaning_have_a_say() {
    let tools = [
        tool("bank", "get_exchange_rate", "Gets the exchange rate between two currencies."),
        tool("travel", "get_exchange_rate", "Returns the current exchange rate between currencies."),
        tool("music", "play_song", "Plays a song from the library."),
    ];
    let tools = tools.map(Arc::new);
    let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new().unwrap()), &tools);
    embeddings.finished().await;
    let vectors = embeddings.vectors().unwrap();
    let found = near_duplicates(tools.iter().map(AsRef::as_ref), Some(vectors));
    let [alike] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(alike.names, [tools[0].name.clone(), tools[1].name.clone()]);
    assert!(alike.meaning.unwrap() > 0.9 && alike.words < 0.9, "{alike:?}");
}
