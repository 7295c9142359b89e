//! Tasks that are one request to a web service each, most of them with arguments that a name does not tell.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Task, ensure_one, is};
use crate::agent::{Agent, Need};
use crate::app::World;

pub(super) const TASKS: &[Task] = &[
    Task::new(
        "chat-member",
        "Add mary to the chat channel CH7 of the service IS88….",
        |agent, _| {
            let knowledge = json!({"ServiceSid": sid("IS", "8"), "ChannelSid": "CH7", "Identity": "mary"});
            request(agent, "add member to chat channel", "twilio_chat.CreateMember", knowledge)
        },
        &["done"],
    )
    .with_check(|world| {
        sent(
            world,
            &format!("/twilio_chat/v1/Services/{}/Channels/CH7/Members", sid("IS", "8")),
            "Identity",
            "mary",
        )
    }),
    Task::new(
        "check-code",
        "Is 481516 the code that +33 6 12 34 56 78 got (service VA22…)?",
        |agent, _| {
            let knowledge = json!({"ServiceSid": sid("VA", "2"), "To": "+33612345678", "Code": "481516"});
            request(agent, "check verification code", "twilio_verify.CreateVerificationCheck", knowledge)
        },
        &["done"],
    )
    .with_check(|world| {
        sent(
            world,
            &format!("/twilio_verify/v2/Services/{}/VerificationCheck", sid("VA", "2")),
            "Code",
            "481516",
        )
    }),
    Task::new(
        "sender-number",
        "Let the messaging service MG66… send from the number PN99….",
        |agent, _| {
            let knowledge = json!({"ServiceSid": sid("MG", "6"), "PhoneNumberSid": sid("PN", "9")});
            let tool = "twilio_messaging.CreatePhoneNumber";
            request(agent, "add phone number to messaging service", tool, knowledge)
        },
        &["done"],
    )
    .with_check(|world| {
        let path = format!("/twilio_messaging/v1/Services/{}/PhoneNumbers", sid("MG", "6"));
        sent(world, &path, "PhoneNumberSid", sid("PN", "9"))
    }),
    Task::new(
        "end-execution",
        "End the execution FN44… of the studio flow FW33….",
        |agent, _| {
            let knowledge = json!({"FlowSid": sid("FW", "3"), "Sid": sid("FN", "4"), "Status": "ended"});
            request(agent, "stop studio execution", "twilio_studio.UpdateExecution", knowledge)
        },
        &["done"],
    )
    .with_check(|world| {
        let path = format!("/twilio_studio/v2/Flows/{}/Executions/{}", sid("FW", "3"), sid("FN", "4"));
        sent(world, &path, "Status", "ended")
    }),
    Task::new(
        "sms-price",
        "Was kostet eine SMS nach Frankreich?",
        |agent, _| {
            let tool = "twilio_pricing.FetchMessagingCountry";
            request(agent, "sms price of country", tool, json!({"IsoCountry": "FR"}))
        },
        &["done"],
    )
    .with_check(|world| {
        ensure_one(&world.requests("/twilio_pricing/v1/Messaging/Countries/FR"), "request", |_| true)
    }),
    Task::new(
        "star-trek",
        "Who is Spock in Star Trek?",
        |agent, _| {
            request(
                agent,
                "search star trek character",
                "startrek.post_character_search",
                json!({"name": "Spock"}),
            )
        },
        &["done"],
    )
    .with_check(|world| sent(world, "/startrek/character/search", "name", "Spock")),
    Task::new(
        "pet-order",
        "Order two of the pet number 7.",
        |agent, _| {
            request(agent, "place order for pet", "petstore.placeOrder", json!({"petId": 7, "quantity": 2}))
        },
        &["done"],
    )
    .with_check(|world| sent(world, "/petstore/store/order", "petId", 7)),
    Task::new(
        "changelog",
        "Write into the changelog that casts can be ordered now.",
        |agent, _| {
            let knowledge = json!({"title": "Casts", "body": "Casts can be ordered now."});
            request(agent, "create changelog entry", "readme.createChangelog", knowledge)
        },
        &["done"],
    )
    .with_check(|world| sent(world, "/readme/changelogs", "title", "Casts")),
    Task::new(
        "rename-channel",
        "Rename the Slack channel C0DEPOT99 to depot-west.",
        |agent, _| {
            let knowledge =
                json!({"channel": "C0DEPOT99", "name": "depot-west", "token?": "xoxb-evaluation"});
            request(agent, "rename slack channel", "slack.conversations_rename", knowledge)
        },
        &["done"],
    )
    .with_check(|world| sent(world, "/slack/conversations.rename", "name", "depot-west")),
    Task::new(
        "distance",
        "¿Cuántos kilómetros hay de Exeter a Lyme Regis por carretera?",
        |agent, _| {
            let knowledge = json!({"origin": "Exeter", "destination": "Lyme Regis", "unit": "km"});
            let tools = ["bfcl.get_shortest_driving_distance"];
            let answer = agent.call(&Need::new(&["shortest driving distance"], &tools, knowledge))?;
            Ok(answer.success()?.text)
        },
        &["46.7"],
    ),
];

fn request(agent: &mut Agent<'_>, search: &str, tool: &str, knowledge: Value) -> Result<String> {
    agent.call(&Need::new(&[search], &[tool], knowledge))?.success()?;
    Ok("It is done.".to_owned())
}

/// Returns an identifier of Twilio: two letters and 32 digits.
fn sid(letters: &str, digit: &str) -> String {
    format!("{letters}{}", digit.repeat(32))
}

fn sent(world: &World, path: &str, name: &str, value: impl Into<Value>) -> Result<()> {
    let value = value.into();
    ensure_one(&world.requests(path), "request", |entry| {
        is(entry, &format!("/arguments/{name}"), value.clone())
    })
}
