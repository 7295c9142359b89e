//! The text formats of form fields.

use std::str::FromStr;

use jiff::civil::Date;
use rmcp::model::StringFormat;
use url::Url;

/// Returns true if a text has this format.
pub(super) fn has_format(text: &str, format: StringFormat) -> bool {
    match format {
        StringFormat::Email => is_email(text),
        StringFormat::Uri => Url::parse(text).is_ok(),
        StringFormat::Date => is_date(text),
        StringFormat::DateTime => {
            text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_time(time))
        }
        // Formats that this version does not know are checked by the server.
        _ => true,
    }
}

/// Returns the name of a format for messages.
pub(super) fn format_name(format: StringFormat) -> &'static str {
    match format {
        StringFormat::Email => "e-mail address",
        StringFormat::Uri => "URL",
        StringFormat::Date => "date, as 2026-01-31",
        StringFormat::DateTime => "time, as 2026-01-31T12:00:00Z",
        _ => "text of a certain form",
    }
}

fn is_email(text: &str) -> bool {
    let is_word =
        |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c.is_control());
    text.split_once('@').is_some_and(|(user, host)| is_word(user) && is_word(host) && !host.contains('@'))
}

/// Returns true for `YYYY-MM-DD` of a valid day.
fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    Date::new(year, month, day).is_ok()
}

/// Returns true for `HH:MM:SS`, optionally with a fraction, and the offset (RFC 3339).
fn is_time(text: &str) -> bool {
    let is_clock = |text: &str, count: usize| {
        let limits = [23, 59, 60];
        let parts: Vec<_> = text.split(':').collect();
        parts.len() == count
            && parts
                .iter()
                .zip(limits)
                .all(|(part, limit)| number::<u8>(part, 2).is_some_and(|it| it <= limit))
    };
    let (time, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => text.split_at(at),
        None => return false,
    };
    let is_offset = matches!(offset, "Z" | "z") || offset.get(1..).is_some_and(|clock| is_clock(clock, 2));
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    is_offset
        && is_clock(clock, 3)
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

fn number<N: FromStr>(text: &str, digits: usize) -> Option<N> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}
