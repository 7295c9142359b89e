//! The tools of the module.

use toolcrib_model::Risk;
use toolcrib_sdk::{CallContext, FunctionTool, Module};

use super::ID;
use super::arguments::{Forget, Goal, Recall, Recalled, Remember, SetGoal, SetTasks, Tasks, UpdateTask};
use super::notebook::{Fact, Notebook, Owner};
use super::recall::recall;
use super::store::Memory;

/// Returns the module `memory`: `set_goal`, `set_tasks`, `update_task`, `remember`, `recall`, `forget`.
pub fn module(memory: &Memory) -> Module {
    Module::new(ID, "Keeps the goal, the tasks, and facts for later.")
        .with_tool(goal(memory.clone()))
        .with_tool(tasks(memory.clone()))
        .with_tool(task(memory.clone()))
        .with_tool(remember(memory.clone()))
        .with_tool(recalled(memory.clone()))
        .with_tool(forget(memory.clone()))
}

fn goal(memory: Memory) -> FunctionTool {
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
    own(FunctionTool::new("set_goal", "Sets the goal of this session.", function))
        .with_output::<Goal>()
        .with_side_effects(["sets the goal of the session"])
        .with_aliases(["goal", "objective", "définir l'objectif", "but"])
}

fn tasks(memory: Memory) -> FunctionTool {
    let function = move |arguments: SetTasks, context: CallContext| {
        let memory = memory.clone();
        async move {
            let change = move |notebook: &mut Notebook, owner: Owner<'_>| {
                let tasks = arguments.tasks.into_iter().map(|task| (task.title, task.status));
                notebook.set_tasks(owner, tasks)?;
                Ok(all_tasks(notebook, owner))
            };
            memory.change(context, change).await
        }
    };
    let description = "Sets the list of tasks of this session, and replaces the previous one.";
    own(FunctionTool::new("set_tasks", description, function))
        .with_output::<Tasks>()
        .with_side_effects(["replaces the tasks of the session"])
        .with_aliases(["plan", "todo", "task list", "liste de tâches", "planifier"])
}

fn task(memory: Memory) -> FunctionTool {
    let function = move |arguments: UpdateTask, context: CallContext| {
        let memory = memory.clone();
        async move {
            let change = move |notebook: &mut Notebook, owner: Owner<'_>| {
                notebook.update_task(owner, arguments.id, arguments.status)?;
                Ok(all_tasks(notebook, owner))
            };
            memory.change(context, change).await
        }
    };
    own(FunctionTool::new("update_task", "Sets the progress of one task.", function))
        .with_output::<Tasks>()
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
    own(FunctionTool::new("remember", description, function))
        .with_output::<Fact>()
        .with_side_effects(["keeps a fact for later sessions"])
        .with_aliases(["note", "memorize", "se souvenir", "mémoriser", "retenir"])
}

fn recalled(memory: Memory) -> FunctionTool {
    let function = move |arguments: Recall, context: CallContext| {
        let memory = memory.clone();
        async move {
            let look = move |notebook: &Notebook, owner: Owner<'_>| {
                let plan = notebook.plan(owner);
                let facts = notebook.facts(owner);
                Recalled {
                    goal: plan.and_then(|plan| plan.goal.clone()),
                    tasks: plan.map(|plan| plan.tasks.clone()).unwrap_or_default(),
                    facts: recall(facts, arguments.query.as_deref(), arguments.limit)
                        .into_iter()
                        .cloned()
                        .collect(),
                    total: facts.len(),
                }
            };
            memory.look(context, look).await
        }
    };
    own(FunctionTool::new("recall", "Returns the goal, the tasks and the facts that fit a query.", function))
        .with_output::<Recalled>()
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
    own(FunctionTool::new("forget", "Removes a fact, and returns its text.", function))
        .with_output::<Fact>()
        .with_side_effects(["removes a fact for good"])
        .with_aliases(["delete note", "oublier", "effacer un souvenir"])
}

fn all_tasks(notebook: &Notebook, owner: Owner<'_>) -> Tasks {
    Tasks { tasks: notebook.plan(owner).map(|plan| plan.tasks.clone()).unwrap_or_default() }
}

/// Marks a tool as essential, so that an agent always sees the tools of its memory and need not search for them.
fn own(tool: FunctionTool) -> FunctionTool {
    tool.with_risk(Risk::Low).with_metadata("operational", true).with_metadata("presence", "essential")
}
