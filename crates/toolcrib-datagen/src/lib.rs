//! Tool-calling conversations as training data.
//!
//! - [`conversation`]: the data types of generated conversations.
//! - [`session`]: sessions, in which the calls of conversations run.
//! - [`engine`]: engines of tools that are simulated, recorded, or search documents.
//! - [`enrichment`]: schemas of results that a model infers.
//! - [`pipeline`]: stages that turn tools into conversations, in runs that can be resumed.
//! - [`reader`]: conversations read from files, and the check of a whole file.
//! - [`sampler`]: seeded choices of tools.
//! - [`hygiene`]: near duplicates, test data, secrets, and the data card.
//! - [`validate`](mod@validate): the checks that a conversation passes before it is written.
//! - [`writer`]: the output formats.
//!
//! ```
//! use serde_json::json;
//! use toolcrib_datagen::conversation::{Call, ConversationTool, Message};
//! use toolcrib_datagen::writer::{Format, NameStyle};
//! use toolcrib_datagen::{Conversation, Kind, validate};
//! use toolcrib_model::{QualifiedName, Tool};
//!
//! let tool = Tool::new(QualifiedName::new("hello", "status")?).with_description("Tells if the service works.");
//! let mut conversation = Conversation::new("example", Kind::Single);
//! conversation.tools = vec![ConversationTool::from(&tool)];
//! conversation.messages = vec![
//!     Message::user("Does the service work?"),
//!     Message::calls([Call::new("1", "hello::status", json!({}))]),
//!     Message::result("1", "it works"),
//!     Message::assistant("It does."),
//! ];
//! assert!(validate(&conversation).is_empty());
//! let rows = Format::Openai.rows(&conversation, NameStyle::Wire).main;
//! assert!(json!(rows).to_string().contains("Does the service work?"));
//!
//! // A conversation that does not fit its tools is not written.
//! conversation.messages[1] = Message::calls([Call::new("1", "hello::state", json!({}))]);
//! assert!(!validate(&conversation).is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod conversation;
pub mod engine;
pub mod enrichment;
pub mod hygiene;
mod json_reply;
pub mod pipeline;
pub mod reader;
mod reply_cache;
pub mod sampler;
pub mod seed;
pub mod session;
pub mod validate;
pub mod writer;

pub use conversation::{Conversation, Kind};
pub use pipeline::GenerateSettings;
pub use validate::validate;

#[cfg(test)]
mod samples;
