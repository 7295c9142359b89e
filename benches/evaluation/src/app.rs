//! The app that the agent works with: more than 2,000 tools from every kind of source, in a temporary folder.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// The sets of labelled tools, in the folder of the shared data: their names, which of their tools is taken, and how
/// many.
const SETS: [(&str, usize, usize); 3] = [("stabletoolbench", 3, 800), ("bfcl", 3, 500), ("nestful", 1, 200)];

/// The OpenAPI documents: their namespaces, and their files in the folder of the shared data.
const DOCUMENTS: [(&str, &str); 17] = [
    ("slack", "slackapi_slack_api_specs__web_api_slack_web_openapi_v2"),
    ("twilio_verify", "twilio_twilio_oai__spec_json_twilio_verify_v2"),
    ("twilio_messaging", "twilio_twilio_oai__spec_json_twilio_messaging_v1"),
    ("twilio_chat", "twilio_twilio_oai__spec_json_twilio_ip_messaging_v1"),
    ("twilio_numbers", "twilio_twilio_oai__spec_json_twilio_numbers_v1"),
    ("twilio_pricing", "twilio_twilio_oai__spec_json_twilio_pricing_v1"),
    ("twilio_studio", "twilio_twilio_oai__spec_json_twilio_studio_v2"),
    ("k8s_policy", "kubernetes_sigs_kubectl_validate__pkg_openapiclient_builtins_1.35_apis_policy_v1"),
    (
        "k8s_storage",
        "kubernetes_sigs_kubectl_validate__pkg_openapiclient_builtins_1.35_apis_storage.k8s.io_v1",
    ),
    (
        "k8s_autoscaling",
        "kubernetes_sigs_kubectl_validate__pkg_openapiclient_builtins_1.35_apis_autoscaling_v1",
    ),
    (
        "k8s_admission",
        "kubernetes_sigs_kubectl_validate__pkg_openapiclient_builtins_1.35_apis_admissionregistration.k8s.io_v1",
    ),
    ("startrek", "readmeio_oas_examples__3.0_json_star_trek"),
    ("train", "readmeio_oas_examples__3.1_json_train_travel"),
    ("readme", "readmeio_oas_examples__3.0_json_readme"),
    ("petstore", "readmeio_oas_examples__3.0_json_petstore"),
    ("uber", "oai_openapi_specification__examples_v2.0_json_uber"),
    ("uspto", "oai_openapi_specification__examples_v3.0_uspto"),
];

/// The file that records the requests to the services.
const REQUESTS: &str = "requests.jsonl";

/// The folder that tools work in.
const WORK: &str = "work";

/// The author and the date of the commit in the repository, so that it is the same each time.
const COMMIT: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "Mary Anning"),
    ("GIT_AUTHOR_EMAIL", "mary@lyme.example"),
    ("GIT_AUTHOR_DATE", "2026-01-15T10:00:00Z"),
    ("GIT_COMMITTER_NAME", "Mary Anning"),
    ("GIT_COMMITTER_EMAIL", "mary@lyme.example"),
    ("GIT_COMMITTER_DATE", "2026-01-15T10:00:00Z"),
];

/// The folders that the app is made from.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The labelled sets and OpenAPI documents.
    pub(crate) shared: PathBuf,
    /// The MCP servers that others have written.
    pub(crate) peers: PathBuf,
}

/// The folder of the app, and the services behind it, which end with it.
pub(crate) struct World {
    folder: TempDir,
    services: Child,
    /// The services end when it is closed.
    _input: Option<ChildStdin>,
}

impl World {
    /// Makes the app and starts its services.
    pub(crate) fn make(places: &Places) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in [WORK, "home", "cache", "state", "repo"] {
            fs::create_dir(folder.path().join(name))?;
        }
        let (mut services, port) = serve_documents(places, &folder.path().join(REQUESTS))?;
        let input = services.stdin.take();
        let world = Self { folder, services, _input: input };
        world.write_files()?;
        let mut registry = world.sets(places)?;
        for (namespace, file) in DOCUMENTS {
            let spec = places.shared.join("data/openapi").join(format!("{file}.json"));
            let base = format!("http://127.0.0.1:{port}/{namespace}");
            registry.push(json!({"type": "rest", "namespace": namespace, "spec": spec, "base_url": base}));
        }
        registry.extend(world.servers(places));
        registry.extend(world.own());
        fs::write(world.path().join("app.yaml"), format!("{:#}\n", app(&registry)))?;
        Ok(world)
    }

    /// Returns the folder that holds the app.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a file of the folder that tools work in.
    pub(crate) fn work(&self, file: &str) -> PathBuf {
        self.path().join(WORK).join(file)
    }

    /// Returns what tools have recorded in a file of their folder.
    pub(crate) fn recorded(&self, file: &str) -> Vec<Value> {
        entries(&self.work(file))
    }

    /// Returns the requests to a path of the services.
    pub(crate) fn requests(&self, path: &str) -> Vec<Value> {
        let all = entries(&self.path().join(REQUESTS));
        all.into_iter().filter(|entry| entry.get("path").and_then(Value::as_str) == Some(path)).collect()
    }

    fn write_files(&self) -> Result<()> {
        fs::write(self.work("visit.txt"), "On Tuesday we met Joseph Fourier about the heated showcase.\n")?;
        let repository = self.path().join("repo");
        fs::write(repository.join("finds.md"), "# Finds\n")?;
        let git = |words: &[&str]| -> Result<()> {
            let mut command = Command::new("git");
            command.args(words).current_dir(&repository).envs(COMMIT);
            let status = command.status().context("could not start git")?;
            ensure!(status.success(), "git {}: {status}", words.join(" "));
            Ok(())
        };
        git(&["init", "--quiet", "--initial-branch", "main"])?;
        git(&["add", "finds.md"])?;
        git(&["commit", "--quiet", "--message", "Describe the plesiosaur of 1823"])
    }

    /// Writes the sets as files of tools, whose calls have fixed answers.
    fn sets(&self, places: &Places) -> Result<Vec<Value>> {
        let mut registry = Vec::new();
        for (name, stride, most) in SETS {
            let path = places.shared.join("data/retrieval").join(name).join("tools.json");
            let text =
                fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
            let tools: Vec<Value> = serde_json::from_str(&text)?;
            let kept = ["name", "namespace", "description", "parameters"];
            let shorter = tools.iter().step_by(stride).take(most).map(|tool| {
                let member = |key: &&str| Some(((*key).to_owned(), tool.get(*key)?.clone()));
                Value::Object(kept.iter().filter_map(member).collect::<Map<_, _>>())
            });
            let file = format!("{name}.json");
            fs::write(self.path().join(&file), Value::Array(shorter.collect()).to_string())?;
            registry.push(json!({"type": "file", "path": file, "namespace": name, "engine": "canned"}));
        }
        Ok(registry)
    }

    /// Returns the MCP servers that others have written.
    fn servers(&self, places: &Places) -> Vec<Value> {
        let npm = |program: &str| places.peers.join("npm/node_modules/.bin").join(program);
        let python = json!({"PYTHONPATH": places.peers.join("python")});
        let memory = json!({"MEMORY_FILE_PATH": self.path().join("graph.jsonl")});
        let server = |namespace: &str, command: Value, env: Value| {
            json!({
                "type": "mcp", "namespace": namespace, "command": command, "env": env,
                "startup_timeout_seconds": 60,
            })
        };
        vec![
            server("everything", json!([npm("mcp-server-everything"), "stdio"]), json!({})),
            server("files", json!([npm("mcp-server-filesystem"), self.path().join(WORK)]), json!({})),
            server("graph", json!([npm("mcp-server-memory")]), memory),
            server("time", json!(["python3", "-m", "mcp_server_time"]), python.clone()),
            server("git", json!(["python3", "-m", "mcp_server_git"]), python),
        ]
    }

    /// Returns our own sources: the shop, the depot, and a tool with overloads.
    fn own(&self) -> Vec<Value> {
        let fixtures = fixtures();
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/src");
        let texts = |names: &[&str]| {
            let properties = names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"})));
            Value::Object(properties.collect())
        };
        let mut money = texts(&["source", "target"]);
        if let Some(properties) = money.as_object_mut() {
            properties.insert("amount".into(), json!({"type": "number"}));
        }
        let scales = json!({"type": "string", "enum": ["celsius", "fahrenheit"]});
        vec![
            json!({
                "type": "mcp", "namespace": "depot", "command": ["python3", fixtures.join("depot.py")],
                "env": {"DEPOT_FLAG": self.path().join("calibrated")},
            }),
            json!({
                "type": "exec", "namespace": "shop",
                "worker": ["python3", "-m", "toolcrib.worker", fixtures.join("shop")],
                "env": {"PYTHONPATH": package},
            }),
            json!({"type": "inline", "namespace": "units", "engine": "echo", "tools": [
                {
                    "name": "convert", "risk": "low",
                    "description": "Converts a temperature between Celsius and Fahrenheit.",
                    "parameters": {
                        "type": "object", "required": ["degrees", "scale"],
                        "properties": {"degrees": {"type": "number"}, "scale": scales},
                    },
                },
                {
                    "name": "convert", "risk": "low",
                    "description": "Converts an amount of money from one currency to another.",
                    "parameters": {
                        "type": "object", "required": ["amount", "source", "target"], "properties": money,
                    },
                },
            ]}),
        ]
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.services.kill();
        let _ = self.services.wait();
    }
}

/// Returns the app file, which is JSON.
fn app(registry: &[Value]) -> Value {
    let create = "CREATE TABLE articles (name TEXT, price REAL)";
    let fill = "INSERT INTO articles VALUES ('Ammonite', 12.5), ('Ichthyosaur', 940), ('Crinoid', 31), ('Coprolite', 4)";
    let setup = json!([
        {"action": "connect", "params": {"name": "stock", "driver": "sqlite", "database": "stock.db", "create": true}},
        {"action": "batch_execute", "params": {"statements": [{"sql": create}, {"sql": fill}]}},
    ]);
    json!({
        "app": {"id": "evaluation", "workspace": WORK},
        "modules": {"database": {"config": {"allow_writes": true}, "setup": setup}, "filesystem": {}},
        "tools": {
            "registry": registry,
            "engines": {
                "canned": {
                    "type": "mock",
                    "results": {
                        "wnba_standings": {"season": "2022", "leader": "Las Vegas Aces"},
                        "get_shortest_driving_distance": {"distance": 46.7, "unit": "km"},
                    },
                    "default": {"status": "ok"},
                },
                "echo": {
                    "type": "command", "output": "json",
                    "argv": ["python3", fixtures().join("units.py"), "{@arguments}"],
                },
            },
            "capabilities": {
                "default_policy": "grant",
                "grant": [{"module": "context_builder", "actions": ["ask_user"]}],
                "approve": [{"module": "slack", "actions": ["chat_*"]}],
                "deny": [
                    {"module": "shop", "actions": ["purge_order"]},
                    {
                        "module": "shop", "actions": ["add_note"],
                        "arguments": [{"path": "/text", "matches": "(?i)password"}],
                    },
                ],
            },
        },
        "execution": {"watchers": true, "scheduler": true, "store": "./tasks.db"},
        "serve": {"surface": "discovery"},
    })
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Starts the services, and returns them with their port.
fn serve_documents(places: &Places, requests: &Path) -> Result<(Child, u16)> {
    let mut command = Command::new("python3");
    command.arg(fixtures().join("services.py")).arg(requests);
    for (name, file) in DOCUMENTS {
        let path = places.shared.join("data/openapi").join(format!("{file}.json"));
        ensure!(path.is_file(), "there is no {}", path.display());
        command.arg(format!("{name}={}", path.display()));
    }
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("could not start python3")?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    if let Ok(port) = line.trim().parse() {
        return Ok((child, port));
    }
    let _ = child.kill();
    let _ = child.wait();
    bail!("the services did not say their port, but {line:?}")
}

fn entries(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
