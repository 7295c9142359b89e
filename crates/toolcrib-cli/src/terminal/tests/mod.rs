//! The terminal: what is shown when, and who gets what is typed.

mod interleavings;
mod keyboard;
mod sharing;
mod status;
