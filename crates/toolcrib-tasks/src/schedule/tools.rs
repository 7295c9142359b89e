//! The schedule tools.

use jiff::Zoned;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_sdk::{CallContext, FunctionTool, Module};

use super::Schedules;
use super::arguments::{ListSchedules, Remind, ScheduleArguments, ScheduleCron, ScheduleList, ScheduleOnce};
use crate::ActionSupport;

const ONCE: &str = "Do something once at a later time, such as send a message or call a tool. It survives a restart of \
the program; approval is requested when it runs";

const CRON: &str = "Do something repeatedly, at the times of a cron pattern, such as send a message or call a tool, until \
it is cancelled or `max_runs` is reached";

const CANCEL: &str = "Cancel a schedule, and its current run";

const LIST: &str = "List your schedules, with their next runs";

const STATUS: &str = "Show one schedule: its next runs, the numbers of runs made, missed and skipped, and the outcome of the last";

const REMIND: &str =
    "Set a reminder for a later time, or a repeated one; with `action` it runs that action instead";

/// The id of the module `scheduler`.
pub const SCHEDULER: &str = toolcrib_model::name::SCHEDULER_NAMESPACE;

/// The schedule tools. Without schedules they are only definitions: an app is validated with its modules, and opens its
/// schedules when it starts.
#[derive(Clone, Default)]
pub struct Scheduler {
    schedules: Option<Schedules>,
    means: ActionSupport,
}

impl Scheduler {
    /// Creates the tools for an app that supports the given actions.
    pub fn new(means: ActionSupport) -> Self {
        Self { schedules: None, means }
    }

    /// Sets the schedules that the tools operate on.
    pub fn with_schedules(self, schedules: Schedules) -> Self {
        Self { schedules: Some(schedules), ..self }
    }

    /// Returns the module `scheduler`: the tools in a separate namespace, which an app can allow and deny like any
    /// module.
    pub fn module(&self) -> Module {
        let module = Module::new(SCHEDULER, "Runs actions at a later time, or repeatedly.");
        self.tools().into_iter().fold(module.with_title("Scheduler"), Module::with_tool)
    }

    fn schedules(&self) -> Result<&Schedules, ToolError> {
        self.schedules.as_ref().ok_or_else(|| {
            ToolError::new(ErrorKind::Unavailable, "there are no schedules before the app has started")
        })
    }

    /// Returns `schedule_once`, `schedule_cron`, `schedule_cancel`, `schedule_list`, `schedule_status` and `remind`, as
    /// functions for the namespace of the runtime's built-in tools.
    pub fn tools(&self) -> Vec<FunctionTool> {
        let once = async |schedules: Schedules, given: ScheduleOnce, context: CallContext| {
            schedules.create(given.request(|zone| schedules.now(zone))?, &context).await
        };
        let cron = async |schedules: Schedules, given: ScheduleCron, context: CallContext| {
            schedules.create(given.request(|zone| schedules.now(zone))?, &context).await
        };
        let remind = async |schedules: Schedules, given: Remind, context: CallContext| {
            schedules.create(given.request(|zone| schedules.now(zone))?, &context).await
        };
        let cancel = async |schedules: Schedules, of: ScheduleArguments, context: CallContext| {
            schedules.cancel(&of.schedule_id, &context).await
        };
        let list = async |schedules: Schedules, _: ListSchedules, context: CallContext| {
            Ok(ScheduleList { schedules: schedules.list(&context) })
        };
        let status = async |schedules: Schedules, of: ScheduleArguments, context: CallContext| {
            schedules.status(&of.schedule_id, &context).await
        };
        let creating = |tool: FunctionTool| {
            tool.with_side_effects(["makes a schedule"])
                .with_metadata("target", json!({"name": "tool", "within": "action"}))
        };
        let tools = [
            creating(self.tool("schedule_once", ONCE, once)).with_aliases([
                "schedule",
                "run later",
                "at",
                "timer",
                "planifier",
                "programmer une tâche",
                "plus tard",
            ]),
            creating(self.tool("schedule_cron", CRON, cron)).with_aliases([
                "cron",
                "recurring task",
                "every day",
                "tâche récurrente",
                "tous les jours",
            ]),
            self.tool("schedule_cancel", CANCEL, cancel)
                .with_aliases(["unschedule", "stop a schedule", "annuler une planification"])
                .with_side_effects(["ends a schedule"])
                .with_metadata("idempotent", true),
            self.tool("schedule_list", LIST, list).with_aliases([
                "my schedules",
                "reminders",
                "mes rappels",
                "tâches planifiées",
            ]),
            self.tool("schedule_status", STATUS, status).with_aliases([
                "next run",
                "last run",
                "état d'une planification",
            ]),
            creating(self.tool("remind", REMIND, remind)).with_aliases([
                "remind me",
                "reminder",
                "alarm",
                "rappel",
                "rappelle-moi",
            ]),
        ];
        let own = |tool: FunctionTool| {
            let tool = tool.with_risk(Risk::Low).with_metadata("operational", true);
            tool.with_metadata("presence", "on_demand").with_parameters(|schema| self.means.fit(schema))
        };
        tools.into_iter().map(own).collect()
    }

    /// Returns a tool that operates on the schedules.
    fn tool<A, T, R>(
        &self,
        name: &str,
        description: &str,
        act: impl Fn(Schedules, A, CallContext) -> R + Clone + Send + Sync + 'static,
    ) -> FunctionTool
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: Serialize + JsonSchema,
        R: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let scheduler = self.clone();
        let act = move |arguments: A, context| {
            let (schedules, act) = (scheduler.schedules().cloned(), act.clone());
            async move { act(schedules?, arguments, context).await }
        };
        FunctionTool::new(name, description, act).with_output::<T>()
    }
}

impl Schedules {
    /// Returns the current time in a time zone, or in that of the settings.
    pub(super) fn now(&self, zone: Option<TimeZone>) -> Zoned {
        let zone = zone.unwrap_or_else(|| self.inner.settings.time_zone.clone());
        self.inner.ledger.services.clock.now().to_zoned(zone)
    }
}
