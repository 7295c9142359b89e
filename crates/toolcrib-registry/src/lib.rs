//! The store of tools: immutable snapshots, overloads, refresh.
