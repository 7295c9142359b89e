//! What telemetry promises.

mod export;
mod settings;
mod spans;

use std::sync::Arc;

use tokio::sync::mpsc;
use tracing::Subscriber;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

use super::counts::Counts;
use super::layer::Closed;
use super::{Settings, SpanLayer, is_ours};

/// A subscriber that notes spans, and what they become.
fn noting(room: usize) -> (impl Subscriber + Send + Sync, mpsc::Receiver<Closed>, Arc<Counts>) {
    let (sender, spans) = mpsc::channel(room);
    let counts = Arc::new(Counts::of("spans"));
    let layer = SpanLayer::new(sender, Arc::clone(&counts)).with_filter(filter_fn(is_ours));
    (tracing_subscriber::registry().with(layer), spans, counts)
}

/// The settings of a flag without variables.
fn flagged(endpoint: &str) -> Settings {
    Settings::read(Some(endpoint), |_| None).unwrap().unwrap()
}
