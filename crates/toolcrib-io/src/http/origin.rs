//! Origins in configurations.

use url::{Origin, Url};

/// Parses an origin of a configuration: `http://localhost:8080`, or a host alone, which means https. The error names the key
/// and says how an origin is written.
pub fn parse_origin(key: &str, text: &str) -> Result<Origin, String> {
    let full = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let is_origin = |url: &Url| {
        let rest = (url.path(), url.query(), url.fragment());
        matches!(url.scheme(), "http" | "https")
            && rest == ("/", None, None)
            && url.username().is_empty()
            && url.password().is_none()
            && !full.contains('*')
    };
    Url::parse(&full).ok().filter(is_origin).map(|url| url.origin()).ok_or_else(|| {
        format!(
            "`{text}` under `{key}` is not an origin; write `api.example.com`, or `http://localhost:8080` with scheme and \
             port"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_a_host_and_at_most_a_scheme_and_a_port() {
        for (text, expected) in [
            ("api.example.com", "https://api.example.com"),
            ("api.example.com:8443", "https://api.example.com:8443"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://127.0.0.1:80/", "http://127.0.0.1"),
            ("http://[::1]:9", "http://[::1]:9"),
        ] {
            assert_eq!(parse_origin("origins", text).unwrap().ascii_serialization(), expected);
        }
        for text in [
            "",
            "*",
            "*.example.com",
            "ftp://a.example",
            "a.example/x",
            "a.example?x",
            "u@a.example",
            ":p@a.example",
        ] {
            let error = parse_origin("origins", text).unwrap_err();
            assert!(
                error.starts_with(&format!("`{text}` under `origins` is not an origin; write")),
                "{error}"
            );
        }
    }
}
