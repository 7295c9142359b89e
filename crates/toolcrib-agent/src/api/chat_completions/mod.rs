//! The Chat Completions API of `OpenAI`, which most servers speak.

mod reasoning_tags;
pub(super) mod reply;
pub(super) mod request;
