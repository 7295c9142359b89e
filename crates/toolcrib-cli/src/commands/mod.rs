//! One file for each command.

mod add;
mod approve;
mod call;
mod completions;
mod confirm;
mod doctor;
mod entry_secrets;
mod eval;
mod generate;
mod health;
mod import;
mod init;
mod install;
mod lint;
mod load;
#[cfg(feature = "oauth")]
mod login;
mod man;
mod models;
mod new;
mod overrides;
mod plan;
mod policy_test;
mod profile;
mod registry;
mod run;
mod schema;
mod script;
mod search;
mod serve;
mod sessions;
mod show;
mod store;
mod tasks;
mod tools;
mod trace;
mod trust;
mod validate;
mod why;

use std::process::ExitCode;

use toolcrib_app::Extensions;

use crate::arguments::{Arguments, Command, PolicyCommand};
use crate::ui::activity::Activity;
use crate::ui::output;

/// Runs one command to its exit code.
pub(crate) async fn run(arguments: Arguments, extensions: Extensions) -> ExitCode {
    let extensions = &extensions;
    let (json, strict) = (arguments.json, arguments.strict);
    let activity = arguments.command.activity().map(|text| Activity::start_slow(&text));
    let outcome = match arguments.command {
        Command::Init(arguments) => init::run(&arguments, extensions, json),
        Command::Validate(arguments) => validate::run(&arguments, extensions, json).await,
        Command::Schema(arguments) => schema::run(&arguments, extensions, json),
        Command::New(arguments) => new::run(&arguments.command, json),
        Command::Load(arguments) => load::run(arguments, strict, json).await,
        Command::Tools(arguments) => tools::run(&arguments, extensions, json).await,
        Command::Trust(arguments) => trust::run(&arguments, extensions, json).await,
        Command::Lint(arguments) => lint::run(&arguments, extensions, json).await,
        Command::Show(arguments) => show::run(&arguments, extensions, json).await,
        Command::Why(arguments) => why::run(&arguments, extensions, json).await,
        Command::Policy(arguments) => {
            let PolicyCommand::Test { app, cases } = &arguments.command;
            policy_test::run(app, cases, extensions, json).await
        }
        Command::Script(arguments) => Box::pin(script::run(&arguments, extensions, json)).await,
        Command::Search(arguments) => search::run(&arguments, extensions, json).await,
        Command::Call(arguments) => call::run(&arguments, extensions, json).await,
        Command::Run(arguments) => Box::pin(run::run(arguments, extensions, json)).await,
        Command::Chat(arguments) => Box::pin(run::chat(arguments, extensions, json)).await,
        Command::Store(arguments) => store::run(&arguments, extensions, json).await,
        Command::Tasks(arguments) => tasks::run(&arguments, extensions, json).await,
        Command::Sessions(arguments) => sessions::run(&arguments, extensions, json).await,
        Command::Trace(arguments) => trace::run(&arguments, extensions, json).await,
        Command::Plan(arguments) => plan::run(&arguments, extensions, json).await,
        #[cfg(feature = "oauth")]
        Command::Login(arguments) => login::run(&arguments, extensions, json).await,
        Command::Serve(arguments) => Box::pin(serve::run(&arguments, extensions)).await,
        Command::Console(arguments) => Box::pin(serve::run_console(&arguments, extensions)).await,
        Command::Profile(arguments) => profile::run(&arguments.command, extensions, json).await,
        Command::Enable(arguments) => overrides::change(&arguments, true, extensions, json).await,
        Command::Disable(arguments) => overrides::change(&arguments, false, extensions, json).await,
        Command::Approve(arguments) => approve::run(&arguments, extensions, json).await,
        Command::Install(arguments) => install::run(&arguments, extensions, json).await,
        Command::Import(arguments) => import::run(&arguments, json),
        Command::Add(arguments) => add::run(&arguments, extensions, json).await,
        Command::Registry(arguments) => registry::run(&arguments, extensions, json).await,
        Command::Eval(arguments) => eval::run(&arguments, json).await,
        Command::Generate(arguments) => Box::pin(generate::run(&arguments, extensions, json)).await,
        Command::Doctor(arguments) => doctor::run(&arguments, extensions, json).await,
        Command::Health(arguments) => health::run(&arguments, json).await,
        Command::Models(arguments) => models::run(&arguments, json).await,
        Command::Completions(arguments) => Ok(completions::run(&arguments, json)),
        Command::Man(arguments) => man::run(&arguments, json),
    };
    drop(activity);
    let exit = outcome.unwrap_or_else(|failure| {
        if json {
            output::json(&failure.json());
        }
        output::tell(&format!("error: {}", failure.message));
        failure.exit
    });
    exit.into()
}
