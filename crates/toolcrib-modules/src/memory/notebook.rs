//! The stored notes and their changes. This module does no I/O.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::{ErrorKind, ToolError};

/// The maximum number of facts of one user, so that a model can look through them.
pub(crate) const MAX_FACTS: usize = 200;

/// The maximum length of a fact or of the title of a task, in characters.
pub const MAX_TEXT_CHARS: usize = 500;

/// The maximum length of a goal, in characters.
pub(crate) const MAX_GOAL_CHARS: usize = 1_000;

/// The maximum number of tasks of an agent in a session.
pub(crate) const MAX_TASKS: usize = 50;

/// The maximum number of plans (one for each agent in a session), and of users with facts. Beyond it, the least
/// recently changed one is dropped.
pub(crate) const MAX_OWNERS: usize = 100;

/// All notes of an app.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Notebook {
    /// The version of the file format; see [`Notebook::FORMAT`].
    pub(super) format: u32,
    /// The least recently changed one first.
    plans: Vec<Plan>,
    shelves: Vec<UserFacts>,
}

/// The goal and the tasks of one agent in one session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    session: String,
    agent: Option<String>,
    pub(super) goal: Option<String>,
    pub(super) tasks: Vec<Task>,
}

/// The facts of one user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UserFacts {
    user: Option<String>,
    /// The number of the latest fact. Numbers are not reused, so that an old one cannot mean a new fact.
    last: u64,
    pub(super) facts: Vec<Fact>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Task {
    /// Its number.
    pub(super) id: u64,
    /// The work to do.
    pub(super) title: String,
    /// Its progress.
    pub(super) status: TaskState,
}

/// The progress of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum TaskState {
    /// Not begun.
    #[default]
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
    /// No longer to be done.
    Cancelled,
}

/// A fact to remember.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Fact {
    /// Its number.
    pub(super) id: u64,
    /// Its text.
    pub(super) text: String,
}

/// The owner of notes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) session: &'a str,
    pub(super) agent: Option<&'a str>,
    pub(super) user: Option<&'a str>,
}

impl Notebook {
    /// The version of the file format that this release writes.
    pub(super) const FORMAT: u32 = 1;

    pub(super) fn new() -> Self {
        Self { format: Self::FORMAT, ..Self::default() }
    }

    /// Returns the plan of an agent in a session.
    pub(super) fn plan(&self, owner: Owner<'_>) -> Option<&Plan> {
        self.plans.iter().find(|plan| plan.is_of(owner))
    }

    /// Returns the facts of a user, the oldest first.
    pub(super) fn facts(&self, owner: Owner<'_>) -> &[Fact] {
        self.shelves
            .iter()
            .find(|facts| facts.user.as_deref() == owner.user)
            .map_or(&[], |facts| &facts.facts)
    }

    pub(super) fn set_goal(&mut self, owner: Owner<'_>, goal: &str) -> Result<(), ToolError> {
        let goal = check_length("goal", goal, MAX_GOAL_CHARS)?;
        self.plan_mut(owner).goal = (!goal.is_empty()).then(|| goal.to_owned());
        Ok(())
    }

    pub(super) fn set_tasks(
        &mut self,
        owner: Owner<'_>,
        tasks: impl ExactSizeIterator<Item = (String, TaskState)>,
    ) -> Result<(), ToolError> {
        if tasks.len() > MAX_TASKS {
            let message = format!("{} tasks are more than {MAX_TASKS}, the most that are kept", tasks.len());
            return Err(invalid(message).with_hint("put small steps into one task"));
        }
        let tasks = (1..).zip(tasks).map(|(id, (title, status))| {
            let title = check_length("title", &title, MAX_TEXT_CHARS)?;
            if title.is_empty() {
                return Err(invalid(format!("the title of task {id} is empty")));
            }
            Ok(Task { id, title: title.to_owned(), status })
        });
        let tasks = tasks.collect::<Result<_, ToolError>>()?;
        self.plan_mut(owner).tasks = tasks;
        Ok(())
    }

    pub(super) fn update_task(
        &mut self,
        owner: Owner<'_>,
        id: u64,
        status: TaskState,
    ) -> Result<(), ToolError> {
        let existing = self.plan(owner).map_or(&[][..], |plan| &plan.tasks);
        if !existing.iter().any(|task| task.id == id) {
            let numbers: Vec<String> = existing.iter().map(|task| task.id.to_string()).collect();
            let message = format!("there is no task {id}");
            return Err(ToolError::new(ErrorKind::NotFound, message).with_hint(match numbers.len() {
                0 => "there are no tasks; set them first".to_owned(),
                _ => format!("the tasks are {}", numbers.join(", ")),
            }));
        }
        for task in self.plan_mut(owner).tasks.iter_mut().filter(|task| task.id == id) {
            task.status = status;
        }
        Ok(())
    }

    /// Stores a fact. One that is already stored keeps its number.
    pub(super) fn remember(&mut self, owner: Owner<'_>, text: &str) -> Result<Fact, ToolError> {
        let text = check_length("text", text, MAX_TEXT_CHARS)?;
        if text.is_empty() {
            return Err(invalid("there is nothing to remember: `text` is empty".to_owned()));
        }
        if let Some(existing) = self.facts(owner).iter().find(|fact| fact.text == text) {
            return Ok(existing.clone());
        }
        let facts_of_user = self.user_facts_mut(owner);
        if facts_of_user.facts.len() >= MAX_FACTS {
            let message = format!("{MAX_FACTS} facts are remembered, and no more can be");
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("forget what is no longer true or needed, or put several facts into one"));
        }
        facts_of_user.last += 1;
        let fact = Fact { id: facts_of_user.last, text: text.to_owned() };
        facts_of_user.facts.push(fact.clone());
        Ok(fact)
    }

    pub(super) fn forget(&mut self, owner: Owner<'_>, id: u64) -> Result<Fact, ToolError> {
        let facts_of_user = self.user_facts_mut(owner);
        let Some(position) = facts_of_user.facts.iter().position(|fact| fact.id == id) else {
            return Err(ToolError::new(ErrorKind::NotFound, format!("there is no fact {id}"))
                .with_hint("recall the facts for their numbers"));
        };
        Ok(facts_of_user.facts.remove(position))
    }

    /// Forgets the plans of all agents of a session. Returns true if there were any.
    pub(super) fn end_session(&mut self, session: &str) -> bool {
        let before = self.plans.len();
        self.plans.retain(|plan| plan.session != session);
        self.plans.len() < before
    }

    fn plan_mut(&mut self, owner: Owner<'_>) -> &mut Plan {
        let new = || Plan {
            session: owner.session.to_owned(),
            agent: owner.agent.map(str::to_owned),
            ..Plan::default()
        };
        move_to_end_or_insert(&mut self.plans, |plan| plan.is_of(owner), new)
    }

    fn user_facts_mut(&mut self, owner: Owner<'_>) -> &mut UserFacts {
        let new = || UserFacts { user: owner.user.map(str::to_owned), ..UserFacts::default() };
        move_to_end_or_insert(&mut self.shelves, |facts| facts.user.as_deref() == owner.user, new)
    }
}

impl Plan {
    fn is_of(&self, owner: Owner<'_>) -> bool {
        self.session == owner.session && self.agent.as_deref() == owner.agent
    }
}

/// Returns the first item that fits, or a new one, and moves it to the end. If the list is full, its first item is
/// dropped.
fn move_to_end_or_insert<T>(
    list: &mut Vec<T>,
    fits: impl FnMut(&T) -> bool,
    new: impl FnOnce() -> T,
) -> &mut T {
    let item = match list.iter().position(fits) {
        Some(position) => list.remove(position),
        None => new(),
    };
    if list.len() >= MAX_OWNERS {
        list.remove(0);
    }
    list.push_mut(item)
}

fn check_length<'a>(argument: &str, text: &'a str, limit: usize) -> Result<&'a str, ToolError> {
    let text = text.trim();
    let count = text.chars().count();
    if count > limit {
        return Err(invalid(format!("`{argument}` has {count} characters, and may have {limit}"))
            .with_hint("say it in fewer words; a long text belongs into a file"));
    }
    Ok(text)
}

fn invalid(message: String) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}
