//! What the wiring promises.
