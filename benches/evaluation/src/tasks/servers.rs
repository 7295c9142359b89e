//! Tasks with MCP servers: those that others have written, and the depot with what is rare.

use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::Task;
use crate::agent::{Agent, Need, beginning};
use crate::app::World;
use crate::client::Reply;

/// The shortest turn of a model. A list of tools that has changed is read again within that time.
const TURN: Duration = Duration::from_secs(3);

pub(super) const TASKS: &[Task] = &[
    Task::new("time-zones", "東京の9時はコルカタでは何時ですか。", time_zones, &["05:30"]),
    Task::new(
        "visit",
        "Read visit.txt, and tell me the e-mail address of the customer that we met.",
        visit,
        &["joseph@heat.example"],
    ),
    Task::new("write-file", "Save the line \"Ammonite, 12.50\" as prices.txt.", write_file, &["saved"])
        .with_check(|world| {
            let text = std::fs::read_to_string(world.work("prices.txt")).unwrap_or_default();
            ensure!(text.trim_end() == "Ammonite, 12.50", "expected the line, found {text:?}");
            Ok(())
        }),
    Task::new(
        "last-commit",
        "Wie heißt der letzte Commit im Repository?",
        last_commit,
        &["plesiosaur of 1823"],
    ),
    Task::new(
        "graph",
        "Remember in the knowledge graph that Henry De la Beche is a geologist, and look it up.",
        graph,
        &["geologist"],
    ),
    Task::new("sum", "What are 17.5 and 24 together, by the test server?", sum, &["41.5"]),
    Task::new("chart", "Show me a chart of the stock of FOS-0042.", chart, &["31 units", "picture"]),
    Task::new("manual", "How firmly do I have to tighten the bolts of the press?", manual, &["42 Nm"]),
    Task::new("archive", "How many photos does the archive of Charmouth have?", archive, &["214"]),
    Task::new("dock", "Book dock 2; I will say when.", dock, &["14:00"]),
    Task::new("scale", "Calibrate the floor scale; if it fails, it is safe to repeat.", scale, &["0.7 kg"]),
    Task::new("crane", "Lift the container C-9 with the crane.", crane, &["C-9"]),
    Task::new("kiln", "Set the drying kiln to 55 degrees.", kiln, &["55"]),
];

fn time_zones(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let knowledge = json!({
        "source_timezone": "Asia/Tokyo", "time": "09:00", "target_timezone": "Asia/Kolkata",
    });
    let searches = ["convert time between timezones", "time convert timezone server"];
    Ok(agent.call(&Need::new(&searches, &["time.convert_time"], knowledge))?.success()?.text)
}

fn visit(agent: &mut Agent<'_>, world: &World) -> Result<String> {
    let need = Need::new(
        &["read text file"],
        &["files.read_text_file", "filesystem.read"],
        json!({"path": world.work("visit.txt")}),
    );
    let text = agent.call(&need)?.success()?.text;
    let (_, after) = text.split_once("we met ").context("the file says nobody")?;
    let name = after.split(" about").next().unwrap_or_default();
    let knowledge = json!({"text": name});
    let customer =
        agent.call(&Need::new(&["find customer"], &["shop.find_customer"], knowledge))?.success()?;
    Ok(customer.at("/0/email")?.to_string())
}

fn write_file(agent: &mut Agent<'_>, world: &World) -> Result<String> {
    agent.expect([Reply::Allow]);
    let knowledge = json!({"path": world.work("prices.txt"), "content": "Ammonite, 12.50\n"});
    let need = Need::new(&["write file content"], &["files.write_file", "filesystem.write"], knowledge);
    agent.call(&need)?.success()?;
    Ok("It is saved.".to_owned())
}

fn last_commit(agent: &mut Agent<'_>, world: &World) -> Result<String> {
    let knowledge = json!({"repo_path": world.path().join("repo"), "max_count": 1});
    Ok(agent.call(&Need::new(&["git commit log"], &["git.git_log"], knowledge))?.success()?.text)
}

fn graph(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let entity =
        json!({"name": "Henry De la Beche", "entityType": "person", "observations": ["is a geologist"]});
    let searches = ["create knowledge graph entities"];
    agent
        .call(&Need::new(&searches, &["graph.create_entities"], json!({"entities": [entity]})))?
        .success()?;
    let searches = ["search knowledge graph nodes"];
    let need = Need::new(&searches, &["graph.search_nodes"], json!({"query": "Henry"}));
    Ok(agent.call(&need)?.success()?.text)
}

fn sum(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(&["sum of two numbers"], &["everything.get-sum"], json!({"a": 17.5, "b": 24}));
    Ok(agent.call(&need)?.success()?.text)
}

fn chart(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(&["draw stock chart"], &["depot.draw_stock_chart"], json!({"sku": "FOS-0042"}));
    let answer = agent.call(&need)?.success()?;
    ensure!(answer.has("image"), "expected a picture, found {}", beginning(&answer.text));
    Ok(format!("{} (picture)", answer.text))
}

/// The manual is linked: its address is read by the tool for resources.
fn manual(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(&["machine manual"], &["depot.get_machine_manual"], json!({"machine": "press"}));
    let answer = agent.call(&need)?.success()?;
    let is_link = |block: &&serde_json::Value| super::is(block, "/type", "resource_link");
    let link = answer.blocks.iter().find(is_link).and_then(|block| block.get("uri")).context("no link")?;
    let need = Need::new(&["depot read resource"], &["depot.read_resource"], json!({"uri": link}));
    Ok(agent.call(&need)?.success()?.text)
}

fn archive(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(
        &["photo archive excavation"],
        &["depot.fetch_photo_archive"],
        json!({"site": "Charmouth"}),
    );
    Ok(agent.call(&need)?.success()?.text)
}

fn dock(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    agent.expect([Reply::Say("14:00")]);
    Ok(agent
        .call(&Need::new(&["book loading dock"], &["depot.book_dock"], json!({"dock": 2})))?
        .success()?
        .text)
}

/// The server ends in the middle of the first call.
fn scale(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(&["calibrate floor scale"], &["depot.calibrate_scale"], json!({}));
    let prepared = agent.prepare(&need)?;
    let broken = agent.run(&prepared)?;
    ensure!(broken.is_error, "expected an end in mid-call, found {}", beginning(&broken.text));
    Ok(agent.run(&prepared)?.success()?.text)
}

/// The tool is there only after another one was called.
fn crane(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(
        &["depot crane lift container"],
        &["depot.enable_crane_control", "depot.lift_container"],
        json!({"container?": "C-9"}),
    );
    agent.call(&need)?.success()?;
    thread::sleep(TURN);
    let need = Need::new(
        &["lift container crane", "lift container"],
        &["depot.lift_container"],
        json!({"container": "C-9"}),
    );
    Ok(agent.call(&need)?.success()?.text)
}

/// The schema of the tool has a keyword of an older draft.
fn kiln(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let need = Need::new(
        &["set kiln temperature", "drying kiln degrees celsius"],
        &["depot.set_kiln_temperature"],
        json!({"celsius": 55}),
    );
    Ok(agent.call(&need)?.success()?.text)
}
