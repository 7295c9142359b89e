//! JSON and YAML text, read within bounds into [`serde_json::Value`], with the place of every value.
//!
//! Everything that people write for Toolcrib (app files, tool files, OpenAPI documents, recordings) comes in through
//! [`parse`], so that the same bounds hold for all of it: [`Limits`] on bytes, values, depth and alias expansion, no duplicate
//! keys, no tags, UTF-8 only. YAML is read by the 1.2 core schema (`yes` and `on` are texts), with `<<` merge keys.
//!
//! ```
//! use serde::Deserialize;
//! use toolcrib_document::{Format, Limits, parse};
//!
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Settings {
//!     #[serde(rename = "limit")]
//!     _limit: u32,
//! }
//!
//! let document = parse(b"# settings\nlimmit: 5\n", Format::Yaml, &Limits::default())?;
//! let error = document.deserialize::<Settings>().err().map(|error| error.at("app.yaml"));
//! assert_eq!(error.as_deref(), Some("app.yaml:2:1: unknown key `limmit`, did you mean `limit`?"));
//! # Ok::<(), toolcrib_document::Error>(())
//! ```
//!
//! It reads no files: the caller brings the bytes. [`markdown`] cuts the texts of models and servers into blocks, and
//! [`line_diff`] compares two texts.

mod document;
mod error;
pub mod limits;

mod big_integers;
mod json;
mod locate;
mod scalar;
mod value_count;
mod yaml;

mod expand;
mod html;
mod line_diff;
mod suggestion;

pub mod markdown;

#[cfg(test)]
mod tests;

pub use document::{Document, Format, parse, path_of, without_byte_order_mark};
pub use error::{Error, Position};
pub use expand::{UnsetVariable, expand, expand_path};
pub use html::plain_text;
pub use json::StrictValue;
pub use limits::{Limits, MAX_BYTES, MAX_DEPTH, MAX_VALUES};
pub use line_diff::{LineChange, line_diff};
pub use suggestion::nearest;
