//! The texts that arguments are made of.

/// Texts without a trap.
pub(super) const PLAIN: [&str; 4] = ["pet", "a-b_c.d~e", "Hello", "42"];

/// Texts full of characters that mean something in one place or another.
pub(super) const NASTY: [&str; 18] = [
    "a b",
    "größe 漢字 🎉",
    "/?#[]@!$&'()*+,;=%",
    "../../etc/passwd?x=1#f",
    "a+b%20c",
    "100%",
    "%2e%2e%2f",
    "\"quoted\" \\ back`tick",
    "x&y=z&admin=true",
    "a;b=c",
    "one,two,three",
    "left|right",
    "<a>{b}^c",
    "a:b@c",
    "null",
    "true",
    "-",
    "{\"json\":[1]}",
];

/// Texts that cannot be sent everywhere.
pub(super) const HOSTILE: [&str; 14] = [
    "",
    ".",
    "..",
    "...",
    "%2e%2e",
    "%2E.",
    "a\r\nX-Evil: 1",
    "line\nbreak",
    "nul\u{0}byte",
    "\ttab\t",
    " around ",
    "\u{7f}",
    "\u{feff}\u{202e}",
    "--boundary\r\n\r\n",
];

/// Names of members.
pub(super) const KEYS: [&str; 6] = ["a b", "ключ", "x&y", "k=v", "n,m", "%41"];

/// Bytes as base64: text, an image's first bytes, all kinds of bytes, none.
pub(super) const BASE64: [&str; 4] = ["aGVsbG8=", "iVBORw0KGgo=", "AAEC/f7/DQotLWEtLQ0K", ""];

/// Texts of a format, where it has a form.
pub(super) fn of_format(format: &str) -> Option<&'static [&'static str]> {
    Some(match format {
        "date" => &["2024-02-29", "1999-12-31"],
        "date-time" => &["2024-02-29T23:59:59Z", "1999-12-31T00:00:00.5+01:00"],
        "time" => &["23:59:59Z", "00:00:00+01:00"],
        "duration" => &["P1DT2H", "PT0.5S"],
        "uuid" => &["123e4567-e89b-12d3-a456-426614174000"],
        "email" | "idn-email" => &["a.b+c@example.com"],
        "uri" | "url" | "iri" => &["https://example.com/a%20b?c=d&e=f#g"],
        "uri-reference" | "iri-reference" => &["/a?b=c#d", "../e"],
        "hostname" | "idn-hostname" => &["example.com"],
        "ipv4" => &["192.0.2.1"],
        "ipv6" => &["2001:db8::1"],
        "byte" => &["aGVsbG8=", "+/+/"],
        "json-pointer" => &["/a~1b/0"],
        "regex" => &["^a+$"],
        _ => return None,
    })
}
