//! The section with the overrides, and the forms with which the operator changes them.

use maud::{Markup, html};
use toolcrib_policy::OverrideTarget;

use super::super::Viewer;
use super::super::html::text;
use super::{ConsoleView, heading, table};

/// The text that the seal of the forms protects.
pub(crate) const OVERRIDE_FORM: &str = "override";

/// The maximum number of overrides that are shown.
const MAX_OVERRIDES: usize = 100;

/// The maximum length of a target in a form, in characters.
const MAX_TARGET_CHARS: usize = 200;

impl ConsoleView<'_> {
    /// Renders the overrides for viewers that are no clients: one is not told of tools that are disabled.
    pub(super) fn overrides(&self) -> Markup {
        let overrides = self.runtime.executor().policy().overrides();
        let (targets, is_operator) = (&overrides.targets, *self.viewer == Viewer::Operator);
        if matches!(self.viewer, Viewer::Client(_)) || targets.is_empty() && !is_operator {
            return html! {};
        }
        let rows = html! {
            @for (target, is_enabled) in targets.iter().take(MAX_OVERRIDES) {
                tr {
                    td data-label="Target" { (text(&target.to_string())) }
                    td data-label="State" { @if *is_enabled { "enabled" } @else { "disabled" } }
                    td { (self.change(target, "remove", "Remove override")) }
                }
            }
        };
        html! {
            section id="overrides" {
                (heading("Overrides", targets.len()))
                @if !targets.is_empty() { (table("Overrides", &["Target", "State", "Change"], &rows)) }
                @if targets.len() > MAX_OVERRIDES { p { "and " (targets.len() - MAX_OVERRIDES) " more" } }
                @if is_operator {
                    form method="post" action="/override" {
                        (self.seal(OVERRIDE_FORM))
                        label {
                            "Tool, namespace or source "
                            input name="target" maxlength=(MAX_TARGET_CHARS) required;
                        }
                        " " button name="say" value="disable" { "Disable" }
                        " " button name="say" value="enable" { "Enable" }
                    }
                }
            }
        }
    }

    /// Renders the form with which the operator disables a target.
    pub(super) fn disabling(&self, target: &OverrideTarget) -> Markup {
        self.change(target, "disable", "Disable")
    }

    fn change(&self, target: &OverrideTarget, say: &str, label: &str) -> Markup {
        html! {
            @if *self.viewer == Viewer::Operator {
                form method="post" action="/override" {
                    (self.seal(OVERRIDE_FORM))
                    input type="hidden" name="target" value=(target.id());
                    button name="say" value=(say) { (label) }
                }
            }
        }
    }
}
