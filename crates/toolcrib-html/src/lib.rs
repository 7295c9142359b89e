//! The readable text of web pages.
//!
//! Pages can be hostile, so no tree is built of them: see [`ReadablePage::read`].

mod links;
mod outline;
mod page;

#[cfg(test)]
mod tests;

pub use links::{Link, MAX_LINKS};
pub use page::{MAX_TEXT_BYTES, ReadablePage, is_page};
