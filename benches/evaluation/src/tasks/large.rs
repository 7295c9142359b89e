//! Tasks about results of 0.4 to 1 MB: rows, counts, sums and lines of them.

use anyhow::Result;
use serde_json::json;

use super::Task;
use crate::agent::{Agent, Need};
use crate::app::World;
use crate::large::Question;

pub(super) const TASKS: &[Task] = &[
    Task::new(
        "low-stock",
        "Which articles have fewer than two units in stock?",
        low_stock,
        &["FOS-0417", "FOS-6417"],
    ),
    Task::new("maps-revenue", "What did the shop earn with maps in 2025?", maps_revenue, &["90800"]),
    Task::new(
        "best-days",
        "On which days of 2025 did the shop earn more than 4,640 EUR?",
        best_days,
        &["2025-06-26", "2025-02-27"],
    ),
    Task::new("urgent-tickets", "How many urgent tickets of customer 12 are open?", urgent_tickets, &["66"]),
    Task::new("gate-timeouts", "How often did gate 5 time out on 4 May 2026?", gate_timeouts, &["20"]),
    Task::new("ledger-entry", "What amount has entry L04711 of the ledger?", ledger_entry, &["80.87"]),
    Task::new(
        "weak-batteries",
        "Which sensors of hall 7 have less than 3 % battery?",
        weak_batteries,
        &["S0618", "S3309"],
    ),
];

fn inventory<'a>(searches: &'a [&'a str], tools: &'a [&'a str]) -> Need<'a> {
    Need::new(searches, tools, json!({}))
}

fn low_stock(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let preview = agent.call(&inventory(&["list articles in stock"], &["shop.list_inventory"]))?.success()?;
    let question = Question::Rows { list: "items", condition: "stock < 2", take: "sku" };
    Ok(agent.ask(&preview, question)?.to_string())
}

fn maps_revenue(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let preview = revenue(agent, &["revenue by article group"])?;
    let question = Question::Sum { list: "days[].groups", condition: "group == 'maps'", of: "revenue" };
    Ok(agent.ask(&preview, question)?.to_string())
}

fn best_days(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let preview = revenue(agent, &["daily revenue of a year"])?;
    let question = Question::Rows { list: "days", condition: "total > 4640", take: "date" };
    Ok(agent.ask(&preview, question)?.to_string())
}

fn revenue(agent: &mut Agent<'_>, searches: &[&str]) -> Result<crate::agent::Answer> {
    agent.call(&Need::new(searches, &["shop.daily_revenue"], json!({"year": 2025})))?.success()
}

fn urgent_tickets(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let preview = agent.call(&inventory(&["list support tickets"], &["shop.support_tickets"]))?.success()?;
    let condition = "state == 'open' && priority == 'urgent' && customer_id == 12";
    Ok(agent.ask(&preview, Question::Count { list: "tickets", condition, by: "ticket" })?.to_string())
}

fn gate_timeouts(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(&["warehouse gate log"], &["shop.gate_log"], json!({"day": "2026-05-04"}));
    let preview = agent.call(&need)?.success()?;
    let lines = agent.ask(&preview, Question::Lines { pattern: "gate=5 .*TIMEOUT" })?;
    Ok(lines.as_array().map_or(0, Vec::len).to_string())
}

fn ledger_entry(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let preview = agent.call(&inventory(&["export ledger csv"], &["shop.export_ledger"]))?.success()?;
    Ok(agent.ask(&preview, Question::Lines { pattern: "^L04711," })?.to_string())
}

fn weak_batteries(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let preview = agent.call(&inventory(&["read depot sensors"], &["depot.read_sensors"]))?.success()?;
    let question = Question::Rows { list: "", condition: "hall == 7 && battery < 3", take: "sensor" };
    Ok(agent.ask(&preview, question)?.to_string())
}
