//! Ranks tools by words and meaning.

use std::error::Error;

use toolcrib::model::{QualifiedName, Tool};
use toolcrib::search::{SearchIndex, SearchOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let tools = [
        Tool::new(QualifiedName::new("files", "remove")?).with_description("Takes a file out of a folder."),
        Tool::new(QualifiedName::new("mail", "send")?).with_description("Sends a message to a person."),
    ];
    let index = SearchIndex::build(&tools)?;
    let found = index.search("please delete this file", &SearchOptions::default());
    assert_eq!(found.hits[0].name, tools[0].name);
    Ok(())
}
