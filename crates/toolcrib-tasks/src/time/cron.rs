//! Cron patterns.

use std::fmt;
use std::str::FromStr as _;

use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::Error;

/// The maximum length of a pattern in characters.
pub(crate) const MAX_CRON_CHARS: usize = 200;

/// A cron pattern in a time zone, with five fields (minute, hour, day of the month, month, day of the week), or six
/// with the second first.
///
/// On days when clocks change, a pattern with a fixed hour matches once: a time that is skipped moves to the next time
/// that exists, and a time that occurs twice matches the first time. A pattern without a fixed hour (`*/10 * * * *`)
/// matches every time that clocks show.
///
/// ```
/// use jiff::tz::TimeZone;
/// use toolcrib_tasks::time::Cron;
///
/// let paris = TimeZone::get("Europe/Paris").unwrap();
/// let cron = Cron::parse("30 2 * * *", &paris).unwrap();
/// let next = cron.next_after("2026-02-28T12:00:00Z".parse().unwrap()).unwrap();
/// assert_eq!(next.to_string(), "2026-03-01T01:30:00Z");
/// ```
#[derive(Clone)]
pub struct Cron {
    pattern: croner::Cron,
    text: String,
    zone: TimeZone,
}

impl Cron {
    /// Parses a pattern. A pattern that never matches, such as the 30th of February, is an error.
    pub fn parse(text: &str, zone: &TimeZone) -> Result<Self, Error> {
        let wrong = |reason: String| Error::InvalidCron { text: excerpt(text), reason };
        let chars = text.chars().count();
        if chars > MAX_CRON_CHARS {
            return Err(wrong(format!("it has {chars} characters; the limit is {MAX_CRON_CHARS}")));
        }
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let pattern = parser.parse(text.trim()).map_err(|error| wrong(reason(error)))?;
        let cron = Self { pattern, text: text.trim().to_owned(), zone: zone.clone() };
        // A start far from the limits of `Timestamp`, so that a leap day follows.
        let any = Timestamp::from_str("2027-01-01T00:00:00Z").unwrap_or_default();
        match cron.next_after(any) {
            Some(_) => Ok(cron),
            None => Err(wrong("it never matches".to_owned())),
        }
    }

    /// Returns the first match after a time.
    pub fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
        let start: Zoned = moment.to_zoned(self.zone.clone());
        let next = self.pattern.find_next_occurrence(&start, false).ok()?;
        Some(next.timestamp())
    }

    /// Returns the source text of the pattern.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the time zone.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {:?}", self.text, self.zone)
    }
}

/// Returns the reason of an error, as a part of a sentence.
fn reason(error: CronError) -> String {
    let text = match error {
        CronError::EmptyPattern => "it is empty".to_owned(),
        CronError::InvalidPattern(text)
        | CronError::IllegalCharacters(text)
        | CronError::ComponentError(text) => text,
        other => other.to_string(),
    };
    text.trim_end_matches('.').to_owned()
}

/// Returns the start of a text for a quote in an error.
pub(super) fn excerpt(text: &str) -> String {
    const QUOTED: usize = 100;
    text.chars().take(QUOTED).collect()
}
