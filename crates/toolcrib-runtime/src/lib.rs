//! From app.yaml to a running app.
