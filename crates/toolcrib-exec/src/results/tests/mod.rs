//! What results promise.
