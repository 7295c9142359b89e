//! The section with the profiles and the selected one.

use maud::{Markup, html};

use super::super::Viewer;
use super::super::html::text;
use super::{ConsoleView, heading, table};

/// The text that the seal of the form protects.
pub(crate) const PROFILE_FORM: &str = "profile";

impl ConsoleView<'_> {
    /// Renders the profiles for viewers that are no clients: one is not told of tools outside of its profile.
    pub(super) fn profiles(&self) -> Markup {
        let overrides = self.runtime.executor().policy().overrides();
        let profiles = &self.runtime.app().config.profiles;
        if profiles.is_empty() && overrides.profile.is_none() || matches!(self.viewer, Viewer::Client(_)) {
            return html! {};
        }
        let selected = overrides.profile.as_deref();
        let rows = html! {
            @for (name, profile) in profiles {
                tr {
                    td data-label="Profile" { (name) }
                    td data-label="State" { @if selected == Some(name) { "selected" } @else { (self.selection(Some(name))) } }
                    td data-label="Purpose" { (text(profile.description.as_deref().unwrap_or_default())) }
                }
            }
        };
        html! {
            section id="profiles" {
                (heading("Profiles", profiles.len()))
                @if !profiles.is_empty() { (table("Profiles", &["Profile", "State", "Purpose"], &rows)) }
                @match selected {
                    None => p { "No profile is selected." },
                    Some(name) if profiles.contains_key(name) => (self.selection(None)),
                    Some(name) => {
                        p class="bad" { "The selected profile " b { (text(name)) } " does not exist: its clients may use nothing." }
                        (self.selection(None))
                    }
                }
            }
        }
    }

    /// Renders the form with which the operator selects a profile, or none.
    fn selection(&self, profile: Option<&str>) -> Markup {
        html! {
            @if *self.viewer == Viewer::Operator {
                form method="post" action="/profile" {
                    (self.seal(PROFILE_FORM))
                    input type="hidden" name="profile" value=(profile.unwrap_or_default());
                    button { @if profile.is_some() { "Use" } @else { "Use no profile" } }
                }
            }
        }
    }
}
