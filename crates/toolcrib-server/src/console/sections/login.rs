//! The pages of a login by a link.

use maud::html;
use url::form_urlencoded;

use super::super::html::text;
use super::document;

/// Renders the question whether an answer of an authorization server is for this user. `parameters` is the answer.
pub(crate) fn login_question(namespace: &str, user: &str, path: &str, parameters: &str) -> String {
    let main = html! {
        p {
            "The calls of " strong { (text(user)) } " to " strong { (text(namespace)) }
            " will have the login that you have just made."
        }
        p { "Agree only if you are this user, and have begun the login yourself. Otherwise close this window." }
        form method="post" action=(path) {
            @for (name, value) in form_urlencoded::parse(parameters.as_bytes()) {
                input type="hidden" name=(name) value=(value);
            }
            button { "Agree" }
        }
    };
    document("log in", &main)
}

/// Renders the end of a login.
pub(crate) fn login_answered(namespace: &str, has_code: bool) -> String {
    let main = html! {
        p {
            @if has_code {
                "The login at " strong { (text(namespace)) } " is being completed. You can close this window, and go back \
                 to your client."
            } @else {
                "There is no login at " strong { (text(namespace)) } ": the authorization server has refused it. You can \
                 close this window."
            }
        }
    };
    document("log in", &main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_named_and_an_answer_is_never_markup() {
        let html =
            login_question("crm", "al<b>ice", "/oauth/callback", "code=%22%3E%3Cscript%3E&state=s&iss=x");
        assert!(html.contains("<strong>al&lt;b&gt;ice</strong> to <strong>crm</strong>"), "{html}");
        assert!(
            html.contains(r#"<input type="hidden" name="code" value="&quot;&gt;&lt;script&gt;">"#),
            "{html}"
        );
        assert!(html.contains(r#"<form method="post" action="/oauth/callback">"#), "{html}");
    }
}
