//! The search layer alone: `cargo run --example search-only`.
//!
//! It indexes a few tools, finds them by words and by meaning, and reports when none matches.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use toolcrib_model::{QualifiedName, Tool};
use toolcrib_search::embedding::{BuiltinEmbedder, Embeddings};
use toolcrib_search::{SearchIndex, SearchOptions};

const TOOLS: [(&str, &str, &str); 4] = [
    ("weather_api", "forecast", "The weather of the coming days in a city."),
    ("files", "remove", "Takes a file out of a folder."),
    ("mail", "send", "Sends a message to a person."),
    ("bank", "convert", "The worth of an amount of money in another currency."),
];
const QUERIES: [&str; 3] = ["will it rain tomorrow", "use mail.send please", "a poem in Latin"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let tool = |(namespace, name, description)| {
        QualifiedName::new(namespace, name)
            .map(|name| Arc::new(Tool::new(name).with_description(description)))
    };
    let tools = TOOLS.into_iter().map(tool).collect::<Result<Vec<Arc<Tool>>, _>>()?;
    let index = SearchIndex::build(tools.iter().map(AsRef::as_ref))?;
    let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new()?), &tools);
    embeddings.finished().await;
    index.attach(embeddings.vectors().ok_or("no vectors")?);

    for query in QUERIES {
        let outcome = index.search(query, &SearchOptions::default());
        let names: Vec<_> = outcome.hits.iter().map(|hit| hit.name.dotted()).collect();
        println!("{query}: {names:?} {:?}", outcome.no_match);
    }
    Ok(())
}
