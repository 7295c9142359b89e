//! The discovery meta-tools, as an engine.
