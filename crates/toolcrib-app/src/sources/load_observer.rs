//! The observer of the sources of an app.

/// Watches the sources of an app while they load, such as servers that start.
pub trait LoadObserver: Send + Sync {
    /// A source begins to load. The name is for people.
    fn load_started(&self, source: &str);

    /// A source has loaded, or its load was given up.
    fn load_finished(&self, source: &str);
}
