//! The pages of the console and their sections.

mod approval_link;
mod approvals;
mod call;
mod calls;
mod diffs;
mod layout;
mod login;
mod overrides;
mod overview;
mod policy;
mod profiles;
mod sessions;
mod sources;
mod tasks;
mod tool;
mod tools;
mod user_questions;

pub(crate) use approval_link::{LinkPage, link_page};
pub(crate) use approvals::{PUSH_FORM, answer_to, whole_arguments};
pub(crate) use call::REPLAY_FORM;
pub(crate) use layout::{Page, page, sign_in};
pub(crate) use login::{login_answered, login_question};
pub(crate) use overrides::OVERRIDE_FORM;
pub(crate) use profiles::PROFILE_FORM;
pub(crate) use tool::trial_of;
pub(super) use user_questions::input_of;
pub(crate) use user_questions::reply_to;

use maud::{Markup, html};
use toolcrib_app::sections::serve::{LOCAL_CLIENT, sessions_of};
use toolcrib_exec::DryRun;
use toolcrib_policy::Principal;
use toolcrib_registry::Entry;
use toolcrib_runtime::Runtime;
use url::form_urlencoded;

use self::layout::{document, sign_in_form};
use super::{ConsoleState, Fields, Viewer};

/// The number of characters of a session's secret that are shown.
const SESSION_CHARS: usize = 6;

/// The maximum length of a session name that does not belong to a client, in characters.
const MAX_SESSION_CHARS: usize = 40;

/// The inputs for rendering a page.
pub(crate) struct ConsoleView<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) console: &'a ConsoleState,
    pub(crate) viewer: &'a Viewer,
    /// The fields of the request.
    pub(crate) fields: &'a Fields,
    /// The outcome of the previously submitted form.
    pub(crate) told: Option<&'static str>,
    /// The outcome of the dry run that the request asks for.
    pub(crate) dry_run: Option<Result<DryRun, String>>,
}

fn heading(title: &str, count: usize) -> Markup {
    html! { h2 { (title) " " span class="count" { (count) } } }
}

/// Renders a table that scrolls on its own where it is wider than the page. The caption is for readers of the screen.
fn table(caption: &str, columns: &[&str], rows: &Markup) -> Markup {
    html! {
        div class="table" role="region" tabindex="0" aria-label=(caption) {
            table {
                thead { tr { @for column in columns { th scope="col" { (column) } } } }
                tbody { (rows) }
            }
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

/// Returns a path with a query of these fields. Empty ones are left out.
fn link(path: &str, fields: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields.iter().filter(|(_, value)| !value.is_empty()));
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// A page of a long list.
struct Slice {
    /// The number of the page, from 1.
    number: usize,
    pages: usize,
    skipped: usize,
}

impl Slice {
    /// Returns the requested page of a list, or the nearest one that exists.
    fn new(requested: &str, length: usize, size: usize) -> Self {
        let pages = length.div_ceil(size).max(1);
        let number = requested.parse::<usize>().unwrap_or(1).clamp(1, pages);
        Self { number, pages, skipped: (number - 1) * size }
    }

    /// Renders the links to the other pages.
    fn links(&self, path: &str, fields: &[(&str, &str)]) -> Markup {
        let to = |number: usize| {
            let number = number.to_string();
            let fields: Vec<_> = fields.iter().copied().chain([("page", number.as_str())]).collect();
            link(path, &fields)
        };
        html! {
            @if self.pages > 1 {
                nav class="pages" aria-label="Pages" {
                    @if self.number > 1 { a rel="prev" href=(to(self.number - 1)) { "Previous" } " " }
                    "page " (self.number) " of " (self.pages)
                    @if self.number < self.pages { " " a rel="next" href=(to(self.number + 1)) { "Next" } }
                }
            }
        }
    }
}

impl ConsoleView<'_> {
    /// Renders the fields of a form that say which question it answers, with the seal that protects it.
    fn sealed_question(&self, place: &str, sealed: &str) -> Markup {
        html! {
            input type="hidden" name="question" value=(place);
            (self.seal(sealed))
        }
    }

    /// Renders the seal that protects a form.
    fn seal(&self, sealed: &str) -> Markup {
        html! { input type="hidden" name="seal" value=(self.console.sealed(sealed)); }
    }

    /// Returns a field of the request, without surrounding blanks and truncated.
    fn field(&self, name: &str, max_chars: usize) -> String {
        self.fields.get(name).unwrap_or_default().trim().chars().take(max_chars).collect()
    }

    /// Returns true if the viewer is told of everything, including what clients may not use.
    fn sees_all(&self) -> bool {
        self.viewer.approver().is_some()
    }

    /// Returns a function that returns true if a tool is visible to the viewer.
    fn visibility(&self) -> impl Fn(&Entry) -> bool {
        let (policy, session) = (self.runtime.executor().policy(), self.session());
        move |entry| policy.is_visible(&entry.tool, Principal::new(&session))
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

#[cfg(test)]
mod tests {
    use super::{Slice, link};

    #[test]
    fn the_pages_of_a_list_are_those_that_exist() {
        for (requested, length, number, skipped) in
            [("", 0, 1, 0), ("2", 100, 1, 0), ("2", 101, 2, 100), ("99999", 250, 3, 200), ("-1", 250, 1, 0)]
        {
            let slice = Slice::new(requested, length, 100);
            assert_eq!((slice.number, slice.skipped), (number, skipped), "{requested} of {length}");
        }
        let links = Slice::new("2", 250, 100).links("/calls", &[("q", "a&b")]).into_string();
        assert!(links.contains("href=\"/calls?q=a%26b&amp;page=3\""), "{links}");
        assert_eq!(link("/calls", &[("q", "")]), "/calls");
    }
}
