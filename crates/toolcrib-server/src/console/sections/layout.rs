//! The frame of the pages: their head, navigation and title.

use maud::{DOCTYPE, Markup, html};

use super::super::Viewer;
use super::super::html::text;
use super::ConsoleView;

/// A page of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Overview,
    Calls,
    /// One call.
    Call,
    Tools,
    /// One tool.
    Tool,
    /// A call that the operator has made.
    Trial,
    Tasks,
    Sessions,
    Policy,
}

impl Page {
    pub(crate) const ALL: [Self; 9] = [
        Self::Overview,
        Self::Calls,
        Self::Call,
        Self::Tools,
        Self::Tool,
        Self::Trial,
        Self::Tasks,
        Self::Sessions,
        Self::Policy,
    ];

    /// Returns the path of the page.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Overview => "/",
            Self::Calls => "/calls",
            Self::Call => "/call",
            Self::Tools => "/tools",
            Self::Tool => "/tool",
            Self::Trial => "/trial",
            Self::Tasks => "/tasks",
            Self::Sessions => "/sessions",
            Self::Policy => "/policy",
        }
    }

    /// Returns the page at a path.
    pub(crate) fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|page| page.path() == path)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Calls => "Calls",
            Self::Call => "Call",
            Self::Tools => "Tools",
            Self::Tool => "Tool",
            Self::Trial => "Result",
            Self::Tasks => "Tasks",
            Self::Sessions => "Sessions",
            Self::Policy => "Policy",
        }
    }

    /// Returns the page of the navigation that this one belongs to.
    fn section(self) -> Self {
        match self {
            Self::Call => Self::Calls,
            Self::Tool | Self::Trial => Self::Tools,
            other => other,
        }
    }
}

/// Renders a page.
pub(crate) async fn page(view: &ConsoleView<'_>, page: Page) -> String {
    let main = match page {
        Page::Overview => view.overview(),
        Page::Calls => view.calls(),
        Page::Call => view.call(),
        Page::Tools => view.tools(),
        Page::Tool => view.tool(),
        Page::Trial => view.trial(),
        Page::Tasks => view.tasks().await,
        Page::Sessions => view.sessions(),
        Page::Policy => view.policy(),
    };
    let (app, waiting) = (view.runtime.app().id(), view.console.waiting_ids(view.viewer).len());
    let title = html! {
        @if waiting > 0 { "(" (waiting) ") " }
        (page.title()) " · " (text(app)) " · toolcrib"
    };
    let head = html! {
        (title_of(&title))
        script src="/console.js" defer {}
    };
    let body = html! {
        a class="skip" href="#main" { "Skip to the content" }
        header {
            div class="bar" {
                a class="brand" href="/" { (text(app)) }
                span class="who" { (who(view.viewer)) }
            }
            (navigation(page.section(), waiting))
        }
        main id="main" {
            h1 { (page.title()) }
            @if let Some(told) = view.told { p class="told" role="status" { (told) } }
            (main)
        }
        footer { "toolcrib " (env!("CARGO_PKG_VERSION")) }
    };
    html_document(&head, &body)
}

fn navigation(current: Page, waiting: usize) -> Markup {
    let shown = Page::ALL.into_iter().filter(|page| page.section() == *page);
    html! {
        nav id="sections" aria-label="Sections" data-live="" {
            @for page in shown {
                a href=(page.path()) aria-current=[(page == current).then_some("page")] {
                    (page.title())
                    @if page == Page::Overview && waiting > 0 { " " span class="badge" { (waiting) " waiting" } }
                }
                " "
            }
        }
    }
}

fn who(viewer: &Viewer) -> Markup {
    html! {
        @match viewer {
            Viewer::Anybody => "you read as anybody on this machine",
            Viewer::Client(client) => { "you read as the client " (text(&client.name)) }
            Viewer::Operator => "you are the operator",
            Viewer::Person(name) => { "you are " (text(name)) }
        }
    }
}

/// Renders the page for a viewer who has to sign in.
pub(crate) fn sign_in(is_wrong: bool) -> String {
    let main = html! {
        @if is_wrong {
            p class="told" role="status" {
                "That is neither the operator's key nor a token of this server. A restart may have made another key: see \
                 what the server printed last."
            }
        }
        p { "Reading requires a token of this server, or the key that it printed when it started." }
        (sign_in_form())
    };
    document("sign in", &main)
}

pub(super) fn sign_in_form() -> Markup {
    html! {
        form method="post" action="/sign-in" {
            label { "Key or token " input type="password" name="key" autocomplete="off" required; }
            " " button { "Sign in" }
        }
    }
}

/// Renders a page without navigation and script.
pub(super) fn document(title: &str, main: &Markup) -> String {
    let head = title_of(&html! { (text(title)) " · toolcrib" });
    let body = html! {
        main {
            h1 { (text(title)) }
            (main)
        }
    };
    html_document(&head, &body)
}

fn title_of(title: &Markup) -> Markup {
    html! { title { (title) } }
}

fn html_document(head: &Markup, body: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                link rel="stylesheet" href="/console.css";
                link rel="icon" href="data:,";
                (head)
            }
            body { (body) }
        }
    };
    document.into_string()
}
