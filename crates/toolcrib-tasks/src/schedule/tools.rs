//! The tools of schedules.

use std::fmt;
use std::future::ready;
use std::sync::{Arc, OnceLock};

use jiff::Zoned;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_sdk::{CallContext, FunctionTool, Module};

use super::arguments::{AllSchedules, Listed, OneSchedule, Remind, ScheduleCron, ScheduleOnce};
use super::{ScheduleRequest, ScheduleStatus, Schedules};
use crate::TaskMeans;

const ONCE: &str = "Do something at one later moment, such as tell a message or call a tool. It is done also when the program \
                    was restarted meanwhile; permission is asked when it is done";

const CRON: &str = "Do something again and again, at all moments of a cron pattern, such as tell a message or call a tool, until \
                    it is cancelled or `max_runs` is reached";

const CANCEL: &str = "Cancel a schedule, and the run of it that is under way";

const LIST: &str = "List the schedules that you have made, with their next runs";

const STATUS: &str =
    "Show one schedule: its next runs, how many were made, missed and skipped, and what came of the last";

const REMIND: &str = "Be reminded of something at a later moment, or again and again; with `action` it is done rather than told";

/// What such a tool makes.
const MAKES: [&str; 1] = ["makes a schedule"];

/// The id of the module `scheduler`.
pub const SCHEDULER: &str = "scheduler";

/// The tools of schedules, which can be made before there are any schedules: an app is checked with the modules that it names,
/// and opens its schedules when it starts. Clones share them.
#[derive(Clone, Default)]
pub struct Scheduler {
    schedules: Arc<OnceLock<Schedules>>,
    means: TaskMeans,
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("is_open", &self.schedules.get().is_some()).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// The tools for an app that has this for its tasks.
    pub fn new(means: TaskMeans) -> Self {
        Self { schedules: Arc::default(), means }
    }

    /// Gives the tools the schedules that they are about. Only the first are taken.
    pub fn open(&self, schedules: &Schedules) {
        let _ = self.schedules.set(schedules.clone());
    }

    /// The module `scheduler`: the tools in a namespace of their own, for an app to allow and deny as those of any other
    /// module.
    pub fn module(&self) -> Module {
        let module = Module::new(SCHEDULER, "Does things at a later moment, or again and again.");
        self.tools().into_iter().fold(module.with_title("Scheduler"), Module::with_tool)
    }

    fn schedules(&self) -> Result<&Schedules, ToolError> {
        self.schedules.get().ok_or_else(|| {
            ToolError::new(ErrorKind::Unavailable, "there are no schedules before the app has started")
        })
    }

    /// `schedule_once`, `schedule_cron`, `schedule_cancel`, `schedule_list`, `schedule_status` and `remind`, as functions
    /// that belong into the namespace of the runtime's own tools.
    pub fn tools(&self) -> Vec<FunctionTool> {
        let tools = vec![
            self.making("schedule_once", ONCE, |given: ScheduleOnce, schedules| {
                given.request(|zone| schedules.now(zone))
            })
            .with_aliases([
                "schedule",
                "run later",
                "at",
                "timer",
                "planifier",
                "programmer une tâche",
                "plus tard",
            ]),
            self.making("schedule_cron", CRON, |given: ScheduleCron, schedules| {
                given.request(|zone| schedules.now(zone))
            })
            .with_aliases([
                "cron",
                "recurring task",
                "every day",
                "tâche récurrente",
                "tous les jours",
            ]),
            self.of_one("schedule_cancel", CANCEL, |schedules, id, context| async move {
                schedules.cancel(&id, &context).await
            })
            .with_aliases(["unschedule", "stop a schedule", "annuler une planification"])
            .with_side_effects(["ends a schedule"])
            .with_metadata("idempotent", true),
            self.listing(),
            self.of_one("schedule_status", STATUS, |schedules, id, context| async move {
                schedules.status(&id, &context).await
            })
            .with_aliases(["next run", "last run", "état d'une planification"]),
            self.making("remind", REMIND, |given: Remind, schedules| {
                given.request(|zone| schedules.now(zone))
            })
            .with_aliases(["remind me", "reminder", "alarm", "rappel", "rappelle-moi"]),
        ];
        let own = |tool: FunctionTool| {
            let tool = tool.with_risk(Risk::Low).with_metadata("operational", true);
            tool.with_metadata("presence", "on_demand").with_parameters(|schema| self.means.fit(schema))
        };
        tools.into_iter().map(own).collect()
    }

    /// A tool that makes a schedule of what it is given.
    fn making<A, F>(&self, name: &str, description: &str, read: F) -> FunctionTool
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, &Schedules) -> Result<ScheduleRequest, ToolError> + Clone + Send + Sync + 'static,
    {
        let scheduler = self.clone();
        let make = move |given: A, context: CallContext| {
            let (scheduler, read) = (scheduler.clone(), read.clone());
            async move {
                let schedules = scheduler.schedules()?;
                schedules.create(read(given, schedules)?, &context).await
            }
        };
        FunctionTool::new(name, description, make)
            .with_output::<ScheduleStatus>()
            .with_side_effects(MAKES)
            .with_metadata("target", json!({"name": "tool", "within": "action"}))
    }

    /// A tool that does something with one schedule.
    fn of_one<F, R>(&self, name: &str, description: &str, act: F) -> FunctionTool
    where
        F: Fn(Schedules, String, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ScheduleStatus, ToolError>> + Send + 'static,
    {
        let (scheduler, act) = (self.clone(), Arc::new(act));
        let act = move |given: OneSchedule, context| {
            let (scheduler, act) = (scheduler.clone(), Arc::clone(&act));
            async move { act(scheduler.schedules()?.clone(), given.schedule_id, context).await }
        };
        FunctionTool::new(name, description, act).with_output::<ScheduleStatus>()
    }

    fn listing(&self) -> FunctionTool {
        let scheduler = self.clone();
        let list = move |_: AllSchedules, context: CallContext| {
            ready(scheduler.schedules().map(|schedules| Listed { schedules: schedules.list(&context) }))
        };
        FunctionTool::new("schedule_list", LIST, list).with_output::<Listed>().with_aliases([
            "my schedules",
            "reminders",
            "mes rappels",
            "tâches planifiées",
        ])
    }
}

impl Schedules {
    /// What the clock shows in a zone, or in that of the settings.
    pub(super) fn now(&self, zone: Option<TimeZone>) -> Zoned {
        let zone = zone.unwrap_or_else(|| self.inner.settings.time_zone.clone());
        self.inner.services.clock.now().to_zoned(zone)
    }
}
