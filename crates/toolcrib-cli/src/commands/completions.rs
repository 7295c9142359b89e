//! `toolcrib completions`.

use clap_complete::generate;
use serde_json::json;

use crate::arguments::{Completions, command_line};
use crate::exit::Exit;
use crate::ui::output;

pub(crate) fn run(arguments: &Completions, json: bool) -> Exit {
    let mut command = command_line();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, name, &mut script);
    let script = String::from_utf8_lossy(&script);
    if json {
        output::json(&json!({"shell": arguments.shell.to_string(), "script": script}));
    } else {
        output::say_raw(&script);
    }
    Exit::Ok
}
