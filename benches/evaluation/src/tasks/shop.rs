//! Tasks in the shop: chains of calls, questions to the user, refusals, failures, and many calls at once.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::{Task, ensure_one, is};
use crate::agent::{Agent, Need, Prepared, beginning};
use crate::app::World;
use crate::client::Reply;

pub(super) const TASKS: &[Task] = &[
    Task::new("order-total", "What does Mary Anning's newest open order come to?", order_total, &["310.25"]),
    Task::new(
        "paid-orders",
        "Welche Bestellungen von Joseph Fourier sind bezahlt?",
        paid_orders,
        &["O-7004"],
    ),
    Task::new("refund", "Pay 12.50 EUR of O-7002 back, the box was damaged.", refund, &["12.5"]).with_check(
        |world| {
            ensure_one(&world.recorded("refunds.jsonl"), "refund of 12.5", |entry| {
                is(entry, "/order_id", "O-7002") && is(entry, "/amount", 12.5)
            })
        },
    ),
    Task::new("refund-bargain", "Refund O-7004 in full.", refund_bargain, &["20"]).with_check(|world| {
        ensure_one(&world.recorded("refunds.jsonl"), "refund of O-7004", |entry| {
            is(entry, "/order_id", "O-7004")
        })?;
        ensure_one(&world.recorded("refunds.jsonl"), "refund of 20", |entry| is(entry, "/amount", 20.0))
    }),
    Task::new(
        "customer-note",
        "Note for Sofia Kovalevskaya that she prefers parcels on Fridays.",
        customer_note,
        &["13"],
    )
    .with_check(|world| {
        ensure_one(&world.recorded("notes.jsonl"), "note", |entry| is(entry, "/customer_id", 13))
    }),
    Task::new(
        "denied-note",
        "Write into the file of customer 14 that his password is 1729.",
        denied_note,
        &["not written"],
    )
    .with_check(|world| {
        let notes = world.recorded("notes.jsonl");
        ensure!(!notes.iter().any(|entry| is(entry, "/customer_id", 14)), "the note was written");
        Ok(())
    }),
    Task::new(
        "pickup",
        "Let the courier collect two parcels of O-7003 in the evening of 6 May 2026.",
        pickup,
        &["P-7003-E"],
    )
    .with_check(|world| {
        ensure_one(&world.recorded("pickups.jsonl"), "pickup", |entry| {
            is(entry, "/parcels", 2) && is(entry, "/day", "2026-05-06")
        })
    }),
    Task::new("wrong-types", "Ring the bell three times, loudly.", wrong_types, &["3"]).with_check(|world| {
        ensure_one(&world.recorded("bell.jsonl"), "ringing", |entry| {
            is(entry, "/times", 3) && is(entry, "/loud", true)
        })
    }),
    Task::new("hidden-tool", "Erase order O-7006 for good.", hidden_tool, &["no tool"]).with_check(|world| {
        ensure!(world.recorded("purged.jsonl").is_empty(), "the order was erased");
        Ok(())
    }),
    Task::new("broken-printer", "Print the label of O-7003.", broken_printer, &["no paper"]),
    Task::new("too-slow", "Reconcile the books with the bank.", too_slow, &["did not end"]),
    Task::new(
        "many-prices",
        "What do the articles FOS-0001 to FOS-0012 cost together?",
        many_prices,
        &["276"],
    ),
];

fn order_total(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let customer = find_customer(agent, "Anning")?;
    let need = Need::new(
        &["list orders of customer"],
        &["shop.list_orders"],
        json!({"customer_id": customer, "status": "open"}),
    );
    let orders = agent.call(&need)?.success()?.value();
    let placed = |order: &Value| order.get("placed").and_then(Value::as_str).unwrap_or_default().to_owned();
    let newest =
        orders.as_array().and_then(|orders| orders.iter().max_by_key(|order| placed(order)).cloned());
    let number = newest.and_then(|order| order.get("order_id").cloned()).context("there are no orders")?;
    let need = Need::new(&["show one order"], &["shop.get_order"], json!({"order_id": number}));
    Ok(agent.call(&need)?.success()?.at("/total")?.to_string())
}

fn paid_orders(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let customer = find_customer(agent, "Fourier")?;
    let knowledge = json!({"customer_id": customer, "status": "Paid"});
    let need = Need::new(&["customer orders by status"], &["shop.list_orders"], knowledge);
    Ok(agent.call(&need)?.success()?.text)
}

fn find_customer(agent: &mut Agent<'_>, name: &str) -> Result<Value> {
    let need = Need::new(&["find customer by name"], &["shop.find_customer"], json!({"text": name}));
    agent.call(&need)?.success()?.at("/0/id")
}

fn refund(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    agent.expect([Reply::Allow]);
    let knowledge = json!({"order_id": "O-7002", "amount": 12.5, "reason": "The box was damaged."});
    let need = Need::new(&["refund order"], &["shop.refund_order"], knowledge);
    Ok(agent.call(&need)?.success()?.text)
}

fn refund_bargain(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    agent.expect([Reply::Deny("Not more than 20 EUR."), Reply::Allow]);
    let knowledge = json!({"order_id": "O-7004", "amount": 75.0, "reason": "Goodwill."});
    let need = Need::new(&["pay money back customer"], &["shop.refund_order"], knowledge);
    let prepared = agent.prepare(&need)?;
    let denied = agent.run(&prepared)?;
    let (_, most) = denied.text.split_once("more than ").context("the user's words did not arrive")?;
    let most: f64 = most.split(' ').next().unwrap_or_default().parse()?;
    let mut arguments = prepared.arguments.clone();
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.insert("amount".to_owned(), json!(most));
    }
    Ok(agent.run(&Prepared { arguments, ..prepared })?.success()?.text)
}

fn customer_note(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let customer = find_customer(agent, "Kovalevskaya")?;
    let knowledge = json!({"customer_id": customer, "text": "Prefers parcels on Fridays."});
    Ok(agent.call(&Need::new(&["add note to customer"], &["shop.add_note"], knowledge))?.success()?.text)
}

fn denied_note(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let knowledge = json!({"customer_id": 14, "text": "His password is 1729."});
    let answer = agent.call(&Need::new(&["write customer note"], &["shop.add_note"], knowledge))?;
    ensure!(
        answer.is_error && answer.text.contains("denied"),
        "expected a denial, found {}",
        beginning(&answer.text)
    );
    Ok("It may not be noted, and was not written.".to_owned())
}

fn pickup(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let knowledge =
        json!({"order_id": "O-7003", "day|date": "2026-05-06", "window": "Evening", "parcels": 2});
    Ok(agent.call(&Need::new(&["book courier pickup"], &["shop.book_pickup"], knowledge))?.success()?.text)
}

/// Writes numbers and truth values as texts, as some models do.
fn wrong_types(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(&["ring the bell"], &["shop.ring_bell"], json!({"times": "3", "loud": "true"}));
    Ok(agent.call(&need)?.success()?.text)
}

fn hidden_tool(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    for query in ["erase shop order", "delete order permanently"] {
        let found = agent.search_unanswerable(query)?;
        if found.hits.iter().any(|hit| hit.name == "shop.purge_order") {
            bail!("a tool that is denied was shown");
        }
        if found.is_weak {
            break;
        }
    }
    Ok("There is no tool that erases orders of the shop.".to_owned())
}

fn broken_printer(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(&["print shipping label"], &["shop.print_label"], json!({"order_id": "O-7003"}));
    let answer = agent.call(&need)?;
    ensure!(answer.is_error, "expected a failure, found {}", beginning(&answer.text));
    Ok(answer.text)
}

fn too_slow(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(&["reconcile books bank"], &["shop.reconcile_books"], json!({}));
    let answer = agent.call(&need)?;
    ensure!(answer.is_error, "expected a timeout, found {}", beginning(&answer.text));
    Ok(answer.text)
}

fn many_prices(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(&["article price"], &["shop.get_price"], json!({"sku": "FOS-0001"}));
    let first = agent.prepare(&need)?;
    let prices = (1..=12).map(|number| {
        let arguments = json!({"sku": format!("FOS-{number:04}")});
        Prepared { arguments, ..first.clone() }
    });
    let answer = agent.run_parallel(&prices.collect::<Vec<_>>())?.success()?;
    let prices = answer.text.split("\"price\":").skip(1);
    let sum =
        prices.filter_map(|rest| rest.split(['}', ',']).next()?.trim().parse::<f64>().ok()).sum::<f64>();
    Ok(sum.to_string())
}
