//! The arguments of the command line.

mod activity;
mod caller;
mod clients;
mod generate;
mod health;
mod help;
mod models;
mod new;
mod policy;
mod profile;
mod run;
mod script;
mod serve;
mod sessions;
mod shell;
mod sources;
mod starters;
mod store;
mod tasks;
mod tools;
mod trace;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
#[cfg(feature = "oauth")]
use toolcrib_app::oauth::client::LOGIN_TIMEOUT;

pub(crate) use caller::{Caller, Otlp, SESSION, principal};
pub(crate) use clients::{Client, Import, Install};
pub(crate) use generate::{DataFormat, Generate, GenerateCommand, NameSpelling};
pub(crate) use health::{Doctor, Health};
pub(crate) use help::command_line;
pub(crate) use models::{ModelTier, Models, ModelsCommand};
pub(crate) use new::{Language, New, NewCommand};
pub(crate) use policy::{PolicyArguments, PolicyCommand};
pub(crate) use profile::{OverrideArguments, ProfileArguments, ProfileCommand};
pub(crate) use run::{Chat, Reasoning, Run, RunOptions};
pub(crate) use script::Script;
pub(crate) use serve::{Approve, ConsoleArguments, Serve, SurfaceArgument};
pub(crate) use sessions::{Sessions, SessionsCommand};
pub(crate) use shell::{Completions, Man};
pub(crate) use sources::{Add, AddSource, RegistryArguments, RegistryCommand, ServerArgument, TargetApp};
pub(crate) use starters::{Init, Template};
pub(crate) use store::{Store, StoreCommand};
pub(crate) use tasks::{Tasks, TasksCommand};
pub(crate) use tools::Tools;
pub(crate) use trace::Trace;

/// The position in the help of options that all commands have.
const BEHIND_OWN_OPTIONS: usize = 900;

/// Loads, finds, gates and runs tools for LLM agents.
#[derive(Debug, Parser)]
#[command(name = "toolcrib", version, about)]
pub(crate) struct Arguments {
    /// Print one JSON document on standard output, and nothing else there.
    #[arg(long, global = true, display_order = BEHIND_OWN_OPTIONS)]
    pub(crate) json: bool,

    /// Stop where a tool is a duplicate or a source cannot be loaded, as `tools.strict: true` in the app file.
    #[arg(long, global = true, display_order = BEHIND_OWN_OPTIONS)]
    pub(crate) strict: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a commented starter `app.yaml` that runs as it is.
    #[command(
        after_help = "Examples:\n  toolcrib init my-app\n  toolcrib init my-gateway --template gateway"
    )]
    Init(Init),
    /// Check an app file and the files that it names, without reaching anything remote.
    #[command(after_help = "Example:\n  toolcrib validate app.yaml --connect")]
    Validate(Validate),
    /// Print the JSON Schema of the app file, or of a module's configuration and of its actions.
    #[command(after_help = "Examples:\n  toolcrib schema app > app.schema.json\n  toolcrib schema hello\n  \
                            toolcrib schema reports --app app.yaml --json")]
    Schema(Schema),
    /// Write a starter: a module of programs, a tool file, a skill, or a Rust module.
    #[command(
        after_help = "Examples:\n  toolcrib new exec weather\n  toolcrib new exec weather --language bash\n  \
                            toolcrib new tool-file weather\n  toolcrib new skill triage\n  \
                            toolcrib new module weather --toolcrib ../toolcrib"
    )]
    New(New),
    /// Load one source without an app: its tools, and what was rejected.
    #[command(override_usage = "toolcrib load [OPTIONS] <--file|--openapi|--mcp> <SOURCE>")]
    #[command(after_help = "Examples:\n  toolcrib load --file tools.yaml --namespace weather\n  \
                            toolcrib load --openapi petstore.yaml\n  \
                            toolcrib load --mcp \"npx -y @modelcontextprotocol/server-everything\"")]
    Load(Load),
    /// List the tools with namespace, risk, policy and source.
    #[command(
        after_help = "Examples:\n  toolcrib tools app.yaml\n  toolcrib tools app.yaml --namespace github\n  \
                            toolcrib tools app.yaml --filter \"pull request\"\n  toolcrib tools app.yaml --changed"
    )]
    Tools(Tools),
    /// Approve what has changed of MCP servers since it was approved.
    ///
    /// Approves all of it, that of a server, or that of one tool. Shows the difference, and approves it when it is what
    /// `--seen` names.
    #[command(after_help = "Examples:\n  toolcrib trust app.yaml files.read_file\n  \
                            toolcrib trust app.yaml files.read_file --seen 4f1c0d2e9b7a63580c14d2aa")]
    Trust(Trust),
    /// Report what makes tools hard to find or to distinguish.
    ///
    /// Reports near duplicates, empty and copied descriptions, names that collide, and oversized schemas. Exits with 0 if
    /// there is nothing to report, else with 1.
    #[command(after_help = "Example:\n  toolcrib lint app.yaml --json")]
    Lint(Lint),
    /// Show one tool: description, schema, an example call, policy.
    #[command(after_help = "Example:\n  toolcrib show app.yaml filesystem.read")]
    Show(Show),
    /// Show the rule that runs, asks about or denies the calls of a tool.
    #[command(after_help = "Examples:\n  toolcrib why app.yaml filesystem.write\n  \
                            toolcrib why app.yaml shell.run '{\"argv\": [\"git\", \"log\"]}' --agent coder")]
    Why(Why),
    /// Test the policy of an app against a table of expected decisions.
    Policy(PolicyArguments),
    /// Search the tools as an agent's `search_tools` does.
    #[command(after_help = "Example:\n  toolcrib search app.yaml \"read a text file\" --explain")]
    Search(Search),
    /// Make one call through the whole gate.
    #[command(after_help = "Examples:\n  toolcrib call app.yaml hello.say_hello '{\"name\": \"Ada\"}'\n  \
                            toolcrib call app.yaml filesystem.read @arguments.json")]
    Call(Call),
    /// Run a program whose tool calls each pass the gate, as an agent's `run_script` does.
    #[command(after_help = "Examples:\n  toolcrib script app.yaml report.js --explain\n  \
                            toolcrib script app.yaml --resume script_0a1b2c3d4e5f6071")]
    Script(Script),
    /// Run the agent loop: one prompt, or a conversation on a terminal.
    #[command(after_help = "Examples:\n  toolcrib run app.yaml \"What is in my notes?\"\n  \
                            toolcrib run app.yaml --record turns.yaml\n  \
                            toolcrib run app.yaml --session monday \"Sort my notes.\"\n  \
                            toolcrib run app.yaml --session monday")]
    Run(Run),
    /// Talk to an agent, message by message, with commands such as `/tools` and `/help`.
    #[command(after_help = "Examples:\n  toolcrib chat app.yaml\n  toolcrib chat app.yaml --session monday")]
    Chat(Chat),
    /// List and cancel the background calls, watchers, schedules and paused scripts of an app, of all sessions.
    #[command(
        after_help = "Examples:\n  toolcrib tasks app.yaml\n  toolcrib tasks app.yaml show schedule_0a1b2c3d4e5f6071\n  \
                            toolcrib tasks app.yaml cancel watch_0a1b2c3d4e5f6071\n  toolcrib tasks app.yaml tail"
    )]
    Tasks(Tasks),
    /// Show the state of the store of an app, and create or migrate its tables.
    #[command(after_help = "Examples:\n  toolcrib store status app.yaml\n  toolcrib store migrate app.yaml")]
    Store(Store),
    /// List, show, export and delete the conversations of `toolcrib run APP --session ID`.
    #[command(
        after_help = "Examples:\n  toolcrib sessions app.yaml\n  toolcrib sessions app.yaml show monday\n  \
                            toolcrib sessions app.yaml export monday --output monday.md\n  \
                            toolcrib sessions app.yaml rm monday"
    )]
    Sessions(Sessions),
    /// Write a page of HTML that shows a session, or an audit log, as a timeline.
    #[command(after_help = "Examples:\n  toolcrib trace app.yaml --session monday\n  \
                            toolcrib trace audit.jsonl --output calls.html")]
    Trace(Trace),
    /// Show the injection decision: mode, tokens of each part, wire names, the system prompt itself.
    #[command(
        after_help = "Examples:\n  toolcrib plan app.yaml --json\n  toolcrib plan app.yaml --serve --surface discovery"
    )]
    Plan(Plan),
    #[cfg(feature = "oauth")]
    /// Log in at an MCP server or an API of the app, and keep what it gives.
    #[command(
        after_help = "Examples:\n  toolcrib login app.yaml crm\n  toolcrib login app.yaml crm --logout"
    )]
    Login(Login),
    /// Serve the app as an MCP server.
    #[command(
        after_help = "Examples:\n  toolcrib serve app.yaml --stdio\n  toolcrib serve app.yaml --http 8080\n  \
                            toolcrib serve app.yaml --http 0.0.0.0:8080 --surface discovery"
    )]
    Serve(Serve),
    /// Open the console of an app that is not served: its tools, policy, tasks and approvals in a browser.
    #[command(after_help = "Example:\n  toolcrib console app.yaml")]
    Console(ConsoleArguments),
    /// List the profiles of an app, and select the one of its clients while it is served.
    #[command(
        after_help = "Examples:\n  toolcrib profile list app.yaml\n  toolcrib profile use app.yaml review\n  \
                            toolcrib profile use app.yaml --none"
    )]
    Profile(ProfileArguments),
    /// Enable a tool, a namespace or a source that was disabled.
    #[command(after_help = "Example:\n  toolcrib enable app.yaml github.delete_repo")]
    Enable(OverrideArguments),
    /// Disable a tool, a namespace or a source without a change of the app file, also while the app runs.
    #[command(
        after_help = "Examples:\n  toolcrib disable app.yaml github.delete_repo\n  toolcrib disable app.yaml github"
    )]
    Disable(OverrideArguments),
    /// Answer the pending approvals of a served app from this terminal.
    ///
    /// Waits for calls until Ctrl-C. Requires `serve.approve: true` in the app.
    #[command(after_help = "Examples:\n  toolcrib approve app.yaml\n  toolcrib approve app.yaml --json\n  \
                            toolcrib approve app.yaml --allow 3f9a01c2-7\n  \
                            toolcrib approve app.yaml --allow 3f9a01c2-8 --with '{\"choice\": \"blue\"}'\n  \
                            toolcrib approve app.yaml --deny 3f9a01c2-7 --feedback \"ask me on Monday\"")]
    Approve(Approve),
    /// Put `toolcrib serve` into the configuration of an MCP client, or take it out again.
    ///
    /// Shows the change before it writes it.
    #[command(
        after_help = "Examples:\n  toolcrib install --list\n  toolcrib install claude-code --app app.yaml\n  \
                            toolcrib install cursor --project --yes\n  toolcrib install claude-code --undo"
    )]
    Install(Install),
    /// Read the MCP servers of clients, or of their configuration files, into an app file.
    #[command(
        after_help = "Examples:\n  toolcrib import\n  toolcrib import --from claude-desktop --output app.yaml\n  \
                            toolcrib import .mcp.json"
    )]
    Import(Import),
    /// Add an MCP server, an OpenAPI document, or a tool file to an app file, which keeps its comments.
    Add(Add),
    /// Find MCP servers in a registry, and add them to an app file.
    Registry(RegistryArguments),
    /// Measure quality and speed of the search on a labelled set.
    #[command(
        after_help = "Examples:\n  toolcrib eval --tools tools.json --queries queries.jsonl --json\n  \
                            toolcrib eval --tools tools.json --queries queries.jsonl --tier keyword"
    )]
    Eval(Eval),
    /// Generate conversations with tool calls as training data.
    #[command(
        after_help = "Examples:\n  toolcrib generate task.yaml\n  toolcrib generate task.yaml --num-outputs 500 --resume\n  \
                            toolcrib generate task.yaml --format sharegpt --output data.jsonl"
    )]
    Generate(Generate),
    /// Check what is available here, and what to do about what is missing.
    #[command(after_help = "Example:\n  toolcrib doctor app.yaml")]
    Doctor(Doctor),
    /// Check that a server accepts calls, for the health probe of a container or a service manager.
    #[command(after_help = "Examples:\n  toolcrib health\n  toolcrib health 10.0.0.7:8080")]
    Health(Health),
    /// Fetch and choose models for the search tiers `model` and `fastembed`.
    #[cfg_attr(not(feature = "onnx"), command(hide = true))]
    #[command(after_help = "Examples:\n  toolcrib models pull\n  toolcrib models pull bge-small-en-v1.5\n  \
                            toolcrib models use bge-small-en-v1.5 app.yaml")]
    Models(Models),
    /// Print the completions of a shell for this command line.
    #[command(
        after_help = "Examples:\n  toolcrib completions bash > ~/.local/share/bash-completion/completions/toolcrib\n  \
                            toolcrib completions zsh > ~/.zfunc/_toolcrib\n  \
                            toolcrib completions fish > ~/.config/fish/completions/toolcrib.fish"
    )]
    Completions(Completions),
    /// Write the manual pages of all commands, for packages.
    #[command(hide = true, after_help = "Example:\n  toolcrib man --to target/man")]
    Man(Man),
}

impl Command {
    /// Returns the destination of the spans of a command that runs tools.
    pub(crate) fn otlp(&self) -> Option<&Otlp> {
        match self {
            Self::Call(arguments) => Some(&arguments.otlp),
            Self::Chat(arguments) => Some(&arguments.options.otlp),
            Self::Run(arguments) => Some(&arguments.options.otlp),
            Self::Script(arguments) => Some(&arguments.otlp),
            Self::Serve(arguments) => Some(&arguments.otlp),
            _ => None,
        }
    }

    /// Returns true if it serves only the client that has started it.
    pub(crate) fn has_one_client(&self) -> bool {
        matches!(self, Self::Serve(arguments) if arguments.http.is_none())
    }
}

#[derive(Args, Debug)]
pub(crate) struct Trust {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The namespaces of servers, or single tools as `namespace.tool`.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) names: Vec<String>,
    /// Approve all that has changed.
    #[arg(long)]
    pub(crate) all: bool,
    /// The mark of the difference that was looked at, as it is shown with it. What has changed since then is not approved.
    #[arg(long, value_name = "MARK")]
    pub(crate) seen: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Validate {
    /// The app file.
    pub(crate) app: PathBuf,
    /// Also load the remote sources, and fail when one is unavailable.
    #[arg(long)]
    pub(crate) connect: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Schema {
    /// The module, or `app` for the app file; all are listed unless one is given.
    pub(crate) module: Option<String>,
    /// An app whose `config` it is made with; none unless given.
    #[arg(long, value_name = "FILE")]
    pub(crate) app: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Load {
    #[command(flatten)]
    pub(crate) source: Source,
    /// The namespace of the tools.
    #[arg(long)]
    pub(crate) namespace: Option<String>,
}

/// The source; exactly one.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct Source {
    /// A tool file.
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
    /// An OpenAPI document: a path or a URL.
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) openapi: Option<String>,
    /// An MCP server: a command line or a URL.
    #[arg(long, value_name = "COMMAND|URL")]
    pub(crate) mcp: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Lint {
    /// The app file.
    pub(crate) app: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The tool, in any spelling: `ns.name`, `ns::name`, or the bare name where it is the only one.
    pub(crate) name: String,
}

#[derive(Args, Debug)]
pub(crate) struct Why {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The tool, in any spelling.
    pub(crate) name: String,
    /// The arguments of the call: a JSON object, `@FILE`, or `-` for standard input; any when absent.
    #[arg(value_name = "JSON|@FILE|-")]
    pub(crate) arguments: Option<String>,
    /// The agent that calls; a person when absent.
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// The client of `toolcrib serve` that calls: the name of a token, or of a client of `serve.oauth`.
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    pub(crate) token: Option<String>,
    /// The session that the call belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Search {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The task of the tool, or its name.
    pub(crate) query: String,
    /// Search only the tools of this namespace.
    #[arg(long)]
    pub(crate) namespace: Option<String>,
    /// The number of tools to show.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=20))]
    pub(crate) limit: u8,
    /// Also show why each was found.
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Call {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The tool, in any spelling.
    pub(crate) name: String,
    /// The arguments: a JSON object, `@FILE`, or `-` for standard input.
    #[arg(default_value = "{}", value_name = "JSON|@FILE|-")]
    pub(crate) arguments: String,
    /// Approve what the policy would ask about.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) caller: Caller,
    #[command(flatten)]
    pub(crate) otlp: Otlp,
}

#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The agent; the first one by default.
    #[arg(long, conflicts_with = "serve")]
    pub(crate) agent: Option<String>,
    /// Show the tools that a client of `toolcrib serve` is listed instead, their cost, and the cost of listing all tools.
    #[arg(long)]
    pub(crate) serve: bool,
    /// The surface that the client is shown; `serve.surface` by default.
    #[arg(long, requires = "serve")]
    pub(crate) surface: Option<SurfaceArgument>,
}

#[cfg(feature = "oauth")]
#[derive(Args, Debug)]
pub(crate) struct Login {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The namespace of the server.
    pub(crate) namespace: String,
    /// Open the browser, in addition to showing the URL.
    #[arg(long, conflicts_with = "logout")]
    pub(crate) browser: bool,
    /// Forget what was given.
    #[arg(long)]
    pub(crate) logout: bool,
    /// The user who logs in, where `auth.per_user` gives each a login: the name of a client of `serve.tokens`, the subject
    /// of a token of `serve.oauth`, or `--user` of other commands.
    #[arg(long = "as", value_name = "USER", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) user: Option<String>,
    /// The time to wait for the login, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = LOGIN_TIMEOUT.as_secs())]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) timeout: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Eval {
    /// A JSON list of tools: `name`, `namespace`, `description`, `parameters`.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: PathBuf,
    /// One JSON object a line: `query`, and the `relevant` tools as `namespace::name`, or `relevant_any`, a list of
    /// lists of interchangeable ones. A query without any is one that nothing answers.
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// The embedder of tools and queries, as `tools.search.tier` of an app.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) tier: Tier,
    /// The model of the tiers `model` and `fastembed`: any that `toolcrib models list` names and `toolcrib models pull`
    /// has fetched.
    #[arg(long, value_name = "NAME", conflicts_with = "model_dir")]
    pub(crate) model: Option<String>,
    /// A folder with a model for the tiers `model` and `fastembed`, in place of a named one.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) model_dir: Option<PathBuf>,
    /// The fusion of words and meaning into one ranking, as `tools.search.ranking` of an app.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) ranking: Ranking,
}

/// `tools.search.tier`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tier {
    /// Nothing: tools are found by their words alone.
    Keyword,
    /// A table inside the program.
    #[default]
    Builtin,
    /// A model that the program runs itself.
    Model,
    /// A model that ONNX Runtime runs, a library that must be installed.
    Fastembed,
}

/// `tools.search.ranking`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ranking {
    /// Both arms from 0 to 1, with a weight of the meaning that depends on the query.
    #[default]
    Fused,
    /// The likeness of meaning times ten, and a boost for words that match.
    Weighted,
}
