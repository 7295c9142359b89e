//! Metrics in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use toolcrib_model::text::truncate_chars;

/// The upper bounds of the histogram buckets of call durations, in milliseconds.
pub(crate) const BUCKETS_MS: [u64; 9] = [5, 25, 100, 250, 1_000, 5_000, 15_000, 60_000, 300_000];

/// The maximum length of a path or a name in a log line, in characters.
const MAX_LOGGED_CHARS: usize = 200;

/// The metrics since the start of the process.
#[derive(Default)]
pub(crate) struct Metrics {
    /// HTTP requests by status.
    requests: Mutex<BTreeMap<u16, u64>>,
    /// Calls of tools by outcome: `ok`, or the kind of the error.
    calls: Mutex<BTreeMap<&'static str, u64>>,
    buckets: [AtomicU64; BUCKETS_MS.len()],
    calls_ms: AtomicU64,
    /// Tokens that projections of results saved.
    saved_tokens: AtomicU64,
    /// The number of open connections.
    pub(crate) connections: AtomicU64,
    /// The number of connections that were rejected because there were too many.
    pub(crate) turned_away: AtomicU64,
    /// The number of running calls.
    pub(crate) running: AtomicU64,
}

impl Metrics {
    pub(crate) fn request(&self, status: u16) {
        *self.requests.lock().entry(status).or_default() += 1;
    }

    pub(crate) fn call(&self, outcome: &'static str, took: Duration) {
        *self.calls.lock().entry(outcome).or_default() += 1;
        let ms = milliseconds(took);
        self.calls_ms.fetch_add(ms, Ordering::Relaxed);
        for (bound, count) in BUCKETS_MS.iter().zip(&self.buckets) {
            if ms <= *bound {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts the tokens that a projection of a result saved.
    pub(crate) fn projection(&self, saved_tokens: u64) {
        self.saved_tokens.fetch_add(saved_tokens, Ordering::Relaxed);
    }

    /// Returns all metrics, with the number of tools, of failed sources and of sessions.
    pub(crate) fn text(&self, tools: usize, down: usize, sessions: usize) -> String {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
        let labelled = |label: &str, value: &dyn Display| format!("{{{label}=\"{value}\"}}");
        let plain = |value: String| vec![(String::new(), value)];
        let mut text = Text::default();

        let requests = self.requests.lock().clone();
        let requests = requests.iter().map(|(status, count)| (labelled("status", status), count.to_string()));
        text.family("http_requests_total", "counter", "HTTP requests by status.", requests);
        let calls = self.calls.lock().clone();
        let all: u64 = calls.values().sum();
        let calls = calls.iter().map(|(outcome, count)| (labelled("outcome", outcome), count.to_string()));
        text.family("calls_total", "counter", "Calls of tools by outcome.", calls);
        #[expect(clippy::cast_precision_loss, reason = "the milliseconds of a process are far below 2^52")]
        let seconds = |ms: u64| (ms as f64 / 1000.0).to_string();
        let buckets = BUCKETS_MS.iter().zip(&self.buckets);
        let buckets = buckets
            .map(|(bound, count)| (format!("_bucket{}", labelled("le", &seconds(*bound))), load(count)));
        let rest = [
            (format!("_bucket{}", labelled("le", &"+Inf")), all.to_string()),
            ("_sum".to_owned(), seconds(self.calls_ms.load(Ordering::Relaxed))),
            ("_count".to_owned(), all.to_string()),
        ];
        text.family("call_seconds", "histogram", "How long calls took.", buckets.chain(rest));
        let saved = plain(load(&self.saved_tokens));
        text.family(
            "projection_saved_tokens_total",
            "counter",
            "Tokens that projections of results saved.",
            saved,
        );
        text.family("calls_running", "gauge", "Calls that are under way.", plain(load(&self.running)));
        text.family("connections", "gauge", "Connections that are open.", plain(load(&self.connections)));
        let turned_away = plain(load(&self.turned_away));
        text.family(
            "connections_turned_away_total",
            "counter",
            "Connections beyond the maximum.",
            turned_away,
        );
        text.family("sessions", "gauge", "Sessions of clients.", plain(sessions.to_string()));
        text.family("tools", "gauge", "Tools that are loaded.", plain(tools.to_string()));
        text.family("sources_down", "gauge", "Sources that did not load.", plain(down.to_string()));
        text.0
    }
}

/// Returns a duration in whole milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a client's text, truncated for a log line.
pub(crate) fn logged(text: &str) -> &str {
    truncate_chars(text, MAX_LOGGED_CHARS)
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn family(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl IntoIterator<Item = (String, String)>,
    ) {
        let _ = writeln!(self.0, "# HELP toolcrib_{name} {help}\n# TYPE toolcrib_{name} {kind}");
        for (suffix, value) in samples {
            let _ = writeln!(self.0, "toolcrib_{name}{suffix} {value}");
        }
    }
}
