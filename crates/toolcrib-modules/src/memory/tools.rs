//! The tools of the module.

use toolcrib_model::Risk;
use toolcrib_sdk::{CallContext, FunctionTool, Module};

use super::ID;
use super::arguments::{
    Forget, Goal, Recall, RecallOutput, Remember, SetGoal, SetTasks, TasksOutput, UpdateTask,
};
use super::notebook::{Fact, Notebook, Owner};
use super::recall::recall;
use super::store::Memory;

/// Returns the module `memory`: `set_goal`, `set_tasks`, `update_task`, `remember`, `recall`, `forget`.
pub fn module(memory: &Memory) -> Module {
    Module::new(ID, "Keeps the goal, the tasks, and facts for later.")
        .with_tool(set_goal(memory.clone()))
        .with_tool(set_tasks(memory.clone()))
        .with_tool(update_task(memory.clone()))
        .with_tool(remember(memory.clone()))
        .with_tool(recall_tool(memory.clone()))
        .with_tool(forget(memory.clone()))
}

fn set_goal(memory: Memory) -> FunctionTool {
    let function = move |arguments: SetGoal, context: CallContext| {
        let memory = memory.clone();
        async move {
            let change = move |notebook: &mut Notebook, owner: Owner<'_>| {
                notebook.set_goal(owner, &arguments.goal)?;
                Ok(Goal { goal: notebook.plan(owner).and_then(|plan| plan.goal.clone()) })
            };
            memory.change(context, change).await
        }
    };
    essential(FunctionTool::new("set_goal", "Sets the goal of this session.", function))
        .with_output::<Goal>()
        .with_side_effects(["sets the goal of the session"])
        .with_aliases(["goal", "objective", "définir l'objectif", "but"])
}

fn set_tasks(memory: Memory) -> FunctionTool {
    let function = move |arguments: SetTasks, context: CallContext| {
        let memory = memory.clone();
        async move {
            let change = move |notebook: &mut Notebook, owner: Owner<'_>| {
                let tasks = arguments.tasks.into_iter().map(|task| (task.title, task.status));
                notebook.set_tasks(owner, tasks)?;
                Ok(current_tasks(notebook, owner))
            };
            memory.change(context, change).await
        }
    };
    let description = "Sets the list of tasks of this session, and replaces the previous one.";
    essential(FunctionTool::new("set_tasks", description, function))
        .with_output::<TasksOutput>()
        .with_side_effects(["replaces the tasks of the session"])
        .with_aliases(["plan", "todo", "task list", "liste de tâches", "planifier"])
}

fn update_task(memory: Memory) -> FunctionTool {
    let function = move |arguments: UpdateTask, context: CallContext| {
        let memory = memory.clone();
        async move {
            let change = move |notebook: &mut Notebook, owner: Owner<'_>| {
                notebook.update_task(owner, arguments.id, arguments.status)?;
                Ok(current_tasks(notebook, owner))
            };
            memory.change(context, change).await
        }
    };
    essential(FunctionTool::new("update_task", "Sets the progress of one task.", function))
        .with_output::<TasksOutput>()
        .with_side_effects(["changes a task of the session"])
        .with_aliases(["complete task", "tick off", "terminer une tâche", "cocher"])
}

fn remember(memory: Memory) -> FunctionTool {
    let function = move |arguments: Remember, context: CallContext| {
        let memory = memory.clone();
        async move {
            let change =
                move |notebook: &mut Notebook, owner: Owner<'_>| notebook.remember(owner, &arguments.text);
            memory.change(context, change).await
        }
    };
    let description = "Keeps a fact about the user or the work for later sessions.";
    essential(FunctionTool::new("remember", description, function))
        .with_output::<Fact>()
        .with_side_effects(["keeps a fact for later sessions"])
        .with_aliases(["note", "memorize", "se souvenir", "mémoriser", "retenir"])
}

fn recall_tool(memory: Memory) -> FunctionTool {
    let function = move |arguments: Recall, context: CallContext| {
        let memory = memory.clone();
        async move {
            let read = move |notebook: &Notebook, owner: Owner<'_>| {
                let plan = notebook.plan(owner);
                let facts = notebook.facts(owner);
                RecallOutput {
                    goal: plan.and_then(|plan| plan.goal.clone()),
                    tasks: plan.map(|plan| plan.tasks.clone()).unwrap_or_default(),
                    facts: recall(facts, arguments.query.as_deref(), arguments.limit)
                        .into_iter()
                        .cloned()
                        .collect(),
                    total: facts.len(),
                }
            };
            memory.read(context, read).await
        }
    };
    essential(FunctionTool::new(
        "recall",
        "Returns the goal, the tasks and the facts that fit a query.",
        function,
    ))
    .with_output::<RecallOutput>()
    .with_metadata("idempotent", true)
    .with_aliases(["memory", "look up notes", "se rappeler", "rappeler", "retrouver"])
}

fn forget(memory: Memory) -> FunctionTool {
    let function = move |arguments: Forget, context: CallContext| {
        let memory = memory.clone();
        async move {
            let change =
                move |notebook: &mut Notebook, owner: Owner<'_>| notebook.forget(owner, arguments.id);
            memory.change(context, change).await
        }
    };
    essential(FunctionTool::new("forget", "Removes a fact, and returns its text.", function))
        .with_output::<Fact>()
        .with_side_effects(["removes a fact for good"])
        .with_aliases(["delete note", "oublier", "effacer un souvenir"])
}

fn current_tasks(notebook: &Notebook, owner: Owner<'_>) -> TasksOutput {
    TasksOutput { tasks: notebook.plan(owner).map(|plan| plan.tasks.clone()).unwrap_or_default() }
}

/// Marks a tool as essential, so that an agent always sees the tools of its memory and need not search for them.
fn essential(tool: FunctionTool) -> FunctionTool {
    tool.with_risk(Risk::Low).with_metadata("operational", true).with_metadata("presence", "essential")
}
