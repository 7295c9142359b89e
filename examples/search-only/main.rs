//! The search layer alone: `cargo run --example search-only`.
//!
//! It indexes a few tools, finds them by words and then by meaning, and reports when none matches. It depends on the data
//! model and the search only.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use toolcrib_model::{QualifiedName, Tool};
use toolcrib_search::embedding::{BuiltinEmbedder, Embeddings};
use toolcrib_search::{SearchIndex, SearchOptions};

const TOOLS: [(&str, &str, &str); 5] = [
    ("weather_api", "forecast", "The weather of the coming days in a city."),
    ("hr_api", "holidays", "The remaining days of vacation of an employee."),
    ("files", "remove", "Takes a file out of a folder."),
    ("mail", "send", "Sends a message to a person."),
    ("bank", "convert", "The worth of an amount of money in another currency."),
];

const QUERIES: [&str; 4] =
    ["will it rain tomorrow", "delete a document", "use mail.send please", "translate a poem into Latin"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let tool = |(namespace, name, description): (&str, &str, &str)| {
        Ok::<_, Box<dyn Error>>(Tool::new(QualifiedName::new(namespace, name)?).with_description(description))
    };
    let tools = TOOLS.into_iter().map(tool).collect::<Result<Vec<_>, _>>()?;
    let tools: Vec<Arc<Tool>> = tools.into_iter().map(Arc::new).collect();

    // The words are there at once; the vectors follow, and are added to the same index.
    let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new()?), &tools);
    let index = SearchIndex::build(tools.iter().map(AsRef::as_ref))?;
    show("by words", &index);
    embeddings.finished().await;
    match embeddings.vectors() {
        Some(vectors) => index.attach(vectors),
        None => println!("no vectors: {:?}", embeddings.degraded()),
    }
    show("by words and meaning", &index);
    Ok(())
}

fn show(how: &str, index: &SearchIndex) {
    println!("{how}:");
    for query in QUERIES {
        let outcome = index.search(query, &SearchOptions { limit: 2, ..SearchOptions::default() });
        let hits: Vec<_> = outcome.hits.iter().map(|hit| hit.name.dotted()).collect();
        match outcome.no_match {
            None => println!("  {query}: {}", hits.join(", ")),
            Some(reason) => println!("  {query}: nothing fits ({})", reason.as_str()),
        }
    }
}
