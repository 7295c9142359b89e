//! The section with the questions of agents and servers to their user.

use serde_json::Value;
use toolcrib_model::{FieldKind, FormField, UserQuestion};

use super::super::Viewer;
use super::super::html::Html;
use super::super::reply::{MAX_CONTENT_CHARS, field_name, is_editable, is_whole};
use super::PageView;

/// The maximum number of questions that are shown.
const MAX_SHOWN: usize = 20;

/// The maximum length of a question, in characters.
const MAX_QUESTION_CHARS: usize = 4_000;

/// The maximum length of a default value in an input, in characters.
const MAX_DEFAULT_CHARS: usize = 300;

impl PageView<'_> {
    pub(super) fn user_questions(&self, html: &mut Html) {
        let all = self.page.pending.questions_to_user().all();
        let mine: Vec<_> = all.iter().filter(|pending| self.may_see(&pending.question.session)).collect();
        if mine.is_empty() {
            return;
        }
        html.markup("<section id=\"questions\">\n<h2>Questions <span class=\"count\">");
        html.show(mine.len()).markup("</span></h2>\n");
        for pending in mine.into_iter().take(MAX_SHOWN) {
            let question = &pending.question;
            html.markup("<article>\n<h3>");
            match (&question.server, &question.agent) {
                (Some(server), _) => {
                    html.markup("The server ").text(server).markup(" asks, and gets the answer")
                }
                (None, Some(agent)) => html.markup("The agent ").text(agent).markup(" asks"),
                (None, None) => html.markup("A client asks"),
            };
            html.markup("</h3>\n<p class=\"dim\">For ").text(&super::session(&question.session));
            html.markup(", ").show(pending.waiting.as_secs()).markup(" s ago.</p>\n");
            if *self.viewer == Viewer::Operator {
                self.question(html, pending.id, question);
            }
            html.markup("</article>\n");
        }
        html.markup("</section>\n");
    }

    /// Adds the question and the forms that answer it.
    fn question(&self, html: &mut Html, id: u64, question: &UserQuestion) {
        html.markup("<pre>").text_to(&question.question, MAX_QUESTION_CHARS).markup("</pre>\n");
        if is_whole(question) {
            self.reply_form(html, id);
            content(html, question);
            for (number, choice) in question.choices.iter().enumerate() {
                html.markup("<p><label><input type=\"radio\" name=\"choice\" required value=\"").show(number);
                html.markup("\"> ").text(choice).markup("</label></p>\n");
            }
            for (number, one) in question.fields.iter().enumerate() {
                field(html, &field_name(number), one);
            }
            let is_plain =
                question.content.is_none() && question.choices.is_empty() && question.fields.is_empty();
            if is_plain {
                html.markup("<p><label>In words <input name=\"feedback\" maxlength=\"1000\"></label></p>\n");
            }
            html.markup("<button name=\"say\" value=\"yes\">").markup(if is_plain { "Yes" } else { "Agree" });
            html.markup("</button></form>\n");
        } else {
            html.markup("<pre>").text_to(question.content.as_deref().unwrap_or_default(), MAX_CONTENT_CHARS);
            html.markup(
                "</pre>\n<p>The text is too long to be shown whole, so it cannot be agreed to here.</p>\n",
            );
        }
        self.reply_form(html, id);
        html.markup(
            "<button name=\"say\" value=\"no\">No</button> <input name=\"feedback\" maxlength=\"1000\" \
             placeholder=\"why not\"></form>\n",
        );
    }

    /// Adds the start of a form that answers a question.
    fn reply_form(&self, html: &mut Html, id: u64) {
        html.markup(
            "<form method=\"post\" action=\"/reply\"><input type=\"hidden\" name=\"question\" value=\"",
        );
        html.show(id).markup("\"><input type=\"hidden\" name=\"seal\" value=\"");
        html.text(&self.page.keys.sealed(&reply_to(id))).markup("\">");
    }
}

/// Returns the text that the seal of a form protects.
pub(crate) fn reply_to(question: u64) -> String {
    format!("reply/{question}")
}

/// Adds the text to review: rendered, and as source. The source can be edited if a browser returns it unchanged.
fn content(html: &mut Html, question: &UserQuestion) {
    let Some(own) = &question.content else { return };
    html.markdown(&question.question, own, MAX_CONTENT_CHARS);
    if is_editable(own) {
        // Browsers drop the first line break within the element.
        html.markup("<textarea name=\"content\" rows=\"16\">\n").text_to(own, MAX_CONTENT_CHARS);
        html.markup("</textarea>\n");
    } else {
        html.markup("<pre>").text_to(own, MAX_CONTENT_CHARS).markup("</pre>\n");
    }
}

fn field(html: &mut Html, name: &str, field: &FormField) {
    let required = if field.required && field.default.is_none() { " required" } else { "" };
    let default = field.default.as_ref();
    html.markup("<p><label>").text(&field.label).markup(" ");
    match &field.kind {
        FieldKind::Text => input(html, "text", name, default, required),
        FieldKind::Number => input(html, "number\" step=\"any", name, default, required),
        FieldKind::Integer => input(html, "number\" step=\"1", name, default, required),
        FieldKind::Boolean => {
            let yes_or_no = [("yes", true), ("no", false)];
            select(html, name, required);
            for (word, value) in yes_or_no {
                option(html, word, word, default == Some(&Value::Bool(value)));
            }
            html.markup("</select>");
        }
        FieldKind::Choice(choices) => {
            select(html, name, required);
            for (number, choice) in choices.iter().enumerate() {
                let is_default = default.and_then(Value::as_str) == Some(choice);
                option(html, &number.to_string(), choice, is_default);
            }
            html.markup("</select>");
        }
        FieldKind::Choices(choices) => {
            html.markup("</label>");
            let defaults = default.and_then(Value::as_array);
            for (number, choice) in choices.iter().enumerate() {
                html.markup("<label><input type=\"checkbox\" name=\"").text(name).markup("\" value=\"");
                html.show(number).markup("\"");
                if defaults.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(choice))) {
                    html.markup(" checked");
                }
                html.markup("> ").text(choice).markup("</label> ");
            }
            html.markup("<label>");
        }
    }
    html.markup("</label></p>\n");
}

fn input(html: &mut Html, kind: &'static str, name: &str, default: Option<&Value>, required: &'static str) {
    html.markup("<input type=\"").markup(kind).markup("\" name=\"").text(name).markup("\"");
    let text = default.map(|default| default.as_str().map_or_else(|| default.to_string(), str::to_owned));
    // The default applies if the input stays empty.
    let text = text.filter(|text| is_editable(text) && text.chars().count() <= MAX_DEFAULT_CHARS);
    if let Some(text) = text {
        html.markup(" value=\"").text(&text).markup("\"");
    }
    html.markup(required).markup(">");
}

fn select(html: &mut Html, name: &str, required: &'static str) {
    html.markup("<select name=\"")
        .text(name)
        .markup("\"")
        .markup(required)
        .markup("><option value=\"\"></option>");
}

fn option(html: &mut Html, value: &str, text: &str, is_default: bool) {
    html.markup("<option value=\"").text(value).markup(if is_default { "\" selected>" } else { "\">" });
    html.text(text).markup("</option>");
}
