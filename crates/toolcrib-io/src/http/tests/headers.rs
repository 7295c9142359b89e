//! What is read of the headers of an answer.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::http::{all_headers, retry_after, selected_headers};

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect()
}

#[test]
fn a_server_says_when_to_come_back_in_seconds_or_by_a_date() {
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    for (pairs, expected) in [
        (&[("retry-after", "120")][..], Some(120)),
        (&[("retry-after", "99999999999")], Some(86_400)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date], Some(30)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), date], Some(0)),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "soon")], None),
        (&[], None),
    ] {
        assert_eq!(retry_after(&headers(pairs)).map(|wait| wait.as_secs()), expected, "{pairs:?}");
    }
}

#[test]
fn some_headers_are_told_and_never_a_cookie() {
    let headers = headers(&[
        ("etag", "\"1\""),
        ("set-cookie", "session=1"),
        ("x-ratelimit-remaining", "3"),
        ("server", "x"),
    ]);
    let expected = [("etag", "\"1\""), ("x-ratelimit-remaining", "3")];
    assert_eq!(
        selected_headers(&headers).collect::<Vec<_>>(),
        expected.map(|(name, value)| (name.into(), value.into()))
    );
    let names: Vec<_> = all_headers(&headers).map(|(name, _)| name).collect();
    assert_eq!(names, ["etag", "x-ratelimit-remaining", "server"]);
}

#[test]
fn of_many_and_long_headers_the_beginning_is_told() {
    let mut headers = HeaderMap::new();
    for number in 0..60 {
        let name = HeaderName::try_from(format!("x-ratelimit-{number}")).unwrap();
        headers.insert(name, "9".repeat(1001).parse().unwrap());
    }
    let told: Vec<_> = selected_headers(&headers).collect();
    assert!(told.len() == 50 && told.iter().all(|(_, value)| value.len() == 1000));
}
