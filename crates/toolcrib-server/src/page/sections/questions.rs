//! The section with the calls that wait for an approval.

use toolcrib_policy::Question;

use super::super::Viewer;
use super::super::html::Html;
use super::PageView;

/// The maximum length of arguments with which a call can be allowed on the page, in characters, since they are shown
/// whole.
const MAX_ARGUMENTS_CHARS: usize = 8_000;

/// The maximum number of calls that are shown.
const MAX_SHOWN: usize = 50;

impl PageView<'_> {
    pub(super) fn questions(&self, html: &mut Html) {
        let all = self.page.pending.questions();
        let mine: Vec<_> = all.iter().filter(|(question, _)| self.may_see(&question.session)).collect();
        html.markup("<section id=\"approvals\">\n<h2>Waiting for approval <span class=\"count\">");
        html.show(mine.len()).markup("</span></h2>\n");
        if *self.viewer != Viewer::Operator {
            html.markup(
                "<p>Only the operator answers here. The server printed the key when it started.</p>\n",
            );
            super::sign_in_form(html);
        }
        if mine.is_empty() {
            html.markup("<p class=\"none\">Nothing waits.</p>\n");
        }
        for (question, since) in mine.iter().take(MAX_SHOWN) {
            html.markup("<article>\n<h3>").text(&question.tool).markup(" <span class=\"risk\">");
            html.text(question.risk.as_str())
                .markup("</span></h3>\n<p class=\"dim\">Asked by ")
                .text(&question.rule)
                .markup(", for ");
            html.text(&super::session(&question.session));
            if let Some(agent) = &question.agent {
                html.markup(", agent ").text(agent);
            }
            html.markup(", ").show(since.as_secs()).markup(" s ago.");
            if !question.side_effects.is_empty() {
                html.markup(" It changes: <q>").text(&question.side_effects.join(", ")).markup("</q>.");
            }
            html.markup("</p>\n");
            if *self.viewer == Viewer::Operator {
                self.answers(html, question);
            }
            // The text of a server comes last, where it cannot pass for the text above it.
            if !question.description.is_empty() {
                html.markup("<p class=\"dim\">Its description: <q>").text(&question.description);
                html.markup("</q></p>\n");
            }
            html.markup("</article>\n");
        }
        html.markup("</section>\n");
    }

    /// Adds the arguments of a call and the form that answers it.
    fn answers(&self, html: &mut Html, question: &Question) {
        let arguments = serde_json::to_string_pretty(&question.arguments).unwrap_or_default();
        let is_whole = arguments.chars().count() <= MAX_ARGUMENTS_CHARS;
        html.markup("<pre>").text_to(&arguments, MAX_ARGUMENTS_CHARS).markup("</pre>\n");
        if is_whole {
            self.form(html, question);
            html.markup(
                "<button name=\"say\" value=\"once\">Allow this call</button> \
                 <button name=\"say\" value=\"tool\">Allow this tool in this session</button></form>\n",
            );
        } else {
            html.markup(
                "<p>The arguments are too long to be shown whole, so it cannot be allowed here.</p>\n",
            );
        }
        // Enter in a field activates the first button of its form, which must not approve.
        self.form(html, question);
        html.markup(
            "<button name=\"say\" value=\"deny\">Deny</button> <input name=\"feedback\" maxlength=\"1000\" \
             placeholder=\"what to tell the model when you deny\"></form>\n",
        );
    }

    /// Adds the start of a form that answers a call.
    fn form(&self, html: &mut Html, question: &Question) {
        html.markup(
            "<form method=\"post\" action=\"/answer\"><input type=\"hidden\" name=\"question\" value=\"",
        );
        html.show(question.id).markup("\"><input type=\"hidden\" name=\"seal\" value=\"");
        html.text(&self.page.keys.sealed(&answer_to(question.id))).markup("\">");
    }
}

/// Returns the text that the seal of a form protects.
pub(crate) fn answer_to(question: u64) -> String {
    format!("answer/{question}")
}
