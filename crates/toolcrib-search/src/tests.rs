//! What the index promises.

mod abstention;
mod actions;
mod bounds;
mod chinese;
mod clauses;
mod duplicates;
mod exact;
mod fusion;
mod kept;
mod languages;
mod metrics;
mod names;
mod quality;
mod ranking;

use toolcrib_model::{QualifiedName, Tool};

use crate::{Outcome, SearchIndex, SearchOptions};

fn name(text: &str) -> QualifiedName {
    text.parse().unwrap()
}

fn tool(qualified: &str, description: &str) -> Tool {
    Tool::new(name(qualified)).with_description(description)
}

fn index(tools: &[Tool]) -> SearchIndex {
    SearchIndex::build(tools).unwrap()
}

fn found(outcome: &Outcome) -> Vec<String> {
    outcome.hits.iter().map(|hit| hit.name.to_string()).collect()
}

fn search(index: &SearchIndex, query: &str) -> Vec<String> {
    found(&index.search(query, &SearchOptions::default()))
}

/// A few tools as an app has them.
fn workshop() -> SearchIndex {
    index(&[
        tool("files::read", "Reads the text of a file.")
            .with_metadata("aliases", vec!["lire fichier".to_owned(), "读取文件".to_owned()]),
        tool("files::remove_file", "Takes a file out of the folder."),
        tool("database::read", "Reads rows of a table, like `files.read` does for files."),
        tool("weather_api::getWeather", "Current conditions at a place: temperature, wind, rain."),
        tool("weather_api::getWeatherAlerts", "Warnings of storms."),
        tool("mail::send", "Sends a message to a person."),
        tool("zeppelin::zeppelin", "Books a flight."),
    ])
}
