//! The files of the writers, read by programs of others. `TOOLCRIB_PEERS` names the folder that has them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::conversation::{Call, Conversation, Kind, Message};
use crate::samples;
use crate::validate::validate;
use crate::writer::names::Names;
use crate::writer::xlam::first_turn;
use crate::writer::{Format, NameStyle, Output};

/// The conversations of each kind.
const CONVERSATIONS: u64 = 25;

fn conversations() -> Vec<Conversation> {
    let of_kind = |kind| (0..CONVERSATIONS).map(move |seed| samples::of_kind(kind, seed));
    Kind::ALL.into_iter().flat_map(of_kind).collect()
}

/// Runs a script of the peers, and returns what it prints as JSON. Returns `None` where its packages are not installed.
fn read(script: &str, packages: &str, arguments: &[&Path]) -> Option<Value> {
    let Some(peers) = std::env::var_os("TOOLCRIB_PEERS").map(PathBuf::from) else {
        println!("left out: TOOLCRIB_PEERS is not set");
        return None;
    };
    let packages = peers.join(packages);
    if !packages.is_dir() {
        println!("left out: {} is not there", packages.display());
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers").join(script);
    let mut command = Command::new("python3");
    command.arg(script).args(arguments).env("PYTHONPATH", packages).env("PYTHONDONTWRITEBYTECODE", "1");
    // The leaderboard makes folders for its results.
    let output = command.env("BFCL_PROJECT_ROOT", arguments.last()?.parent()?).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Writes all conversations, and returns the calls that a reader finds in each, and those that it should find.
fn calls_of(
    format: Format,
    style: NameStyle,
    written: impl Fn(&Conversation) -> Vec<Call>,
) -> Option<(Value, Value)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let mut output = Output::create(&path, format, style).unwrap();
    let conversations = conversations();
    for conversation in &conversations {
        output.write(conversation).unwrap();
    }
    output.finish().unwrap();
    let calls = conversations.iter().map(|conversation| {
        let names = Names::new(&conversation.tools, style);
        written(conversation)
            .into_iter()
            .map(|call| json!([names.of(&call.name), call.arguments]))
            .collect::<Value>()
    });
    let expected = calls.collect();
    read("training_data.py", "training_data", &[Path::new(format.name()), &path]).map(|read| (read, expected))
}

fn all_calls(conversation: &Conversation) -> Vec<Call> {
    let calls = conversation.messages.iter().filter_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls.clone()),
        _ => None,
    });
    calls.flatten().collect()
}

fn first_calls(conversation: &Conversation) -> Vec<Call> {
    first_turn(conversation).map(|(_, calls)| calls.to_vec()).unwrap_or_default()
}

#[test]
fn conversations_of_each_kind_have_no_finding() {
    for conversation in conversations() {
        assert_eq!(validate(&conversation), [], "{conversation:#?}");
    }
}

#[test]
fn the_types_of_the_official_package_accept_all_messages_and_tools() {
    if let Some((read, written)) = calls_of(Format::Openai, NameStyle::Wire, all_calls) {
        assert_eq!(read, written);
    }
}

#[test]
fn a_reader_of_share_gpt_finds_all_calls() {
    for style in [NameStyle::Wire, NameStyle::Qualified] {
        if let Some((read, written)) = calls_of(Format::Sharegpt, style, all_calls) {
            assert_eq!(read, written);
        }
    }
}

#[test]
fn a_reader_of_xlam_finds_the_first_calls() {
    if let Some((read, written)) = calls_of(Format::Xlam, NameStyle::Dotted, first_calls) {
        assert_eq!(read, written);
    }
}

#[test]
fn the_checker_of_the_leaderboard_accepts_the_calls_and_refuses_wrong_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let mut output = Output::create(&path, Format::Bfcl, NameStyle::Dotted).unwrap();
    let (mut right, mut wrong) = (String::new(), String::new());
    for conversation in conversations() {
        output.write(&conversation).unwrap();
        let names = Names::new(&conversation.tools, NameStyle::Dotted);
        let made = |calls: &[Call]| {
            let calls = calls.iter().map(|call| json!({names.of(&call.name): call.arguments}));
            format!("{}\n", calls.collect::<Value>())
        };
        let mut calls = first_calls(&conversation);
        right.push_str(&made(&calls));
        if let Some(arguments) = calls.first_mut().and_then(|call| call.arguments.as_object_mut()) {
            let first = arguments.values_mut().next().unwrap();
            *first = json!("something else");
        }
        wrong.push_str(&made(&calls));
    }
    output.finish().unwrap();
    let answers = folder.path().join("data.possible_answer.jsonl");
    let graded = |calls: String| {
        let file = folder.path().join("calls.jsonl");
        fs::write(&file, calls).unwrap();
        read("bfcl.py", "bfcl", &[&path, &answers, &file])
    };
    let Some(of_right) = graded(right) else { return };
    let of_wrong = graded(wrong).unwrap();
    let mut categories = std::collections::BTreeMap::<_, u64>::new();
    for (right, wrong) in of_right.as_array().unwrap().iter().zip(of_wrong.as_array().unwrap()) {
        let category = right[0].as_str().unwrap();
        *categories.entry(category).or_default() += 1;
        assert_eq!(right[1], json!([]), "{right}");
        assert_eq!(wrong[1] == json!([]), category == "irrelevance", "{wrong}");
    }
    assert_eq!(categories.values().sum::<u64>(), CONVERSATIONS * Kind::ALL.len() as u64);
    let expected = ["irrelevance", "multiple", "parallel", "parallel_multiple", "simple_python"];
    assert_eq!(categories.into_keys().collect::<Vec<_>>(), expected);
}
