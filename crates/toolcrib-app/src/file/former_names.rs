//! Names that stood in app files for what has another name now.
//!
//! They are read as what they mean, with a note of the new name. All of them are in the tables here.

use serde_json::{Map, Value};
use toolcrib_document::Document;
use toolcrib_model::QualifiedName;
use toolcrib_model::text::pointer_part;
use toolcrib_policy::{Policy, RUNTIME_NAMESPACE};
use toolcrib_tasks::background::former_names;
use toolcrib_tasks::schedule::SCHEDULER;

/// Keys that have moved, by their paths; what they hold means the same.
const KEYS: [(&[&str], &[&str]); 3] = [
    (&["runtime", "watchers"], &["execution", "watchers"]),
    (&["execution", "store"], &["store"]),
    (&["modules", "cron_native"], &["modules", "scheduler"]),
];

/// Values that have another name, by the paths of their keys; `*` is any key or position.
const VALUES: [(&[&str], &str, &str); 4] = [
    (&["agents", "*", "role"], "specialist", "assistant"),
    (&["tools", "capabilities", "grant", "*", "module"], "cron_native", "scheduler"),
    (&["tools", "capabilities", "approve", "*", "module"], "cron_native", "scheduler"),
    (&["tools", "capabilities", "deny", "*", "module"], "cron_native", "scheduler"),
];

/// Modules that are something else now, each with what to write, and whether an app has it without asking for it: then an
/// empty entry is read as nothing.
const MODULES: [(&str, &str, bool); 4] = [
    ("agent_spawn", "give one of the `agents` `role: coordinator`, and it can start the others", true),
    ("channels", "name them under `tools.channels`", true),
    ("watchers", "write `execution: {watchers: true}`", false),
    (
        "workspace",
        "there is no shared canvas; the module `filesystem` works in the folder `app.workspace`",
        false,
    ),
];

/// Types of engines that are something else now, each with what to write.
const ENGINES: [(&str, &str); 2] = [
    ("mcp", "a source `{type: mcp}` under `tools.registry` brings its own engine"),
    ("rest", "a source `{type: rest}` under `tools.registry` brings its own engine"),
];

/// Returns what to write in the place of a type of engine that is not there any more.
pub(crate) fn instead_of_engine(kind: &str) -> Option<&'static str> {
    ENGINES.iter().find(|(name, _)| *name == kind).map(|(_, advice)| *advice)
}

/// Applies the rules of a policy also to tools that they name by former names.
pub(crate) fn with_former_names(policy: Policy) -> Policy {
    let namespaces = [RUNTIME_NAMESPACE, SCHEDULER].into_iter();
    let names = namespaces.flat_map(|namespace| former_names(namespace).map(move |names| (namespace, names)));
    names.fold(policy, |policy, (namespace, (former, present))| {
        match QualifiedName::new(namespace, present) {
            Ok(tool) => policy.with_former_name(tool, former),
            Err(_) => policy,
        }
    })
}

/// Returns the present name of an action that a rule or a constraint names by a former one.
pub(crate) fn present_action(module: &str, action: &str) -> Option<&'static str> {
    former_names(module).find(|(former, _)| *former == action).map(|(_, present)| present)
}

/// Returns the replacement of a module that no longer exists.
pub(crate) fn instead_of_module(id: &str) -> Option<&'static str> {
    MODULES.iter().find(|(name, ..)| *name == id).map(|(_, advice, _)| *advice)
}

/// Puts the present names in the place of former ones, and leaves out empty modules that ask for nothing. Returns a note
/// for each, with its place.
pub(crate) fn rename(document: &mut Document) -> Vec<String> {
    let mut found = Vec::new();
    for (old, new) in KEYS {
        if move_key(&mut document.value, old, new) {
            found.push((pointer(old.iter().copied()), format!("`{}`", old.join(".")), new.join(".")));
        }
    }
    for (path, old, new) in VALUES {
        let mut places = Vec::new();
        replace(&mut document.value, path, (old, new), "", &mut places);
        let named = |place| (place, format!("`{old}`"), new.to_owned());
        found.extend(places.into_iter().map(named));
    }
    let at = |document: &Document, pointer: &str| {
        let place = document.position_of(pointer).map(|position| format!("line {}: ", position.line));
        place.unwrap_or_default()
    };
    let mut notes: Vec<String> = found
        .into_iter()
        .map(|(pointer, old, new)| format!("{}{old} is called `{new}` now", at(document, &pointer)))
        .collect();
    for (id, advice, _) in MODULES.iter().filter(|(.., is_implied)| *is_implied) {
        if remove_empty(&mut document.value, &["modules", id]) {
            let place = at(document, &pointer(["modules", id].into_iter()));
            notes.push(format!(
                "{place}`modules.{id}` is no module, and the empty entry has no effect: {advice}"
            ));
        }
    }
    notes
}

/// Removes what stands under a path where it says nothing.
fn remove_empty(value: &mut Value, path: &[&str]) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    let Some(Value::Object(map)) = value.pointer_mut(&pointer(parents.iter().copied())) else { return false };
    let is_empty =
        map.get(*last).is_some_and(|entry| entry.is_null() || entry.as_object().is_some_and(Map::is_empty));
    is_empty && map.shift_remove(*last).is_some()
}

fn pointer<'a>(path: impl Iterator<Item = &'a str>) -> String {
    path.fold(String::new(), |pointer, key| pointer + "/" + &pointer_part(key))
}

/// Moves what stands under a path to another one, unless something stands there already.
fn move_key(value: &mut Value, old: &[&str], new: &[&str]) -> bool {
    let (Some((last, parents)), Some((name, sections))) = (old.split_last(), new.split_last()) else {
        return false;
    };
    if value.pointer(&pointer(new.iter().copied())).is_some() {
        return false;
    }
    let Some(Value::Object(map)) = value.pointer_mut(&pointer(parents.iter().copied())) else { return false };
    let Some(moved) = map.shift_remove(*last) else { return false };
    let mut place = value;
    for section in sections {
        let Value::Object(map) = place else { return false };
        place = map.entry(*section).or_insert_with(|| Value::Object(Map::new()));
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
    }
    if let Value::Object(map) = place {
        map.insert((*name).to_owned(), moved);
    }
    true
}

fn replace(
    value: &mut Value,
    path: &[&str],
    (old, new): (&str, &str),
    pointer: &str,
    places: &mut Vec<String>,
) {
    let Some((key, rest)) = path.split_first() else {
        if value.as_str() == Some(old) {
            *value = new.into();
            places.push(pointer.to_owned());
        }
        return;
    };
    match value {
        Value::Object(map) => {
            if let Some(value) = map.get_mut(*key) {
                replace(value, rest, (old, new), &format!("{pointer}/{key}"), places);
            }
        }
        Value::Array(items) if *key == "*" => {
            for (position, item) in items.iter_mut().enumerate() {
                replace(item, rest, (old, new), &format!("{pointer}/{position}"), places);
            }
        }
        _ => {}
    }
}
