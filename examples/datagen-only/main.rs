//! The data generation layer alone: `cargo run --example datagen-only`.
//!
//! It samples a chain of tools, checks a conversation about them, and prints it as training data.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{error::Error, sync::Arc};

use serde_json::json;
use toolcrib_datagen::conversation::{Call, Conversation, ConversationTool, Kind, Message};
use toolcrib_datagen::sampler::{Catalogue, SampleRequest, Samplers};
use toolcrib_datagen::validate;
use toolcrib_datagen::writer::{Format, NameStyle};
use toolcrib_loader_file::FileLoader;
use toolcrib_registry::{ToolRegistry, enrichment::DataflowEnrichment};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let registry = ToolRegistry::new().with_enrichments([Arc::new(DataflowEnrichment::default()) as _])?;
    registry.add_loader(Arc::new(FileLoader::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tools.yaml"))));
    let catalogue = Catalogue::new(&*registry.refresh().await?);
    let chain = Samplers::default().build(&json!({"type": "chain"}), &catalogue)?;
    let sample = chain.sample(&SampleRequest::new(2, 7))?;
    let [find, locate] = sample.names().try_into().map_err(|names| format!("sampled {names:?}"))?;
    let mut conversation = Conversation::new("example", Kind::Nested);
    conversation.tools = sample.tools.iter().map(|entry| ConversationTool::from(&*entry.tool)).collect();
    // The last argument is from no result, and the check reports it.
    conversation.messages = vec![
        Message::user("Where is the lamp that Ada ordered?"),
        Message::calls([Call::new("1", find, json!({"customer": "Ada"}))]),
        Message::result("1", json!({"order_id": "A-7"})),
        Message::calls([Call::new("2", locate, json!({"order_id": "A-8"}))]),
        Message::result("2", json!({"place": "Oslo"})),
        Message::assistant("It is in Oslo."),
    ];
    let findings = validate(&conversation).into_iter().map(|finding| finding.to_string());
    let rows = Format::Openai.rows(&conversation, NameStyle::Wire).main;
    println!("{findings}\n{rows}", findings = findings.collect::<String>(), rows = json!(rows));
    Ok(())
}
