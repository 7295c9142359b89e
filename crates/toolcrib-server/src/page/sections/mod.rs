//! The sections of the page.

mod calls;
mod questions;
mod sources;
mod tasks;
mod tools;
mod user_questions;

pub(crate) use questions::answer_to;
use toolcrib_app::sections::serve::{LOCAL_CLIENT, sessions_of};
use toolcrib_policy::Principal;
use toolcrib_registry::Entry;
use toolcrib_runtime::Runtime;
pub(crate) use user_questions::reply_to;

use super::html::Html;
use super::{PageState, Viewer};

/// The number of characters of a session's secret that are shown.
const SESSION_CHARS: usize = 6;

/// The maximum length of a session name that does not belong to a client, in characters.
const MAX_SESSION_CHARS: usize = 40;

/// The inputs for rendering the page.
pub(crate) struct PageView<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) page: &'a PageState,
    pub(crate) viewer: &'a Viewer,
    /// The search query. An empty one lists the tools.
    pub(crate) query: &'a str,
    /// The outcome of the previously submitted form.
    pub(crate) told: Option<&'static str>,
}

/// Renders the page.
pub(crate) async fn page(view: &PageView<'_>) -> String {
    let mut html = Html::default();
    head(&mut html, view.runtime.app().id());
    let snapshot = view.runtime.snapshot();
    html.markup("<p class=\"sum\">");
    html.show(snapshot.iter().filter(|entry| view.sees(entry)).count()).markup(" tools · generation ");
    html.show(snapshot.generation()).markup(" · toolcrib ").text(env!("CARGO_PKG_VERSION")).markup(" · ");
    match view.viewer {
        Viewer::Anybody => html.markup("you read as anybody on this machine"),
        Viewer::Client(client) => html.markup("you read as the client ").text(&client.name),
        Viewer::Operator => html.markup("you are the operator"),
    };
    html.markup("</p>\n");
    if let Some(told) = view.told {
        html.markup("<p class=\"told\" role=\"status\">").text(told).markup("</p>\n");
    }
    view.questions(&mut html);
    view.user_questions(&mut html);
    view.sources(&mut html);
    view.tools(&mut html);
    view.calls(&mut html);
    view.tasks(&mut html).await;
    html.markup("</main>\n</body>\n</html>\n");
    html.finish()
}

/// Renders the page for a viewer who has to sign in.
pub(crate) fn sign_in(is_wrong: bool) -> String {
    let mut html = Html::default();
    head(&mut html, "sign in");
    if is_wrong {
        html.markup("<p class=\"told\" role=\"status\">That is neither the operator's key nor a token of this server.</p>\n");
    }
    html.markup(
        "<p>Reading requires a token of this server, or the key that it printed when it started.</p>\n",
    );
    sign_in_form(&mut html);
    html.markup("</main>\n</body>\n</html>\n");
    html.finish()
}

fn sign_in_form(html: &mut Html) {
    html.markup(
        "<form method=\"post\" action=\"/sign-in\"><label>Key or token <input type=\"password\" name=\"key\" \
         autocomplete=\"off\" required></label> <button>Sign in</button></form>\n",
    );
}

fn head(html: &mut Html, title: &str) {
    html.markup(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"stylesheet\" href=\"/status.css\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
    );
    html.text(title).markup(" · toolcrib</title>\n</head>\n<body>\n<main>\n<h1>").text(title);
    html.markup("</h1>\n");
}

/// Adds the start of a table.
fn table(html: &mut Html, columns: &[&'static str]) {
    html.markup("<table>\n<thead><tr>");
    for column in columns {
        html.markup("<th>").markup(column).markup("</th>");
    }
    html.markup("</tr></thead>\n<tbody>\n");
}

fn end_table(html: &mut Html) {
    html.markup("</tbody>\n</table>\n");
}

fn cell(html: &mut Html, text: &str) {
    html.markup("<td>").text(text).markup("</td>");
}

/// Returns the name of a session with its secret shortened.
fn session(text: &str) -> String {
    match text.rsplit_once('/') {
        Some((client, secret)) => {
            let shown: String = secret.chars().take(SESSION_CHARS).collect();
            format!("{client}/{shown}…")
        }
        None => text.chars().take(MAX_SESSION_CHARS).collect(),
    }
}

impl PageView<'_> {
    /// Returns true if the viewer may see data of this session.
    fn may_see(&self, session: &str) -> bool {
        match self.viewer {
            Viewer::Client(client) => session.starts_with(&sessions_of(&client.name)),
            Viewer::Anybody | Viewer::Operator => true,
        }
    }

    /// Returns true if a tool is visible to the viewer.
    fn sees(&self, entry: &Entry) -> bool {
        self.runtime.executor().policy().is_visible(&entry.tool, Principal::new(&self.session()))
    }

    /// Returns the session under which the policy evaluates the viewer.
    fn session(&self) -> String {
        let client = match self.viewer {
            Viewer::Client(client) => client.name.as_str(),
            Viewer::Anybody | Viewer::Operator => LOCAL_CLIENT,
        };
        format!("{}-", sessions_of(client))
    }
}
