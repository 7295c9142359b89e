//! The arguments and outputs of the schedule tools.

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
use crate::time::{Cron, MAX_CRON_CHARS, MAX_PHRASE_CHARS, parse_time};
use crate::{Action, Error};

/// The prefix of the notification of a reminder.
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
    /// Such as `Europe/Paris`; applies if `when` names none.
    time_zone: Option<String>,
    /// The maximum delay in seconds if the program was down; 3600.
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
    /// The time zone of the pattern, such as `Europe/Paris`.
    time_zone: Option<String>,
    /// Ends after this number of runs; never if 0 or absent.
    max_runs: Option<u64>,
    /// The behavior if a run is due while another is in progress.
    #[serde(default)]
    overlap: Overlap,
    /// The maximum delay of a run in seconds if the program was down; 3600. Only the last missed run is made.
    #[schemars(range(min = MIN_CATCH_UP.as_secs(), max = MAX_CATCH_UP.as_secs()))]
    catch_up: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remind {
    /// The reminder, in a sentence.
    what: String,
    /// A time, such as `tomorrow at 9am`, or a cron pattern.
    #[schemars(length(max = MAX_CRON_CHARS))]
    when: String,
    /// The action to perform instead of sending `what`.
    action: Option<Action>,
    /// Such as `Europe/Paris`; applies if `when` names none.
    time_zone: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScheduleArguments {
    /// The `schedule_id` from its creation.
    pub(super) schedule_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListSchedules {}

/// All schedules, in the order of their creation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ScheduleList {
    pub(super) schedules: Vec<ScheduleStatus>,
}

impl ScheduleOnce {
    pub(super) fn request(
        self,
        now: impl Fn(Option<TimeZone>) -> Zoned,
    ) -> Result<ScheduleRequest, ToolError> {
        let now = now(zone(self.time_zone)?);
        let time = match parse_time(&self.when, &now) {
            Ok(at) => ScheduleTime::Once(at),
            Err(_) if Cron::parse(&self.when, now.time_zone()).is_ok() => {
                return Err(invalid(format!(
                    "expected one time, found the cron pattern `{}`",
                    self.when.trim()
                ))
                .with_hint("use `schedule_cron`"));
            }
            Err(error) => return Err(invalid_time(&error)),
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
        let cron = Cron::parse(&self.cron, now.time_zone()).map_err(|error| invalid_time(&error))?;
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
        let time = match parse_time(&self.when, &now) {
            Ok(at) => ScheduleTime::Once(at),
            Err(error) => match Cron::parse(&self.when, now.time_zone()) {
                Ok(cron) => ScheduleTime::Cron(Box::new(cron)),
                Err(_) => return Err(invalid_time(&error)),
            },
        };
        let what = self.what.trim();
        if what.is_empty() {
            return Err(invalid("`what` is empty"));
        }
        let action = match self.action {
            Some(action) => action,
            None => Action::Notification { message: format!("{REMINDER}{what}"), channel: None },
        };
        let mut request = ScheduleRequest::new(time, action);
        // The label is truncated; the notification contains the whole sentence.
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

fn invalid_time(error: &Error) -> ToolError {
    invalid(error.to_string())
}
