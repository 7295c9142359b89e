//! Tasks with overloads, databases, calls at a later time, the user, and requests that no tool serves.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::Task;
use crate::agent::{Agent, Need};
use crate::app::World;
use crate::client::Reply;

pub(super) const TASKS: &[Task] = &[
    Task::new("overload", "Combien de yens font 250 euros ?", overload, &["40000"]),
    Task::new(
        "dearest-article",
        "¿Cuál es el artículo más caro de la base de datos?",
        dearest_article,
        &["Ichthyosaur"],
    ),
    Task::new("canned", "Who led the WNBA in 2022?", canned, &["Las Vegas Aces"]),
    Task::new(
        "forecast",
        "Forecast the demand for FOS-0100 over 8 weeks, and do not wait for it.",
        forecast,
        &["96"],
    ),
    Task::new("watch", "Tell me when the price of FOS-0007 changes.", watch, &["shop.get_price"]),
    Task::new("reminder", "Remind me in two hours to turn the casts.", reminder, &["Turn the casts"]),
    Task::new("ask", "Order paint; ask me for the colour.", ask, &["ochre"]),
    Task::new(
        "overview",
        "What can be done with Twilio Studio?",
        overview,
        &["CreateFlow", "FetchExecution"],
    ),
    Task::new(
        "no-plants",
        "Water the plants in the greenhouse.",
        |agent, _| nothing(agent, &["water plants greenhouse", "irrigation valve control"]),
        &["no tool"],
    ),
    Task::new(
        "no-fax",
        "Send this contract by fax.",
        |agent, _| nothing(agent, &["send fax document", "fax machine"]),
        &["no tool"],
    ),
];

fn overload(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let mut need = Need::new(
        &["convert amount of money currency", "units convert money"],
        &["units.convert"],
        json!({"amount": 250, "source": "EUR", "target": "JPY"}),
    );
    need.words = &["money", "currency"];
    Ok(agent.call(&need)?.success()?.text)
}

fn dearest_article(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let sql = "SELECT name, price FROM articles ORDER BY price DESC LIMIT 1";
    let need = Need::new(&["query sql database"], &["database.query"], json!({"sql": sql}));
    Ok(agent.call(&need)?.success()?.text)
}

fn canned(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(&["wnba team standings"], &["wnba_api.wnba_standings"], json!({"year": "2022"}));
    Ok(agent.call(&need)?.success()?.text)
}

fn forecast(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let knowledge = json!({"sku": "FOS-0100", "weeks": 8});
    let call =
        agent.prepare(&Need::new(&["forecast demand article"], &["shop.forecast_demand"], knowledge))?;
    let tools = ["background_run"];
    let searches = ["run call in background"];
    let start = Need::new(&searches, &tools, json!({"tool|name": call.name, "params": call.arguments}));
    let task = agent.call(&start)?.success()?.at("/task_id")?;
    let wait = Need::new(&searches, &tools, json!({"task_id": task, "wait": true}));
    Ok(agent.call(&wait)?.success()?.text)
}

fn watch(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let price = Need::new(&["price of an article"], &["shop.get_price"], json!({"sku": "FOS-0007"}));
    let call = agent.prepare(&price)?;
    let knowledge = json!({"name|tool": call.name, "params": call.arguments, "interval": 600});
    let tools = ["watch_start"];
    agent
        .call(&Need::new(&["watch tool result for change", "start watcher"], &tools, knowledge))?
        .success()?;
    let tools = ["watch_list"];
    Ok(agent.call(&Need::new(&["list watchers"], &tools, json!({})))?.success()?.text)
}

fn reminder(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let knowledge = json!({"what": "Turn the casts", "when": "in 2 hours"});
    let remind = Need::new(&["remind user later"], &["remind"], knowledge);
    agent.call(&remind)?.success()?;
    let tools = ["schedule_list"];
    Ok(agent.call(&Need::new(&["list schedules"], &tools, json!({})))?.success()?.text)
}

fn ask(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    agent.expect([Reply::Say("ochre")]);
    let knowledge = json!({"question": "Which colour?", "choices": ["red", "ochre", "umber"]});
    let need = Need::new(&["ask the user"], &["ask_user"], knowledge);
    Ok(agent.call(&need)?.success()?.text)
}

/// Finds the category by a search, and lists its tools.
fn overview(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(
        &["twilio studio flow"],
        &["twilio_studio.CreateFlow", "twilio_studio.FetchFlow"],
        json!({}),
    );
    let shown = agent.show(&need)?;
    let category = shown.name.split('.').next().context("a name without a category")?.to_owned();
    let mut texts = Vec::new();
    for page in 1..=3 {
        let arguments = json!({"category": category, "page": page});
        let answer = agent.use_tool("browse_category", &arguments)?.success()?;
        let pages = answer.value().get("pages").and_then(Value::as_u64).unwrap_or(1);
        texts.push(answer.text);
        if pages <= page {
            break;
        }
    }
    Ok(texts.join("\n"))
}

/// Searches, and once more in other words where the first answer does not say that nothing fits.
fn nothing(agent: &mut Agent<'_>, searches: &[&str]) -> Result<String> {
    for query in searches {
        if agent.search_unanswerable(query)?.is_weak {
            break;
        }
    }
    Ok("There is no tool for it.".to_owned())
}
