//! Former names of arguments of the runtime's own tools.

use serde_json::Value;
use toolcrib_model::text::pointer_part;
use toolcrib_model::{JsonObject, Tool};
use toolcrib_schema::Repair;
use toolcrib_schema::repair::Change;

/// Renames arguments that come under a former name, and returns a repair for each, which the result reports. An
/// argument that also comes under its current name stays as it is, and the schema refuses it. An object under a former
/// name is replaced by its members if the current name takes no object.
pub(crate) fn rename(tool: &Tool, arguments: &mut JsonObject) -> Vec<Repair> {
    let mut repairs = Vec::new();
    for (former, current) in tool.former_arguments() {
        if arguments.get(former).is_some_and(Value::is_object) && !takes_object(tool, current) {
            repairs.extend(replace_by_members(former, arguments));
        } else if !arguments.contains_key(current)
            && let Some(value) = arguments.shift_remove(former)
        {
            arguments.insert(current.to_owned(), value);
            repairs.push(renamed(former.to_owned(), current));
        }
    }
    repairs
}

/// Returns true if a tool takes an object under this name.
fn takes_object(tool: &Tool, name: &str) -> bool {
    match tool.parameters.get("properties").and_then(|all| all.get(name)?.get("type")) {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => true,
    }
}

/// Replaces an object by its members, unless one of them is also given directly.
fn replace_by_members(former: &str, arguments: &mut JsonObject) -> Vec<Repair> {
    let is_free = |name: &String| name == former || !arguments.contains_key(name);
    let members = arguments.get(former).and_then(Value::as_object);
    let Some(members) = members.filter(|members| members.keys().all(is_free)).cloned() else {
        return Vec::new();
    };
    arguments.shift_remove(former);
    let mut repairs = Vec::with_capacity(members.len());
    for (name, value) in members {
        repairs.push(renamed(format!("{former}/{name}"), &name));
        arguments.insert(name, value);
    }
    repairs
}

fn renamed(from: String, to: &str) -> Repair {
    let path = format!("/{}", pointer_part(to));
    Repair { path, change: Change::Renamed, from: Some(from.into()), to: Some(to.into()) }
}
