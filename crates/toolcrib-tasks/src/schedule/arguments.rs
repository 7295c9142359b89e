//! What the tools of schedules take and give.

use std::time::Duration;

use jiff::Zoned;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::{ErrorKind, ToolError};

use super::{
    MAX_CATCH_UP, MAX_LABEL_CHARS, MIN_CATCH_UP, Overlap, ScheduleRequest, ScheduleStatus, ScheduleTime,
    invalid,
};
use crate::{Action, Cron, Error, MAX_CRON_CHARS, MAX_PHRASE_CHARS, moment};

/// What stands before what is remembered when it is told.
const REMINDER: &str = "Reminder: ";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScheduleOnce {
    /// `2026-03-01T09:00`, `in 5m`, `tomorrow at 9am`, `dans 30 minutes`.
    #[schemars(length(max = MAX_PHRASE_CHARS))]
    when: String,
    action: Action,
    /// A name for people.
    #[schemars(length(max = MAX_LABEL_CHARS))]
    label: Option<String>,
    /// Such as `Europe/Paris`; where `when` names none.
    time_zone: Option<String>,
    /// How late it may run, in seconds, where the program was down; 3600.
    #[schemars(range(min = MIN_CATCH_UP.as_secs(), max = MAX_CATCH_UP.as_secs()))]
    catch_up: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScheduleCron {
    /// Minute, hour, day, month, day of the week, as `0 9 * * MON`; with six fields the second comes first.
    #[schemars(length(max = MAX_CRON_CHARS))]
    cron: String,
    action: Action,
    /// A name for people.
    #[schemars(length(max = MAX_LABEL_CHARS))]
    label: Option<String>,
    /// In which the pattern is meant, such as `Europe/Paris`.
    time_zone: Option<String>,
    /// Ends after so many runs; never where it is 0 or absent.
    max_runs: Option<u64>,
    /// What happens when a run is due and another is under way.
    #[serde(default)]
    overlap: Overlap,
    /// How late a run may be, in seconds, where the program was down; 3600. Of several missed the last is made.
    #[schemars(range(min = MIN_CATCH_UP.as_secs(), max = MAX_CATCH_UP.as_secs()))]
    catch_up: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remind {
    /// What to be reminded of, in a sentence.
    what: String,
    /// A moment, such as `tomorrow at 9am`, or a cron pattern for all that it means.
    #[schemars(length(max = MAX_CRON_CHARS))]
    when: String,
    /// What to do then, in place of telling `what`.
    action: Option<Action>,
    /// Such as `Europe/Paris`; where `when` names none.
    time_zone: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OneSchedule {
    /// The `schedule_id` that was given when it was made.
    pub(super) schedule_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AllSchedules {}

/// All schedules, in the order in which they were made.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Listed {
    pub(super) schedules: Vec<ScheduleStatus>,
}

impl ScheduleOnce {
    pub(super) fn request(
        self,
        now: impl Fn(Option<TimeZone>) -> Zoned,
    ) -> Result<ScheduleRequest, ToolError> {
        let now = now(zone(self.time_zone)?);
        let time = match moment(&self.when, &now) {
            Ok(at) => ScheduleTime::Once(at),
            Err(_) if Cron::parse(&self.when, now.time_zone()).is_ok() => {
                return Err(invalid(format!("`{}` means many moments, and one is wanted", self.when.trim()))
                    .with_hint("use `schedule_cron`"));
            }
            Err(error) => return Err(unreadable(&error)),
        };
        let mut request = ScheduleRequest::new(time, self.action);
        (request.label, request.catch_up) = (self.label, self.catch_up.map(Duration::from_secs));
        Ok(request)
    }
}

impl ScheduleCron {
    pub(super) fn request(
        self,
        now: impl Fn(Option<TimeZone>) -> Zoned,
    ) -> Result<ScheduleRequest, ToolError> {
        let now = now(zone(self.time_zone)?);
        let cron = Cron::parse(&self.cron, now.time_zone()).map_err(|error| unreadable(&error))?;
        let mut request = ScheduleRequest::new(ScheduleTime::Cron(Box::new(cron)), self.action);
        (request.label, request.catch_up) = (self.label, self.catch_up.map(Duration::from_secs));
        (request.max_runs, request.overlap) = (self.max_runs, self.overlap);
        Ok(request)
    }
}

impl Remind {
    pub(super) fn request(
        self,
        now: impl Fn(Option<TimeZone>) -> Zoned,
    ) -> Result<ScheduleRequest, ToolError> {
        let now = now(zone(self.time_zone)?);
        let time = match moment(&self.when, &now) {
            Ok(at) => ScheduleTime::Once(at),
            Err(error) => match Cron::parse(&self.when, now.time_zone()) {
                Ok(cron) => ScheduleTime::Cron(Box::new(cron)),
                Err(_) => return Err(unreadable(&error)),
            },
        };
        let what = self.what.trim();
        if what.is_empty() {
            return Err(invalid("there is nothing to remember: `what` is empty"));
        }
        let action = match self.action {
            Some(action) => action,
            None => Action::Notification { message: format!("{REMINDER}{what}"), channel: None },
        };
        let mut request = ScheduleRequest::new(time, action);
        // A label is short; the whole sentence is in the notification.
        request.label = Some(what.chars().take(MAX_LABEL_CHARS).collect());
        Ok(request)
    }
}

fn zone(name: Option<String>) -> Result<Option<TimeZone>, ToolError> {
    let Some(name) = name else { return Ok(None) };
    if let Ok(zone) = TimeZone::get(name.trim()) {
        return Ok(Some(zone));
    }
    let name: String = name.chars().take(MAX_PHRASE_CHARS).collect();
    Err(ToolError::new(ErrorKind::InvalidArgs, format!("there is no time zone `{name}`"))
        .with_hint("use a name such as `Europe/Paris`, `America/New_York` or `UTC`"))
}

fn unreadable(error: &Error) -> ToolError {
    invalid(error.to_string())
}
