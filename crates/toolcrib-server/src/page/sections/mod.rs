//! The sections of the page.

mod approval_link;
mod calls;
mod login;
mod overrides;
mod profiles;
mod questions;
mod sources;
mod tasks;
mod tools;
mod user_questions;

pub(crate) use approval_link::{LinkPage, link_page};
pub(crate) use login::{login_answered, login_question};
use maud::{DOCTYPE, Markup, html};
pub(crate) use overrides::OVERRIDE_FORM;
pub(crate) use profiles::PROFILE_FORM;
pub(crate) use questions::{answer_to, whole_arguments};
use toolcrib_app::sections::serve::{LOCAL_CLIENT, sessions_of};
use toolcrib_policy::Principal;
use toolcrib_registry::Entry;
use toolcrib_runtime::Runtime;
pub(crate) use user_questions::reply_to;

use super::html::text;
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
    let snapshot = view.runtime.snapshot();
    let tools = snapshot.iter().filter(|entry| view.sees(entry)).count();
    let tasks = view.tasks().await;
    let main = html! {
        p class="sum" {
            (tools) " tools · generation " (snapshot.generation()) " · toolcrib " (env!("CARGO_PKG_VERSION")) " · "
            @match view.viewer {
                Viewer::Anybody => "you read as anybody on this machine",
                Viewer::Client(client) => { "you read as the client " (text(&client.name)) }
                Viewer::Operator => "you are the operator",
                Viewer::Person(name) => { "you are " (text(name)) }
            }
        }
        @if let Some(told) = view.told { p class="told" role="status" { (told) } }
        (view.questions())
        (view.user_questions())
        (view.profiles())
        (view.overrides())
        (view.sources())
        (view.tools())
        (view.calls())
        (tasks)
    };
    document(view.runtime.app().id(), &main)
}

/// Renders the page for a viewer who has to sign in.
pub(crate) fn sign_in(is_wrong: bool) -> String {
    let main = html! {
        @if is_wrong {
            p class="told" role="status" { "That is neither the operator's key nor a token of this server." }
        }
        p { "Reading requires a token of this server, or the key that it printed when it started." }
        (sign_in_form())
    };
    document("sign in", &main)
}

fn sign_in_form() -> Markup {
    html! {
        form method="post" action="/sign-in" {
            label { "Key or token " input type="password" name="key" autocomplete="off" required; }
            " " button { "Sign in" }
        }
    }
}

fn document(title: &str, main: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                link rel="stylesheet" href="/status.css";
                link rel="icon" href="data:,";
                title { (text(title)) " · toolcrib" }
            }
            body {
                main {
                    h1 { (text(title)) }
                    (main)
                }
            }
        }
    };
    document.into_string()
}

fn heading(title: &str, count: usize) -> Markup {
    html! { h2 { (title) " " span class="count" { (count) } } }
}

fn table(columns: &[&str], rows: &Markup) -> Markup {
    html! {
        table {
            thead { tr { @for column in columns { th { (column) } } } }
            tbody { (rows) }
        }
    }
}

/// Returns the name of a session with its secret shortened.
pub(crate) fn session(text: &str) -> String {
    match text.rsplit_once('/') {
        Some((client, secret)) => {
            let shown: String = secret.chars().take(SESSION_CHARS).collect();
            format!("{client}/{shown}…")
        }
        None => text.chars().take(MAX_SESSION_CHARS).collect(),
    }
}

impl PageView<'_> {
    /// Renders the fields of a form that say which question it answers, with the seal that protects it.
    fn sealed_question(&self, id: u64, sealed: &str) -> Markup {
        html! {
            input type="hidden" name="question" value=(id);
            input type="hidden" name="seal" value=(self.page.keys.sealed(sealed));
        }
    }

    /// Returns true if the viewer may see data of this session.
    fn may_see(&self, session: &str) -> bool {
        match self.viewer {
            Viewer::Client(client) => session.starts_with(&sessions_of(&client.name)),
            Viewer::Anybody | Viewer::Operator | Viewer::Person(_) => true,
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
            Viewer::Anybody | Viewer::Operator | Viewer::Person(_) => LOCAL_CLIENT,
        };
        format!("{}-", sessions_of(client))
    }
}
