//! A page that a server asks the user to open. Nothing of it is fetched here, and the runtime does not see what the
//! user enters there.

use std::sync::Arc;

use toolcrib_model::UserQuestion;
use url::{Host, Url};

use super::reply::{Reply, YES_AND_NO, quoted};

/// The longest URL that is shown, in bytes.
const MAX_URL_BYTES: usize = 2_048;

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    message: String,
    url: Url,
    host: String,
}

impl Page {
    /// Parses the question. Only `https` URLs are permitted, and `http` to this machine.
    pub(super) fn read(message: &str, url: &str) -> Result<Self, String> {
        if url.len() > MAX_URL_BYTES {
            return Err(format!("its URL has more than {MAX_URL_BYTES} bytes"));
        }
        let url = Url::parse(url.trim()).map_err(|error| format!("its URL cannot be read: {error}"))?;
        let is_local = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if url.scheme() != "https" && !(url.scheme() == "http" && is_local) {
            return Err("its URL is not https".into());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("its URL has a user or a password".into());
        }
        // Lookalike letters are in their ASCII encoding here.
        let host = url.host_str().ok_or("its URL has no host")?.to_owned();
        Ok(Self { message: message.to_owned(), url, host })
    }

    pub(super) fn for_user(&self, session: &Arc<str>) -> UserQuestion {
        let Self { message, url, host } = self;
        let question = format!(
            "It wants you to open a page of `{host}` in your browser, and to go on when you are done there:\n{url}\n{}",
            quoted(message)
        );
        UserQuestion {
            choices: YES_AND_NO.map(str::to_owned).into(),
            ..UserQuestion::new(Arc::clone(session), question)
        }
    }

    /// Returns the reply. It contains nothing that the user entered on the page, which the server knows.
    #[expect(clippy::unused_self, reason = "as of a form")]
    pub(super) fn reply(&self, choice: Option<&str>) -> Reply {
        if choice == Some(YES_AND_NO[0]) { Reply::Accept(None) } else { Reply::Decline }
    }
}
