//! Tasks with web services behind OpenAPI documents.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{Task, ensure_one, is};
use crate::agent::{Agent, Answer, Need, beginning};
use crate::app::World;
use crate::client::Reply;

/// The token of Slack, which the agent was given.
const TOKEN: &str = "xoxb-evaluation";

pub(super) const TASKS: &[Task] = &[
    Task::new(
        "slack-message",
        "Post \"The kiln is free\" to the Slack channel C0DEPOT99.",
        slack_message,
        &["The kiln is free"],
    )
    .with_check(|world| {
        ensure_one(&world.requests("/slack/chat.postMessage"), "message", |entry| {
            is(entry, "/arguments/channel", "C0DEPOT99") && is(entry, "/arguments/text", "The kiln is free")
        })
    }),
    Task::new(
        "slack-reminder",
        "Remind me in Slack in 20 minutes to water the clay.",
        slack_reminder,
        &["Rm52"],
    )
    .with_check(|world| {
        ensure_one(&world.requests("/slack/reminders.add"), "reminder", |entry| {
            is(entry, "/arguments/text", "Water the clay")
        })
    }),
    Task::new("slack-channel", "Create a Slack channel called kiln-times.", slack_channel, &["created"])
        .with_check(|world| {
            ensure_one(&world.requests("/slack/conversations.create"), "channel", |entry| {
                is(entry, "/arguments/name", "kiln-times")
            })
        }),
    Task::new(
        "slack-later",
        "Post \"We close\" to C0DEPOT99 in Slack at 1785600000.",
        slack_later,
        &["planned"],
    )
    .with_check(|world| {
        ensure_one(&world.requests("/slack/chat.scheduleMessage"), "message", |entry| {
            is(entry, "/arguments/text", "We close")
        })
    }),
    Task::new("slack-presence", "Is Gideon Mantell online in Slack?", slack_presence, &["away"]),
    Task::new("slack-nobody", "Is the Slack user U999 online?", slack_nobody, &["no user U999"]),
    Task::new(
        "sms-code",
        "Envoie par SMS un code de vérification au +33 6 12 34 56 78 (service VA22…).",
        sms_code,
        &["sid"],
    )
    .with_check(|world| {
        let path = format!("/twilio_verify/v2/Services/VA{}/Verifications", "2".repeat(32));
        ensure_one(&world.requests(&path), "verification", |entry| {
            is(entry, "/arguments/To", "+33612345678") && is(entry, "/arguments/Channel", "sms")
        })
    }),
    Task::new("alpha-sender", "Let the messaging service MG55… send as FOSSILS.", alpha_sender, &["sid"])
        .with_check(|world| {
            let path = format!("/twilio_messaging/v1/Services/MG{}/AlphaSenders", "5".repeat(32));
            ensure_one(&world.requests(&path), "sender", |entry| {
                is(entry, "/arguments/AlphaSender", "FOSSILS")
            })
        }),
    Task::new("busy-flow", "Start the studio flow FW33… for +44 20 7946 0000.", busy_flow, &["active"]),
    Task::new(
        "disruption-budgets",
        "Which pod disruption budgets does the namespace prod have, and what do they demand?",
        disruption_budgets,
        &["web needs 2", "queue needs 1"],
    ),
    Task::new(
        "autoscaler",
        "Is there an autoscaler called web in the namespace prod?",
        autoscaler,
        &["there"],
    )
    .with_check(|world| {
        let path = "/k8s_autoscaling/apis/autoscaling/v1/namespaces/prod/horizontalpodautoscalers/web";
        ensure_one(&world.requests(path), "request", |_| true)
    }),
    Task::new("volume", "Look at the volume attachment csi-42.", volume, &["there"]).with_check(|world| {
        let path = "/k8s_storage/apis/storage.k8s.io/v1/volumeattachments/csi-42";
        ensure_one(&world.requests(path), "request", |_| true)
    }),
    Task::new(
        "train-booking",
        "Reserva el tren más barato de Exeter a Axminster el 1 de julio de 2026 para Mary Anning.",
        train_booking,
        &["7e57ab1e"],
    )
    .with_check(|world| {
        ensure_one(&world.requests("/train/bookings"), "booking", |entry| {
            is(entry, "/arguments/trip_id", "5b1b2a3c-0000-4000-8000-000000000001")
        })
    }),
    Task::new(
        "fare-estimate",
        "What would a ride from 50.72, -2.94 to 50.78, -3.00 cost?",
        fare_estimate,
        &["GBP 11-14"],
    ),
    Task::new(
        "new-pet",
        "Add a dog called Tray to the pet store; its photo is at https://example.com/tray.png.",
        new_pet,
        &["added"],
    )
    .with_check(|world| {
        ensure_one(&world.requests("/petstore/pet"), "pet", |entry| is(entry, "/arguments/name", "Tray"))
    }),
];

fn slack_message(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    agent.expect([Reply::Allow]);
    let knowledge = json!({"channel": "C0DEPOT99", "text": "The kiln is free", "token?": TOKEN});
    let searches = ["send slack message channel", "slack post message"];
    Ok(agent.call(&Need::new(&searches, &["slack.chat_postMessage"], knowledge))?.success()?.text)
}

fn slack_reminder(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let knowledge = json!({"text": "Water the clay", "time": "in 20 minutes", "token?": TOKEN});
    Ok(agent.call(&Need::new(&["slack add reminder"], &["slack.reminders_add"], knowledge))?.success()?.text)
}

fn slack_channel(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let knowledge = json!({"name": "kiln-times", "token?": TOKEN});
    let searches = ["slack create channel conversation"];
    agent.call(&Need::new(&searches, &["slack.conversations_create"], knowledge))?.success()?;
    Ok("It is created.".to_owned())
}

fn slack_later(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    agent.expect([Reply::Allow]);
    let knowledge =
        json!({"channel": "C0DEPOT99", "text": "We close", "post_at": 1_785_600_000, "token?": TOKEN});
    agent
        .call(&Need::new(&["schedule slack message"], &["slack.chat_scheduleMessage"], knowledge))?
        .success()?;
    Ok("It is planned.".to_owned())
}

fn slack_presence(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let searches = ["list slack users", "slack users list"];
    let users =
        agent.call(&Need::new(&searches, &["slack.users_list"], json!({"token?": TOKEN})))?.success()?;
    let members = users.at("/members")?;
    let is_wanted = |member: &&Value| is(member, "/real_name", "Gideon Mantell");
    let user = members
        .as_array()
        .and_then(|members| members.iter().find(is_wanted))
        .context("no user has that name")?;
    let user = user.get("id").cloned().unwrap_or_default();
    Ok(presence(agent, &user)?.success()?.at("/presence")?.to_string())
}

fn slack_nobody(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let answer = presence(agent, &json!("U999"))?;
    ensure!(answer.is_error, "expected a 404, found {}", beginning(&answer.text));
    Ok(answer.text)
}

fn presence(agent: &mut Agent<'_>, user: &Value) -> Result<Answer> {
    let knowledge = json!({"user": user, "token?": TOKEN});
    agent.call(&Need::new(&["slack user presence"], &["slack.users_getPresence"], knowledge))
}

fn sms_code(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let service = format!("VA{}", "2".repeat(32));
    let knowledge = json!({"ServiceSid": service, "To": "+33612345678", "Channel": "sms"});
    let searches = ["create verification sms code", "send verification code twilio"];
    Ok(agent.call(&Need::new(&searches, &["twilio_verify.CreateVerification"], knowledge))?.success()?.text)
}

fn alpha_sender(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let knowledge = json!({"ServiceSid": format!("MG{}", "5".repeat(32)), "AlphaSender": "FOSSILS"});
    let searches = ["create alpha sender messaging service", "twilio create alpha sender"];
    let tools = ["twilio_messaging.CreateAlphaSender"];
    Ok(agent.call(&Need::new(&searches, &tools, knowledge))?.success()?.text)
}

/// The service says once that it is busy, and when to come back.
fn busy_flow(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let flow = format!("FW{}", "3".repeat(32));
    let knowledge = json!({"FlowSid": flow, "To": "+442079460000", "From": "+442079460001"});
    let searches = ["trigger studio flow execution"];
    Ok(agent.call(&Need::new(&searches, &["twilio_studio.CreateExecution"], knowledge))?.success()?.text)
}

fn disruption_budgets(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let tools = ["k8s_policy.listPolicyV1NamespacedPodDisruptionBudget"];
    let searches = ["list pod disruption budgets namespace", "list objects kind PodDisruptionBudget"];
    let items =
        agent.call(&Need::new(&searches, &tools, json!({"namespace": "prod"})))?.success()?.at("/items")?;
    let said = items.as_array().into_iter().flatten().filter_map(|item| {
        let name = item.pointer("/metadata/name")?.as_str()?;
        Some(format!("{name} needs {}", item.pointer("/spec/minAvailable")?))
    });
    Ok(said.collect::<Vec<_>>().join(", "))
}

fn autoscaler(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let tools = ["k8s_autoscaling.readAutoscalingV1NamespacedHorizontalPodAutoscaler"];
    let knowledge = json!({"name": "web", "namespace": "prod"});
    agent.call(&Need::new(&["read horizontal pod autoscaler"], &tools, knowledge))?.success()?;
    Ok("It is there.".to_owned())
}

fn volume(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let tools = ["k8s_storage.readStorageV1VolumeAttachment"];
    agent
        .call(&Need::new(&["read storage volume attachment"], &tools, json!({"name": "csi-42"})))?
        .success()?;
    Ok("It is there.".to_owned())
}

fn train_booking(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let stations = agent
        .call(&Need::new(&["list train stations"], &["train.get-stations"], json!({})))?
        .success()?
        .at("/data")?;
    let station = |name: &str| {
        let all = stations.as_array().into_iter().flatten();
        all.clone().find(|station| is(station, "/name", name)).and_then(|station| station.get("id")).cloned()
    };
    let (from, to) = (station("Exeter").context("no Exeter")?, station("Axminster").context("no Axminster")?);
    let knowledge = json!({"origin": from, "destination": to, "date": "2026-07-01T00:00:00Z"});
    let trips = agent.call(&Need::new(&["train trips between stations"], &["train.get-trips"], knowledge))?;
    let trips = trips.success()?.at("/data")?;
    let price = |trip: &&Value| trip.get("price").and_then(Value::as_u64).unwrap_or(u64::MAX);
    let cheapest = trips.as_array().and_then(|trips| trips.iter().min_by_key(price)).context("no trips")?;
    let knowledge = json!({"trip_id": cheapest.get("id"), "passenger_name": "Mary Anning"});
    let booked = agent.call(&Need::new(&["create train booking"], &["train.create-booking"], knowledge))?;
    Ok(booked.success()?.text)
}

fn fare_estimate(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let knowledge = json!({
        "start_latitude": 50.72, "start_longitude": -2.94, "end_latitude": 50.78, "end_longitude": -3.0,
    });
    Ok(agent
        .call(&Need::new(&["ride price estimate"], &["uber.get_estimates_price"], knowledge))?
        .success()?
        .text)
}

fn new_pet(agent: &mut Agent<'_>, _: &World) -> Result<String> {
    let knowledge = json!({"name": "Tray", "photoUrls": ["https://example.com/tray.png"]});
    agent.call(&Need::new(&["add pet to store"], &["petstore.addPet"], knowledge))?.success()?;
    Ok("Tray was added.".to_owned())
}
