//! Tools from YAML and JSON files, run by commands or canned results.
