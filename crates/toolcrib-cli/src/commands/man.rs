//! `toolcrib man`.

use std::fs;
use std::path::PathBuf;

use clap_mangen::Man as Page;
use serde_json::json;
use toolcrib_io::files::replace;

use crate::arguments::{Man, command_line};
use crate::exit::{Exit, Failure};
use crate::ui::output;

pub(crate) fn run(arguments: &Man, json: bool) -> Result<Exit, Failure> {
    let folder = &arguments.to;
    let failed =
        |error: &dyn std::fmt::Display| Failure::new(Exit::Failed, format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let mut written = Vec::new();
    write(&command_line(), folder, &mut written).map_err(|error| failed(&error))?;
    if json {
        output::json(&json!({"pages": written}));
    } else {
        output::say(&format!("wrote {} pages to {}", written.len(), folder.display()));
    }
    Ok(Exit::Ok)
}

/// Writes the page of a command and those of the commands below it.
fn write(
    command: &clap::Command,
    folder: &std::path::Path,
    written: &mut Vec<PathBuf>,
) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut page = Vec::new();
    Page::new(command.clone()).render(&mut page)?;
    let path = folder.join(format!("{name}.1"));
    replace(&path, &page).map_err(std::io::Error::other)?;
    written.push(path);
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    for command in commands.filter(|command| command.get_name() != "help") {
        write(command, folder, written)?;
    }
    Ok(())
}
