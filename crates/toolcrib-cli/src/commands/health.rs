//! `toolcrib health`.

use std::time::Duration;

use http::Method;
use serde_json::json;
use toolcrib_io::http::{HttpClient, HttpPolicy, Request};
use toolcrib_model::text::truncate_chars;
use url::Url;

use crate::arguments::Health;
use crate::exit::{Exit, Failure};
use crate::ui::output::{self, say};

/// The time in which the server has to answer: less than a probe waits.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The most bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 4 * 1024;

/// The most characters of an answer that are shown.
const MAX_SHOWN_CHARS: usize = 200;

/// The path of the check.
const PATH: &str = "/readyz";

pub(crate) async fn run(arguments: &Health, json: bool) -> Result<Exit, Failure> {
    let url = url(&arguments.address)?;
    let policy = HttpPolicy {
        // A probe asks a server of this machine or of its network.
        allow_private: true,
        timeout: TIMEOUT,
        max_response_bytes: MAX_ANSWER_BYTES,
        max_redirects: 0,
    };
    let failed = |error: toolcrib_io::Error| Failure::new(Exit::Unavailable, error.to_string());
    let http = HttpClient::new(policy).map_err(failed)?;
    let response = http.send(Request::new(Method::GET, url)).await.map_err(failed)?;
    let text = String::from_utf8_lossy(&response.body);
    let text = truncate_chars(text.trim(), MAX_SHOWN_CHARS);
    if !response.status.is_success() {
        let message = format!("the server answers with status {}: {text}", response.status.as_u16());
        return Err(Failure::new(Exit::Unavailable, message));
    }
    if json {
        output::json(&json!({"state": text}));
    } else {
        say(text);
    }
    Ok(Exit::Ok)
}

/// Returns the URL of the check.
fn url(address: &str) -> Result<Url, Failure> {
    let with_scheme = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let wrong = || {
        let message = format!("expected HOST:PORT or a URL, found `{}`", address.escape_debug());
        Failure::bad_input(message)
    };
    let mut url = Url::parse(&with_scheme).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong());
    }
    url.set_path(PATH);
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::url;

    #[test]
    fn an_address_or_a_url_names_the_check_of_its_server() {
        for (address, expected) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/readyz"),
            ("localhost:80", "http://localhost/readyz"),
            ("[::1]:9000", "http://[::1]:9000/readyz"),
            ("https://tools.example.com/mcp?x=1#y", "https://tools.example.com/readyz"),
        ] {
            assert_eq!(url(address).unwrap().as_str(), expected, "{address}");
        }
        for wrong in ["", "ftp://host", "http://", "a b", "unix:///run/x"] {
            let error = url(wrong).unwrap_err().message;
            assert_eq!(error, format!("expected HOST:PORT or a URL, found `{wrong}`"));
        }
    }
}
