//! Every tool of every `OpenAPI` document is called, and what arrives is compared with the document.
//!
//! The arguments are made from the schema of the tool; the request that the real loader and engine make of them is taken
//! down by a server. What the request has to be, [`reader`] finds in the document on its own, and [`decode`] takes the
//! request apart again: nothing here uses code of the loader, beyond opening it and calling its tools.

mod binding;
mod bodies;
mod check;
mod decode;
mod documents;
mod generate;
mod node;
mod reader;
mod refusal;
mod schema_check;
mod server;
mod tests;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::task::JoinSet;
use toolcrib_loader_rest::{RestEngine, RestSource};
use toolcrib_model::{ErrorKind, Tool, ToolResult};
use toolcrib_policy::{Call, Capabilities, Effect, Policy, Verdict};
use toolcrib_port::{CallContext, ToolEngine, ToolLoader};
use toolcrib_schema::CompiledSchema;

use self::check::Made;
use self::generate::{Generator, Mode, Random};
use self::node::Library;
use self::reader::Operation;
use self::server::Server;
use crate::support::shared;

/// The argument sets of each tool, and how often each is made from another seed.
const ROUNDS: [(Mode, usize); 4] =
    [(Mode::Minimal, 1), (Mode::Full, 1), (Mode::Nasty, 2), (Mode::Hostile, 3)];

/// How many seeds are tried for arguments that the schema accepts.
const MAX_TRIES: usize = 12;

/// How many of a thousand argument sets may be left out, because none was found that the schema accepts.
const MAX_LEFT_OUT: usize = 10;

/// What came of a document, or of all.
#[derive(Default)]
struct Outcome {
    tools: usize,
    calls: usize,
    refused: usize,
    left_out: Vec<String>,
    /// By class: how often, and the first case.
    findings: BTreeMap<String, (usize, String)>,
}

impl Outcome {
    /// Notes a problem, whose class stands before the first `: `.
    fn found(&mut self, place: &str, problem: &str) {
        let (class, detail) = problem.split_once(": ").unwrap_or((problem, ""));
        let entry =
            self.findings.entry(class.to_owned()).or_insert_with(|| (0, format!("{place}: {detail}")));
        entry.0 += 1;
    }

    fn add(&mut self, other: Self) {
        self.tools += other.tools;
        self.calls += other.calls;
        self.refused += other.refused;
        self.left_out.extend(other.left_out);
        for (class, (count, example)) in other.findings {
            self.findings.entry(class).or_insert((0, example)).0 += count;
        }
    }

    /// The classes, most frequent first.
    fn report(&self) -> String {
        let mut classes: Vec<_> = self.findings.iter().collect();
        classes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let lines =
            classes.into_iter().map(|(class, (count, example))| format!("{count} × {class}\n    {example}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn assert(&self) {
        let Self { tools, calls, refused, left_out, .. } = self;
        eprintln!(
            "{tools} tools, {calls} calls, {refused} refused; {} argument sets left out",
            left_out.len()
        );
        let report = self.report();
        assert!(report.is_empty(), "{report}");
        assert!(left_out.len() <= calls * MAX_LEFT_OUT / 1000, "left out: {left_out:?}");
        assert!(calls > tools && *tools > 0);
    }
}

/// Where calls go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Servers {
    /// To the `base_url` of the source.
    Set,
    /// Where the document says.
    Own,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_tool_of_every_document_sends_what_the_document_says() {
    let Some(folder) = shared().map(|shared| shared.join("data/openapi")) else { return };
    let index: Vec<Value> =
        serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    let operations: u64 = index.iter().map(|entry| entry["operations"].as_u64().unwrap()).sum();
    let paths = index.iter().map(|entry| folder.join(entry["file"].as_str().unwrap()));
    let all = call_all(&Arc::new(Server::start().await), paths, Servers::Set).await;
    assert_eq!(all.tools as u64, operations);
    all.assert();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_style_and_every_kind_of_body_is_sent_as_the_specification_says() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    written(&folder, &documents::parts());
    let paths = written(&folder, &documents::all());
    call_all(&Arc::new(Server::start().await), paths.into_iter(), Servers::Set).await.assert();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_go_to_the_innermost_server_that_the_document_names() {
    let folder = tempfile::tempdir().unwrap();
    let server = Arc::new(Server::start().await);
    let paths = written(&folder, &documents::served(&server.origin));
    call_all(&server, paths.into_iter(), Servers::Own).await.assert();
}

/// Writes documents into a folder.
fn written(folder: &tempfile::TempDir, documents: &[(&str, Value)]) -> Vec<PathBuf> {
    let write = |(name, document): &(&str, Value)| {
        let path = folder.path().join(name);
        std::fs::write(&path, document.to_string()).unwrap();
        path
    };
    documents.iter().map(write).collect()
}

/// Calls all tools of these documents.
async fn call_all(server: &Arc<Server>, paths: impl Iterator<Item = PathBuf>, servers: Servers) -> Outcome {
    let mut tasks = JoinSet::new();
    for (number, path) in paths.enumerate() {
        tasks.spawn(document(path, format!("d{number}"), Arc::clone(server), servers));
    }
    let mut all = Outcome::default();
    while let Some(outcome) = tasks.join_next().await {
        all.add(outcome.unwrap());
    }
    for stray in server.left() {
        all.found("no document", &format!("a request that left its place: {}", stray.target));
    }
    all
}

/// Calls all tools of one document, whose calls arrive under this first segment.
async fn document(path: PathBuf, segment: String, server: Arc<Server>, servers: Servers) -> Outcome {
    let mut outcome = Outcome::default();
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let library = Library::open(&path);
    let Some(root) = library.root() else {
        outcome.found(&file, "a document that cannot be read");
        return outcome;
    };
    let operations = reader::operations(root);
    let base_url = format!("{}/{segment}", server.origin);
    let (tools, engine) = load(&path, (servers == Servers::Set).then_some(&base_url)).await;
    outcome.tools = tools.len();
    let metadata =
        |tool: &Tool, key: &str| tool.metadata().get(key).and_then(Value::as_str).map(str::to_owned);
    for operation in &operations {
        let place = format!("{file}: {} {}", operation.method, operation.path);
        let is_it = |tool: &&Arc<Tool>| {
            metadata(tool, "method").as_ref() == Some(&operation.method)
                && metadata(tool, "path").as_ref() == Some(&operation.path)
        };
        let url = operation.server.as_ref().filter(|_| servers == Servers::Own).unwrap_or(&base_url);
        let base = url.strip_prefix(&server.origin).unwrap_or(url).trim_end_matches('/');
        match tools.iter().filter(is_it).collect::<Vec<_>>().as_slice() {
            [tool] => {
                let (engine, server, segment) = (&engine, &*server, &segment);
                Bench { place, segment, base, tool, operation, engine, server }.run(&mut outcome).await;
            }
            some => {
                outcome.found(&place, &format!("an operation without its one tool: {} tools", some.len()));
            }
        }
    }
    outcome
}

async fn load(path: &Path, base_url: Option<&String>) -> (Vec<Arc<Tool>>, RestEngine) {
    let mut source = RestSource::new(path.to_str().unwrap(), "api").with_private_allowed();
    if let Some(base_url) = base_url {
        source = source.with_base_url(base_url);
    }
    let (loader, engine) = source.open().unwrap();
    (loader.load().await.tools.into_iter().map(Arc::new).collect(), engine)
}

/// One tool, and what it is compared with.
struct Bench<'a> {
    place: String,
    segment: &'a str,
    /// The path of the server.
    base: &'a str,
    tool: &'a Arc<Tool>,
    operation: &'a Operation<'a>,
    engine: &'a RestEngine,
    server: &'a Server,
}

impl Bench<'_> {
    async fn run(&self, outcome: &mut Outcome) {
        let schema = match CompiledSchema::compile(&self.tool.parameters.to_value()) {
            Ok(schema) => schema,
            Err(error) => {
                return outcome.found(&self.place, &format!("a schema that does not compile: {error}"));
            }
        };
        let binding = match binding::bind(self.tool.parameters.root(), self.operation) {
            Ok(binding) => binding,
            Err(problem) => return outcome.found(&self.place, &problem),
        };
        let door = Door::of(self.tool);
        for (mode, round) in
            ROUNDS.into_iter().flat_map(|(mode, times)| (0..times).map(move |round| (mode, round)))
        {
            let Some(arguments) = self.arguments(&schema, mode, round) else {
                outcome.left_out.push(format!("{mode:?} {}", self.place));
                continue;
            };
            let made =
                Made { operation: self.operation, binding: &binding, arguments: &arguments, base: self.base };
            self.call(&door, &made, outcome).await;
        }
    }

    /// Arguments that the schema accepts.
    fn arguments(&self, schema: &CompiledSchema, mode: Mode, round: usize) -> Option<Map<String, Value>> {
        (0..MAX_TRIES).find_map(|attempt| {
            let seed = format!("{} {mode:?} {round} {attempt}", self.place);
            let root = schema.schema();
            // Where all of it never fits together, what must be there does.
            let spare = attempt > MAX_TRIES / 2;
            let mut generator = Generator { root, mode, random: Random::new(&seed), made: 0, spare };
            let value = generator.value(root, 0).filter(|value| schema.accepts(value))?;
            value.as_object().cloned()
        })
    }

    async fn call(&self, door: &Door, made: &Made<'_>, outcome: &mut Outcome) {
        outcome.calls += 1;
        let result = door.call(self.engine, made.arguments.clone()).await;
        let requests = self.server.take(self.segment);
        let given = Value::from(made.arguments.clone());
        match (result.error, requests.as_slice()) {
            (None, [request]) => {
                for problem in made.problems(request) {
                    let detail = format!("{problem}\n    given {given}\n    sent {}", request.target);
                    outcome.found(&self.place, &detail);
                }
            }
            (Some(error), []) if error.kind == ErrorKind::InvalidArgs => {
                outcome.refused += 1;
                let named = |argument: &&str| error.message.contains(&format!("`{argument}`"));
                if !made.may_refuse().iter().any(named) {
                    outcome.found(
                        &self.place,
                        &format!("a call that could be sent is refused: {error}\n    given {given}"),
                    );
                }
            }
            (error, some) => {
                let error = error.map(|error| error.to_string());
                let problem = format!(
                    "a call without its one request: {} requests, {error:?}\n    given {given}",
                    some.len()
                );
                outcome.found(&self.place, &problem);
            }
        }
    }
}

/// The way of a call through the policy, as the executor goes it. Made once for each tool: the digest of a large schema
/// takes longer than a call.
struct Door {
    policy: Policy,
    call: Call,
}

impl Door {
    fn of(tool: &Arc<Tool>) -> Self {
        // High risk is granted by name only.
        let grant = serde_json::json!([{"module": tool.name.namespace(), "actions": [tool.name.name()]}]);
        let named: Capabilities = serde_json::from_value(serde_json::json!({"grant": grant})).unwrap();
        let policy = Policy::new(&Capabilities { default_policy: Effect::Grant, ..named }, []).unwrap();
        Self { policy, call: Call::new(Arc::clone(tool), "test".into(), 1) }
    }

    async fn call(&self, engine: &RestEngine, arguments: Map<String, Value>) -> ToolResult {
        let call = Call { arguments, ..self.call.clone() };
        match self.policy.authorize(call, "session") {
            Verdict::Granted(call) => engine.invoke(&call, &CallContext::new("session")).await,
            other => panic!("not granted: {other:?}"),
        }
    }
}
