//! The metrics and the page that lists them.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::metrics::Metrics;

#[test]
fn the_reference_lists_every_metric_with_its_type() {
    let metrics = Metrics::default();
    metrics.request(200);
    metrics.call("ok", Duration::from_millis(1));
    let text = metrics.text(1, 1, 1);
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let exported: BTreeSet<(&str, &str)> = types.collect();
    let page = include_str!("../../../../docs/reference/metrics.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let listed = rows.map(|(name, rest)| (name, rest.split(" |").next().unwrap_or_default())).collect();
    assert_eq!(exported, listed);
}
