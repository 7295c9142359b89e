//! What the terms of a text are.
