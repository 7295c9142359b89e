//! One schedule, as it is kept.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::time::ScheduleTime;
use crate::owner::Owner;
use crate::{Action, Change, Cron, Error, Kind, Record};

/// The form that this version writes and reads. One of another form is left as it is.
const FORM: u32 = 1;

/// What happens when a run is due and the one before has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Overlap {
    /// It is not made, and counted as skipped.
    #[default]
    Skip,
    /// It is made when the other has ended; of several the last.
    QueueOne,
    /// It is made beside the other.
    Allow,
}

/// How a schedule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScheduleState {
    /// It has runs to come, or one under way.
    Active,
    /// It has a run under way, whose call waits for a person. It is told, and kept as [`Active`](Self::Active).
    WaitingForApproval,
    /// It has no more runs to come.
    Completed,
    /// It was cancelled.
    Cancelled,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunOutcome {
    /// Nothing yet.
    Running,
    /// It was done.
    Succeeded,
    /// It was not done.
    Failed,
    /// It was cancelled before it had ended.
    Cancelled,
    /// The program ended while it was under way: whether it did what it does, nobody knows.
    OutcomeUnknown,
}

/// The run of a schedule that was started last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LastRun {
    /// What tools and peers know it by: the same when it is made again after a crash.
    pub run_key: String,
    /// The moment that it was due.
    #[schemars(with = "String")]
    pub due: Timestamp,
    /// When it was started.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub ended: Option<Timestamp>,
    /// What came of it.
    pub outcome: RunOutcome,
    /// The beginning of its result, or why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A run that was started, and of whose end nothing is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Started {
    pub(super) due: Timestamp,
    /// Whether it may be made again when nobody knows what came of it.
    pub(super) may_repeat: bool,
    /// How often it was started.
    pub(super) attempts: u32,
    /// True while its call waits for a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) waits_for_person: bool,
}

/// When it runs, as it is written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum When {
    Once {
        at: Timestamp,
        /// Without one it is that of the settings, as everywhere below.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_zone: Option<String>,
    },
    Cron {
        pattern: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_zone: Option<String>,
    },
}

/// A schedule, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Schedule {
    form: u32,
    pub(super) owner: Owner,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    when: When,
    pub(super) action: Action,
    pub(super) overlap: Overlap,
    /// How late a run may be started, in seconds.
    pub(super) catch_up: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_runs: Option<u64>,
    pub(super) state: ScheduleState,
    pub(super) created: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Timestamp>,
    /// The first moment that nothing has been decided of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<Timestamp>,
    /// The run that waits for the end of another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) queued: Option<Timestamp>,
    /// How many runs were started.
    pub(super) runs: u64,
    /// How many were not because it was too late.
    pub(super) missed: u64,
    /// How many were not because another was under way.
    pub(super) skipped: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) running: Vec<Started>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_run: Option<LastRun>,
}

impl Schedule {
    /// One that has not run. `next` is its first moment.
    pub(super) fn new(
        owner: Owner,
        time: &ScheduleTime,
        action: Action,
        created: Timestamp,
        next: Timestamp,
    ) -> Self {
        let name = |zone: &TimeZone| zone.iana_name().map(str::to_owned);
        let when = match time {
            ScheduleTime::Once(at) => When::Once { at: at.timestamp(), time_zone: name(at.time_zone()) },
            ScheduleTime::Cron(cron) => {
                When::Cron { pattern: cron.text().to_owned(), time_zone: name(cron.zone()) }
            }
        };
        Self {
            form: FORM,
            owner,
            label: None,
            when,
            action,
            overlap: Overlap::default(),
            catch_up: 0,
            max_runs: None,
            state: ScheduleState::Active,
            created,
            ended: None,
            next: Some(next),
            queued: None,
            runs: 0,
            missed: 0,
            skipped: 0,
            running: Vec::new(),
            last_run: None,
        }
    }

    /// Reads one, and when it runs. What is wrong with it, where it cannot be read.
    pub(super) fn read(record: &Record, zone: &TimeZone) -> Result<(Self, ScheduleTime), String> {
        let schedule = Self::deserialize(&record.body).map_err(|error| error.to_string())?;
        if schedule.form != FORM {
            return Err(format!("it is of form {}, and this version knows {FORM}", schedule.form));
        }
        let zone_of = |name: &Option<String>| match name {
            Some(name) => TimeZone::get(name).map_err(|error| error.to_string()),
            None => Ok(zone.clone()),
        };
        let time = match &schedule.when {
            When::Once { at, time_zone } => ScheduleTime::Once(at.to_zoned(zone_of(time_zone)?)),
            When::Cron { pattern, time_zone } => {
                let cron = Cron::parse(pattern, &zone_of(time_zone)?);
                ScheduleTime::Cron(Box::new(cron.map_err(|error: Error| error.to_string())?))
            }
        };
        Ok((schedule, time))
    }

    /// The change that keeps it.
    pub(super) fn put(&self, id: &str) -> Change {
        let (id, session) = (id.to_owned(), self.owner.session.clone());
        Change::Put(Record { kind: Kind::Schedule, id, session, body: json!(self) })
    }

    /// How late a run may be started.
    pub(super) fn catch_up(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::try_from(self.catch_up).unwrap_or(i64::MAX))
    }

    pub(super) fn is_active(&self) -> bool {
        self.state == ScheduleState::Active
    }
}

/// What a run is known by.
pub(super) fn run_key(id: &str, due: Timestamp) -> String {
    format!("{id}@{due}")
}
