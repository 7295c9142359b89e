//! The parser of time phrases. It computes dates with `jiff`. The crate `interim` reads English phrases only, and
//! these phrases are English and French.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{Span, Timestamp, ToSpan as _, Zoned};

use super::cron::excerpt;
use super::vocabulary::{PhraseToken, Unit, hour, is_filler, month, number, tokens, unit, weekday};
use crate::Error;

/// The maximum length of a phrase in characters.
pub(crate) const MAX_PHRASE_CHARS: usize = 100;

/// The default hour of a day without a time.
const DAY_HOUR: i8 = 9;

/// The first hour of the second half of the day.
const NOON: i8 = 12;

/// The hour at which the night of the previous day ends.
const NIGHT_ENDS: i8 = 5;

/// The numbers that are read as years.
const YEARS: std::ops::RangeInclusive<u32> = 1970..=9998;

/// Parses a time relative to `now`: in ISO 8601 (`2026-03-01T09:00:00Z`, `2026-03-01 09:00`, `PT5M`), or in English or
/// French (`in 5m`, `tomorrow at 9am`, `next friday`, `dans 30 minutes`, `le 1er mars à 9h30`). The default time zone
/// is that of `now`. A day without a time means nine o'clock; a time without a day means the next occurrence of that
/// time. The result may be in the past if the text is a date; `yesterday` is not supported.
///
/// ```
/// use jiff::Zoned;
///
/// let now: Zoned = "2026-02-27T18:00:00+01:00[Europe/Paris]".parse().unwrap();
/// let moment = toolcrib_tasks::time::parse_time("demain à 9h30", &now).unwrap();
/// assert_eq!(moment.to_string(), "2026-02-28T09:30:00+01:00[Europe/Paris]");
/// ```
pub fn parse_time(text: &str, now: &Zoned) -> Result<Zoned, Error> {
    let wrong = |reason: String| Error::InvalidMoment { text: excerpt(text), reason };
    let chars = text.chars().count();
    if chars > MAX_PHRASE_CHARS {
        return Err(wrong(format!("it has {chars} characters; the limit is {MAX_PHRASE_CHARS}")));
    }
    let text = text.trim();
    let out_of_range = |error: jiff::Error| wrong(error.to_string());
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment.to_zoned(now.time_zone().clone()));
    }
    if let Ok(date) = text.parse::<Date>()
        && text.chars().all(|character| character.is_ascii_digit() || character == '-')
    {
        return date.at(DAY_HOUR, 0, 0, 0).to_zoned(now.time_zone().clone()).map_err(out_of_range);
    }
    if let Ok(local) = text.parse::<DateTime>() {
        return local.to_zoned(now.time_zone().clone()).map_err(out_of_range);
    }
    if text.starts_with(['P', 'p'])
        && let Ok(span) = text.parse::<Span>()
    {
        return now.checked_add(span).map_err(out_of_range);
    }
    let tokens = tokens(text).ok_or_else(|| wrong("it has unexpected characters or numbers".to_owned()))?;
    if let Some(span) = distance(&tokens) {
        return now.checked_add(span).map_err(out_of_range);
    }
    let mut said = ParsedPhrase::default();
    said.read(&tokens).map_err(wrong)?;
    said.moment(now).map_err(wrong)
}

/// Parses a relative time, as in `in 2 hours and 30 minutes`. Returns `None` for other phrases.
fn distance(tokens: &[PhraseToken]) -> Option<Span> {
    let is = |token: Option<&PhraseToken>, words: &[&str]| matches!(token, Some(PhraseToken::Word(word)) if words.contains(&word.as_str()));
    let rest = match tokens {
        [first, rest @ ..] if is(Some(first), &["in", "dans"]) => rest,
        [rest @ .., from, now] if is(Some(from), &["from"]) && is(Some(now), &["now"]) => rest,
        [rest @ .., plus, tard] if is(Some(plus), &["plus"]) && is(Some(tard), &["tard"]) => rest,
        [rest @ .., later] if is(Some(later), &["later"]) => rest,
        _ => return None,
    };
    let mut span: Option<Span> = None;
    let mut words = rest.iter().peekable();
    let mut last: Option<Unit> = None;
    while let Some(token) = words.next() {
        let (amount, has_half) = match token {
            PhraseToken::Number(amount) => (*amount, false),
            PhraseToken::Word(word) if span.is_some() && ["and", "et"].contains(&word.as_str()) => continue,
            PhraseToken::Word(word) if ["half", "demi"].contains(&word.as_str()) => {
                // `half an hour`
                words.next_if(|next| is(Some(next), &["a", "an"]));
                (0, true)
            }
            PhraseToken::Word(word) => (number(word)?, false),
            PhraseToken::Colon => return None,
        };
        // `une demi-heure`
        let has_half = has_half || words.next_if(|next| is(Some(next), &["demi", "half"])).is_some();
        let unit = match words.next() {
            Some(PhraseToken::Word(word)) => unit(word)?,
            // `1h30`
            None if last == Some(Unit::Hour) => Unit::Minute,
            _ => return None,
        };
        span = Some(add(span.unwrap_or_default(), amount, has_half, unit)?);
        last = Some(unit);
    }
    span
}

/// Adds an amount of a unit, or half of the unit, to a span.
fn add(span: Span, amount: u32, is_half: bool, unit: Unit) -> Option<Span> {
    let amount = i64::from(amount);
    if is_half {
        return match unit {
            Unit::Minute => span.try_seconds(span.get_seconds() + 30).ok(),
            Unit::Hour => span.try_minutes(span.get_minutes() + 30).ok(),
            Unit::Day => span.try_hours(i64::from(span.get_hours()) + 12).ok(),
            Unit::Year => span.try_months(i64::from(span.get_months()) + 6).ok(),
            Unit::Second | Unit::Week | Unit::Month => None,
        };
    }
    match unit {
        Unit::Second => span.try_seconds(span.get_seconds() + amount),
        Unit::Minute => span.try_minutes(span.get_minutes() + amount),
        Unit::Hour => span.try_hours(i64::from(span.get_hours()) + amount),
        Unit::Day => span.try_days(i64::from(span.get_days()) + amount),
        Unit::Week => span.try_weeks(i64::from(span.get_weeks()) + amount),
        Unit::Month => span.try_months(i64::from(span.get_months()) + amount),
        Unit::Year => span.try_years(i64::from(span.get_years()) + amount),
    }
    .ok()
}

/// The day in a phrase.
#[derive(Clone, Copy, Debug)]
enum Day {
    /// A number of days from today.
    In(i32),
    /// The next day with this name. If the flag is true, it is not today.
    Named(Weekday, bool),
    /// A number of months from today.
    InMonths(i32),
    /// A day of a month, in a year if one is given.
    Of(i8, i8, Option<i16>),
}

/// The day and the time in a phrase.
#[derive(Default)]
struct ParsedPhrase {
    day: Option<Day>,
    time: Option<Time>,
    /// The hour that the time of day represents, as in `tomorrow morning`.
    part: Option<i8>,
    is_next: bool,
}

impl ParsedPhrase {
    fn read(&mut self, tokens: &[PhraseToken]) -> Result<(), String> {
        let mut rest = tokens;
        while let [first, behind @ ..] = rest {
            rest = match first {
                PhraseToken::Number(number) => self.number(*number, behind)?,
                PhraseToken::Word(word) => self.word(word, behind)?,
                PhraseToken::Colon => return Err("unexpected `:`".to_owned()),
            };
        }
        if self.day.is_none() && self.time.is_none() && self.part.is_none() {
            return Err("it has neither a day nor a time".to_owned());
        }
        Ok(())
    }

    fn word<'a>(&mut self, word: &str, behind: &'a [PhraseToken]) -> Result<&'a [PhraseToken], String> {
        let followed = |expected: &str| match behind {
            [PhraseToken::Word(next), rest @ ..] if next == expected => Some(rest),
            _ => None,
        };
        if ["next", "prochain", "prochaine"].contains(&word) {
            self.is_next = true;
            if let Some(Day::Named(_, is_next)) = &mut self.day {
                *is_next = true;
            }
            return Ok(behind);
        }
        if let Some(weekday) = weekday(word) {
            self.set_day(Day::Named(weekday, self.is_next))?;
            return Ok(behind);
        }
        if let Some(hour) = hour(word) {
            if word == "tonight" && self.day.is_none() {
                self.day = Some(Day::In(0));
            }
            if let (0 | NOON, None) = (hour, self.time) {
                self.time = Some(time(hour, 0, 0)?);
            } else {
                self.part = Some(hour);
            }
            return Ok(behind);
        }
        // `March 1`; `may` is a month only before a number.
        if let (Some(month), [PhraseToken::Number(day), rest @ ..]) = (month(word), behind) {
            return self.date(*day, month, rest);
        }
        match word {
            "today" => self.set_day(Day::In(0))?,
            "aujourd" => {
                self.set_day(Day::In(0))?;
                return Ok(followed("hui").unwrap_or(behind));
            }
            "tomorrow" | "demain" => self.set_day(Day::In(1))?,
            // `the day after tomorrow`, `après-demain`, `l'après-midi`
            "day" if followed("after").is_some() => {
                let after = followed("after").unwrap_or_default();
                let [PhraseToken::Word(last), rest @ ..] = after else {
                    return Err("it has no day after `after`".to_owned());
                };
                if last != "tomorrow" {
                    return Err("it has no day after `after`".to_owned());
                }
                self.set_day(Day::In(2))?;
                return Ok(rest);
            }
            "apres" => {
                if let Some(rest) = followed("demain") {
                    self.set_day(Day::In(2))?;
                    return Ok(rest);
                }
                if let Some(rest) = followed("midi") {
                    self.part = Some(15);
                    return Ok(rest);
                }
                return Err("it has no day after `after`".to_owned());
            }
            "week" | "semaine" => self.set_day(Day::In(7))?,
            "month" | "mois" => self.set_day(Day::InMonths(1))?,
            filler if is_filler(filler) => {}
            other => return Err(format!("`{other}` is not understood")),
        }
        Ok(behind)
    }

    fn number<'a>(&mut self, number: u32, behind: &'a [PhraseToken]) -> Result<&'a [PhraseToken], String> {
        let is = |word: &str, words: &[&str]| words.contains(&word);
        // A date: `1 March`, `1er mars`, `the 1st of March`.
        let mut after = behind;
        while let [PhraseToken::Word(word), rest @ ..] = after
            && is(word, &["st", "nd", "rd", "th", "er", "of"])
        {
            after = rest;
        }
        if let [PhraseToken::Word(word), rest @ ..] = after
            && let Some(month) = month(word)
        {
            return self.date(number, month, rest);
        }
        // A time: `9:30`, `9h30`, `9am`, and the hour alone.
        let (mut minute, mut second, mut rest) = (0, 0, behind);
        if let [PhraseToken::Colon, PhraseToken::Number(said), behind @ ..] = rest {
            (minute, rest) = (*said, behind);
            if let [PhraseToken::Colon, PhraseToken::Number(said), behind @ ..] = rest {
                (second, rest) = (*said, behind);
            }
        } else if let [PhraseToken::Word(word), behind @ ..] = rest
            && is(word, &["h", "heure", "heures"])
        {
            rest = behind;
            if let [PhraseToken::Number(said), behind @ ..] = rest {
                (minute, rest) = (*said, behind);
            }
        }
        let half = match rest {
            [PhraseToken::Word(word), behind @ ..] if is(word, &["am", "pm"]) => {
                rest = behind;
                Some(word == "pm")
            }
            // `9 a.m.`
            [PhraseToken::Word(word), PhraseToken::Word(m), behind @ ..]
                if is(word, &["a", "p"]) && m == "m" =>
            {
                rest = behind;
                Some(word == "p")
            }
            _ => None,
        };
        let hour = match (half, number) {
            (None, hour) => hour,
            (Some(is_second), 12) => {
                if is_second {
                    12
                } else {
                    0
                }
            }
            (Some(is_second), 1..12) => number + if is_second { 12 } else { 0 },
            (Some(_), _) => return Err(format!("{number} is not an hour with `am` or `pm`")),
        };
        if self.time.is_some() {
            return Err("it has two times".to_owned());
        }
        self.time = Some(time(hour, minute, second)?);
        Ok(rest)
    }

    fn date<'a>(
        &mut self,
        day: u32,
        month: i8,
        mut rest: &'a [PhraseToken],
    ) -> Result<&'a [PhraseToken], String> {
        let day = i8::try_from(day).map_err(|_| format!("no month has a day {day}"))?;
        while let [PhraseToken::Word(word), behind @ ..] = rest
            && ["st", "nd", "rd", "th"].contains(&word.as_str())
        {
            rest = behind;
        }
        let mut year = None;
        if let [PhraseToken::Number(said), behind @ ..] = rest
            && YEARS.contains(said)
        {
            (year, rest) = (i16::try_from(*said).ok(), behind);
        }
        self.set_day(Day::Of(day, month, year))?;
        Ok(rest)
    }

    fn set_day(&mut self, day: Day) -> Result<(), String> {
        if self.day.is_some() {
            return Err("it has two days".to_owned());
        }
        self.day = Some(day);
        Ok(())
    }

    fn moment(&self, now: &Zoned) -> Result<Zoned, String> {
        let mut time = match (self.time, self.part) {
            (Some(time), _) => time,
            (None, Some(hour)) => self::time(hour, 0, 0)?,
            (None, None) => self::time(DAY_HOUR, 0, 0)?,
        };
        let mut days_later = 0;
        if let (Some(said), Some(part)) = (self.time, self.part)
            && part >= NOON
            && said.hour() < NOON
        {
            // `8 in the evening`; an hour after midnight belongs to the next day.
            if part > 15 && said.hour() < NIGHT_ENDS {
                days_later = 1;
            } else {
                time = self::time(said.hour() + NOON, said.minute(), said.second())?;
            }
        }
        let today = now.date();
        let at = |date: Date| {
            let date = date.checked_add(i64::from(days_later).days()).map_err(error_message)?;
            date.to_datetime(time).to_zoned(now.time_zone().clone()).map_err(error_message)
        };
        let in_days =
            |days: i32| today.checked_add(i64::from(days).days()).map_err(error_message).and_then(at);
        match self.day {
            Some(Day::In(days)) => in_days(days),
            Some(Day::InMonths(months)) => {
                today.checked_add(i64::from(months).months()).map_err(error_message).and_then(at)
            }
            Some(Day::Named(weekday, is_next)) => {
                let until = i32::from(today.weekday().until(weekday));
                let first = in_days(until)?;
                if first <= *now || is_next && until == 0 { in_days(until + 7) } else { Ok(first) }
            }
            Some(Day::Of(day, month, Some(year))) => {
                Date::new(year, month, day).map_err(error_message).and_then(at)
            }
            Some(Day::Of(day, month, None)) => {
                // The 29th of February may be eight years away.
                const YEARS_AHEAD: i16 = 8;
                let moments =
                    (0..=YEARS_AHEAD).filter_map(|years| Date::new(today.year() + years, month, day).ok());
                let next = moments.map(at).find(|moment| moment.as_ref().map_or(true, |moment| moment > now));
                next.unwrap_or_else(|| Err(format!("the month {month} has no day {day}")))
            }
            None => {
                let first = in_days(0)?;
                if first > *now { Ok(first) } else { in_days(1) }
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn error_message(error: jiff::Error) -> String {
    error.to_string()
}

fn time(hour: impl TryInto<i8>, minute: impl TryInto<i8>, second: impl TryInto<i8>) -> Result<Time, String> {
    let small = || "the time does not exist".to_owned();
    let part = |part: Option<i8>| part.ok_or_else(small);
    let (hour, minute, second) =
        (part(hour.try_into().ok())?, part(minute.try_into().ok())?, part(second.try_into().ok())?);
    Time::new(hour, minute, second, 0).map_err(|_| small())
}
