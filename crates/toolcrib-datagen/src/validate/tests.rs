//! Tests of the validation.

use serde_json::{Map, Value, json};
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_schema::CompiledSchema;

use super::{Location, Reason, validate};
use crate::Kind;
use crate::conversation::{Call, Conversation, ConversationTool, Message};
use crate::samples;
use crate::seed::Random;

/// The planted faults of each reason.
const FAULTS: u64 = 30;

/// Returns the locations of all calls.
fn calls(conversation: &Conversation) -> Vec<(usize, usize)> {
    let of_message = |(at, message): (usize, &Message)| match message {
        Message::Assistant { calls, .. } => (0..calls.len()).map(|call| (at, call)).collect(),
        _ => Vec::new(),
    };
    conversation.messages.iter().enumerate().flat_map(of_message).collect()
}

fn call(conversation: &mut Conversation, (message, call): (usize, usize)) -> &mut Call {
    match &mut conversation.messages[message] {
        Message::Assistant { calls, .. } => &mut calls[call],
        other => panic!("{other:?} has no calls"),
    }
}

fn arguments(conversation: &mut Conversation, location: (usize, usize)) -> &mut Map<String, Value> {
    call(conversation, location).arguments.as_object_mut().unwrap()
}

#[test]
fn conversations_without_a_fault_have_no_finding() {
    for seed in 0..1_000 {
        let conversation = samples::conversation(seed);
        assert_eq!(validate(&conversation), [], "seed {seed}: {conversation:#?}");
    }
}

#[test]
fn the_words_of_a_search_for_tools_need_no_origin() {
    for (name, arguments, findings) in [
        ("context_builder::search_tools", json!({"query": "ship parcel", "queries": ["book courier"]}), 0),
        ("context_builder::search_tools", json!({"query": "ship parcel", "namespace": "shipping"}), 1),
        ("shop::search", json!({"query": "parcel"}), 1),
    ] {
        let (namespace, own) = name.split_once("::").unwrap();
        let tool = Tool::new(QualifiedName::new(namespace, own).unwrap());
        let conversation = Conversation {
            tools: vec![ConversationTool::from(&tool)],
            messages: vec![
                Message::user("Can you send this to Oslo?"),
                Message::calls([Call::new("1", name, arguments.clone())]),
                Message::result("1", "nothing"),
                Message::assistant("No."),
            ],
            ..Conversation::new("c1", Kind::Discovery)
        };
        let found = validate(&conversation);
        let ungrounded = found.iter().filter(|finding| finding.reason == Reason::UngroundedValue);
        assert_eq!(ungrounded.count(), findings, "{arguments}: {found:?}");
    }
}

#[test]
fn each_planted_fault_is_found_with_its_reason_and_its_place() {
    for reason in Reason::ALL.into_iter().filter(|reason| *reason != Reason::Unparsable) {
        let mut planted = 0;
        for seed in 0..400 {
            let mut conversation = samples::conversation(seed);
            let mut random = Random::new(seed);
            let locations = calls(&conversation);
            let location = *random.choose(&locations).unwrap();
            let Some(expected) = plant(reason, &mut conversation, location, &mut random) else { continue };
            planted += 1;
            let findings = validate(&conversation);
            let found =
                findings.iter().any(|finding| finding.reason == reason && finding.location == expected);
            assert!(found, "{reason}, {expected}, seed {seed}: {findings:?}\n{conversation:#?}");
            if planted == FAULTS {
                break;
            }
        }
        assert_eq!(planted, FAULTS, "{reason}");
    }
}

/// Plants a fault into a call, and returns its place; `None` if the call has no place for it.
fn plant(
    reason: Reason,
    conversation: &mut Conversation,
    location: (usize, usize),
    random: &mut Random,
) -> Option<Location> {
    let name = call(conversation, location).name.clone();
    let tool = conversation.tools.iter().find(|tool| tool.name.to_string() == name);
    let schema = tool.unwrap().parameters.clone();
    let first = schema["properties"].as_object().unwrap().keys().next().unwrap().clone();
    let kind = schema["properties"][&first]["type"].as_str().map(str::to_owned);
    let place = Location::call(location.0, location.1);
    let at_first = place.at(&format!("/{first}"));
    match reason {
        Reason::Malformed => match random.below(3) {
            0 => call(conversation, location).arguments = "{\"city\": ".into(),
            1 => call(conversation, location).id.clear(),
            _ => {
                conversation.messages.remove(location.0 + 1);
                // The results of a message have the order of its calls.
                return Some(Location::call(location.0, 0));
            }
        },
        Reason::DuplicateCall => {
            let mut copy = call(conversation, location).clone();
            copy.id = "copy".to_owned();
            let Message::Assistant { calls, .. } = &mut conversation.messages[location.0] else {
                return None;
            };
            calls.push(copy);
            let count = calls.len();
            let result = Message::result("copy", json!({"ok": true}));
            conversation.messages.insert(location.0 + count, result);
            return Some(Location::call(location.0, count - 1));
        }
        Reason::UnknownTool => call(conversation, location).name = "space_9::act_9".to_owned(),
        Reason::ExtraArgument => {
            let own = schema["properties"].as_object().unwrap();
            let others =
                conversation.tools.iter().filter_map(|tool| tool.parameters["properties"].as_object());
            let name = others.flatten().map(|(name, _)| name.clone()).find(|name| !own.contains_key(name))?;
            arguments(conversation, location).insert(name.clone(), true.into());
            return Some(place.at(&format!("/{name}")));
        }
        Reason::MissingArgument => {
            arguments(conversation, location).remove(&first);
            return Some(at_first);
        }
        Reason::SchemaViolation => {
            let wrong = if kind.as_deref() == Some("boolean") { json!(7) } else { json!({"x": true}) };
            arguments(conversation, location).insert(first, wrong);
            return Some(at_first);
        }
        Reason::HallucinatedArgument => {
            arguments(conversation, location).insert("verbosity".to_owned(), true.into());
            return Some(place.at("/verbosity"));
        }
        _ => {
            let wrong = wrong_value(reason, kind.as_deref(), random)?;
            let place = if wrong.is_array() { place.at(&format!("/{first}/0")) } else { at_first };
            arguments(conversation, location).insert(first, wrong);
            if reason == Reason::FutureReference {
                let own = call(conversation, location).id.clone();
                let result = conversation.messages.iter_mut().find_map(|message| match message {
                    Message::Tool { call_id, content, .. } if *call_id == own => Some(content),
                    _ => None,
                });
                *result.unwrap() = json!({"capital": "Wellington"});
            }
            return Some(place);
        }
    }
    Some(place)
}

/// Returns a value of a type that no message has, or that refers to one.
fn wrong_value(reason: Reason, kind: Option<&str>, random: &mut Random) -> Option<Value> {
    Some(match (kind?, reason) {
        ("string", Reason::UngroundedValue | Reason::FutureReference) => json!("Wellington"),
        ("integer", Reason::UngroundedValue) => json!(123_456_789),
        ("number", Reason::UngroundedValue) => json!(123_456.625),
        ("array", Reason::UngroundedValue | Reason::FutureReference) => json!(["Wellington"]),
        ("string", Reason::IndirectReference) => {
            json!(["$1.id", "{{2.name}}", "<result of call 1>", "$3[\"id\"] please"][random.below(4)])
        }
        ("array", Reason::IndirectReference) => json!(["$1.id"]),
        _ => return None,
    })
}

#[test]
fn findings_about_arguments_agree_with_the_schema() {
    const OF_SCHEMA: [Reason; 4] = [
        Reason::ExtraArgument,
        Reason::MissingArgument,
        Reason::SchemaViolation,
        Reason::HallucinatedArgument,
    ];
    let mut refused = 0;
    for seed in 0..10_000 {
        let mut random = Random::new(seed);
        let tool = samples::tool(random.below(4), &mut random);
        let mut said = Vec::new();
        let properties = tool.parameters["properties"].as_object().unwrap().clone();
        let schemas: Vec<&Value> = properties.values().collect();
        let mut arguments = Map::new();
        for name in properties.keys() {
            if random.chance(0.1) {
                continue;
            }
            // Sometimes the value of another argument, or under another name.
            let schema =
                if random.chance(0.2) { random.choose(&schemas).unwrap() } else { &properties[name] };
            let value = samples::value(schema, &mut random, &mut said);
            arguments.insert(if random.chance(0.05) { format!("{name}_x") } else { name.clone() }, value);
        }
        let arguments = Value::from(arguments);
        let accepts = CompiledSchema::compile(&tool.parameters).unwrap().validate(&arguments).is_ok();
        let mut conversation = samples::conversation(seed);
        conversation.messages = vec![
            Message::user(said.join(", ") + "."),
            Message::calls([Call::new("1", tool.name.to_string(), arguments)]),
            Message::result("1", "done"),
            Message::assistant("Done."),
        ];
        conversation.tools = vec![tool];
        let findings = validate(&conversation);
        assert_eq!(
            findings.iter().all(|finding| !OF_SCHEMA.contains(&finding.reason)),
            accepts,
            "{findings:?}"
        );
        refused += usize::from(!accepts);
    }
    assert!((1_000..9_000).contains(&refused), "{refused}");
}

/// Returns the findings about one call whose only argument has this value, after a message of the user.
fn of_value(said: &str, value: &Value) -> Vec<Reason> {
    let mut conversation = samples::conversation(0);
    conversation.tools = vec![samples::tool(0, &mut Random::new(0))];
    conversation.tools[0].parameters = json!({"type": "object", "properties": {"it": {}}});
    conversation.messages = vec![
        Message::user(said),
        Message::calls([Call::new("1", "space_0::act_0", json!({"it": value}))]),
        Message::result("1", "done"),
        Message::assistant("Done."),
    ];
    validate(&conversation).into_iter().map(|finding| finding.reason).collect()
}

#[test]
fn values_that_the_user_says_in_another_form_are_grounded() {
    let cases = [
        ("two tickets for the third of May", json!(2)),
        ("book it for tomorrow", json!("2026-05-02")),
        ("meet at half past nine", json!("09:30")),
        ("raise it by 15 %", json!(0.15)),
        ("send it to ANNA@example.org", json!("anna@example.org")),
        ("the readme of my repository", json!("README")),
        ("about 1,200 euro", json!(1200)),
        ("a flight to São Paulo", json!("são paulo")),
        (
            "Tell Bob that the meeting moved to Friday",
            json!("Hi Bob, the meeting has moved to Friday, see you there."),
        ),
        ("turn it off", json!(false)),
    ];
    for (said, value) in cases {
        let reasons = of_value(said, &value);
        assert!(!reasons.contains(&Reason::UngroundedValue), "{said}: {value}: {reasons:?}");
    }
}

#[test]
fn values_that_nobody_said_are_not_grounded() {
    let cases = [
        ("two tickets please", json!(3)),
        ("the weather in Oslo", json!("Bergen")),
        ("send it to anna", json!("bob@example.org")),
        ("find a hotel", json!("Hotel Metropol Palace")),
        (
            "write something nice",
            json!("The quarterly revenue of Globex increased through divestments abroad"),
        ),
    ];
    for (said, value) in cases {
        assert!(of_value(said, &value).contains(&Reason::UngroundedValue), "{said}: {value}");
    }
}

#[test]
fn a_failed_call_may_be_repeated() {
    let mut conversation = samples::conversation(1);
    let tool = conversation.tools[0].name.to_string();
    conversation.tools[0].parameters = json!({"type": "object"});
    let call = |id: &str| Message::calls([Call::new(id, tool.clone(), json!({}))]);
    let result = |id: &str, failed| Message::Tool { call_id: id.to_owned(), content: "done".into(), failed };
    let mut messages = vec![
        Message::user("Act."),
        call("1"),
        result("1", true),
        call("2"),
        result("2", false),
        Message::assistant("Done."),
    ];
    conversation.messages.clone_from(&messages);
    assert_eq!(validate(&conversation), []);
    messages[2] = result("1", false);
    conversation.messages = messages;
    assert_eq!(validate(&conversation).first().map(|finding| finding.reason), Some(Reason::DuplicateCall));
}

#[test]
fn a_call_has_to_fit_one_overload() {
    let mut conversation = samples::conversation(1);
    let tool = conversation.tools[0].clone();
    let overload = |parameters: Value| crate::conversation::ConversationTool { parameters, ..tool.clone() };
    conversation.tools = vec![
        overload(json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]})),
        overload(json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})),
    ];
    let mut with = |arguments: Value| {
        conversation.messages = vec![
            Message::user("Show number 7, Anna."),
            Message::calls([Call::new("1", tool.name.to_string(), arguments)]),
            Message::result("1", "done"),
            Message::assistant("Done."),
        ];
        validate(&conversation).into_iter().map(|finding| finding.reason).collect::<Vec<_>>()
    };
    assert_eq!(with(json!({"id": 7})), []);
    assert_eq!(with(json!({"name": "Anna"})), []);
    assert_eq!(with(json!({"id": "Anna"})), [Reason::SchemaViolation]);
    assert_eq!(with(json!({})), [Reason::MissingArgument]);
}
