//! The channels of an app, as its callers are told them.

use toolcrib_app::CallerView;
use toolcrib_app::sections::channels::{NamedChannel, TELLING};
use toolcrib_model::Tool;
use toolcrib_registry::Snapshot;
use toolcrib_tasks::schedule::SCHEDULER;

use crate::services::{AppServices, is_own};

/// Channels by tools that are not there.
pub(crate) fn unused<'a>(
    channels: &'a [NamedChannel],
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = String> + 'a {
    channels.iter().filter_map(|NamedChannel { name, tool, .. }| {
        let tool = tool.as_deref().filter(|tool| snapshot.find(tool, |_| true).is_err())?;
        Some(format!("the channel `{name}` sends by `{tool}`, an unknown tool"))
    })
}

impl AppServices {
    /// Returns the channels that this caller can name, with their readers: all if a tool of the caller takes a channel,
    /// except those that call a tool which the caller may not call.
    pub(crate) fn told_channels(&self, view: &CallerView<'_>) -> Vec<(String, String)> {
        let tells = |tool: &Tool| {
            is_own(tool, &TELLING)
                || tool.name.namespace() == SCHEDULER && TELLING.contains(&tool.name.name())
        };
        if !view.has(tells) {
            return Vec::new();
        }
        let is_usable = |tool: &str| view.named(tool).is_some();
        let usable = self.channels.iter().filter(|channel| channel.tool.as_deref().is_none_or(is_usable));
        usable.map(|channel| (channel.name.clone(), channel.about.clone())).collect()
    }
}
