//! The stored form of a schedule.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::time::ScheduleTime;
use super::timeline::ScheduleRun;
use crate::ledger::Task;
use crate::owner::Owner;
use crate::store::RecordKind;
use crate::time::Cron;
use crate::{Action, Error};

/// The version of the format that is written and read. Records of another version stay unchanged.
///
/// A field that an older program may ignore needs no new version: unknown fields are ignored, so that replicas of two
/// versions can share a store.
const FORMAT_VERSION: u32 = 1;

/// The behavior if a run is due while another is in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Overlap {
    /// The run is skipped, and counted as such.
    #[default]
    Skip,
    /// The run starts when the other has ended. Only the last of several is queued.
    QueueOne,
    /// The runs overlap.
    Allow,
}

/// The state of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScheduleState {
    /// It has future runs, or a current one.
    Active,
    /// The call of its current run waits for a person. It is displayed, and stored as [`Active`](Self::Active).
    WaitingForApproval,
    /// It has no more runs.
    Completed,
    /// It was cancelled.
    Cancelled,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunOutcome {
    /// The run is in progress.
    Running,
    /// The run succeeded.
    Succeeded,
    /// The run failed.
    Failed,
    /// The run was cancelled before it ended.
    Cancelled,
    /// The program ended during the run, so its effect is unknown.
    OutcomeUnknown,
}

/// The last run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastRun {
    /// The key of the run for tools and peers, which stays the same if it is repeated after a crash.
    pub run_key: String,
    /// The time at which it was due.
    #[schemars(with = "String")]
    pub due: Timestamp,
    /// The time of its start.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The time of its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub ended: Option<Timestamp>,
    /// Its outcome.
    pub outcome: RunOutcome,
    /// The beginning of its result or of its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A run that was started, and whose end was not recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ActiveRun {
    pub(super) due: Timestamp,
    /// True if the run may be repeated after its outcome was lost.
    pub(super) may_repeat: bool,
    /// The number of its starts.
    pub(super) attempts: u32,
    /// True while its call waits for a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) waits_for_person: bool,
    /// True while its call has not begun: until then, the run may be started again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_not_begun: bool,
}

/// The stored form of [`ScheduleTime`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StoredTime {
    Once {
        at: Timestamp,
        /// The time zone; here and below, the default is that of the settings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_zone: Option<String>,
    },
    Cron {
        pattern: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_zone: Option<String>,
    },
}

/// The stored form of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Schedule {
    form: u32,
    pub(super) owner: Owner,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    when: StoredTime,
    pub(super) action: Action,
    pub(super) overlap: Overlap,
    /// The maximum delay of a run in seconds.
    pub(super) catch_up: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_runs: Option<u64>,
    pub(super) state: ScheduleState,
    pub(super) created: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Timestamp>,
    /// The due time of the next run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<Timestamp>,
    /// The due time of the run that waits for the end of another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) queued: Option<Timestamp>,
    /// The number of runs that were started.
    pub(super) runs: u64,
    /// The number of runs that were missed because it was too late.
    pub(super) missed: u64,
    /// The number of runs that were skipped because another was in progress.
    pub(super) skipped: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) running: Vec<ActiveRun>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_run: Option<LastRun>,
    /// The latest runs that have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) past_runs: Vec<ScheduleRun>,
}

impl Schedule {
    /// Creates a schedule that has not run. `next` is the due time of its first run.
    pub(super) fn new(
        owner: Owner,
        time: &ScheduleTime,
        action: Action,
        created: Timestamp,
        next: Timestamp,
    ) -> Self {
        let name = |zone: &TimeZone| zone.iana_name().map(str::to_owned);
        let when = match time {
            ScheduleTime::Once(at) => {
                StoredTime::Once { at: at.timestamp(), time_zone: name(at.time_zone()) }
            }
            ScheduleTime::Cron(cron) => {
                StoredTime::Cron { pattern: cron.text().to_owned(), time_zone: name(cron.zone()) }
            }
        };
        Self {
            form: FORMAT_VERSION,
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
            past_runs: Vec::new(),
        }
    }

    /// Parses the body of a record. Returns the schedule and its times, or the reason why the record is unreadable.
    pub(super) fn read(body: &Value, zone: &TimeZone) -> Result<(Self, ScheduleTime), String> {
        let schedule = Self::deserialize(body).map_err(|error| error.to_string())?;
        if schedule.form != FORMAT_VERSION {
            return Err(format!(
                "it has format {}, and this version supports format {FORMAT_VERSION}",
                schedule.form
            ));
        }
        let zone_of = |name: &Option<String>| match name {
            Some(name) => TimeZone::get(name).map_err(|error| error.to_string()),
            None => Ok(zone.clone()),
        };
        let time = match &schedule.when {
            StoredTime::Once { at, time_zone } => ScheduleTime::Once(at.to_zoned(zone_of(time_zone)?)),
            StoredTime::Cron { pattern, time_zone } => {
                let cron = Cron::parse(pattern, &zone_of(time_zone)?);
                ScheduleTime::Cron(Box::new(cron.map_err(|error: Error| error.to_string())?))
            }
        };
        Ok((schedule, time))
    }

    /// Returns the maximum delay of a run.
    pub(super) fn catch_up(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::try_from(self.catch_up).unwrap_or(i64::MAX))
    }

    pub(super) fn is_active(&self) -> bool {
        self.state == ScheduleState::Active
    }
}

impl Task for Schedule {
    const KIND: RecordKind = RecordKind::Schedule;
    const NAME: &'static str = "schedule";
    const ID_PREFIX: &'static str = "schedule";
    const HINT_WITHOUT_TASKS: &'static str =
        "there are no schedules; create one with `schedule_once` or `schedule_cron`";

    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn created(&self) -> Timestamp {
        self.created
    }

    fn waits_for_person(&self) -> bool {
        self.running.iter().all(|started| started.waits_for_person)
    }

    fn ended(&self) -> Option<Timestamp> {
        self.ended
    }
}

/// Returns the key of a run.
pub(super) fn run_key(id: &str, due: Timestamp) -> String {
    format!("{id}@{due}")
}
