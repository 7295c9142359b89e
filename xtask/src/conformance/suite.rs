//! The suite: its location, its scenarios, and their outcomes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::install::{Manager, Packages};
use crate::process::{answers, run_within};
use crate::workspace::Workspace;

use super::Side;

const PACKAGES: Packages = Packages { name: "conformance", manager: Manager::Npm };

/// The suite's program, seen from the folder of the packages.
const PROGRAM: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// How long a client may take in one scenario.
const CLIENT_LIMIT: Duration = Duration::from_mins(1);

/// How long the suite may take for one.
const SCENARIO_LIMIT: Duration = Duration::from_secs(90);

/// The name by which the client's own end stands among the checks.
pub(super) const CLIENT: &str = "client";

/// An environment variable for the path of the client: the suite has a shell read its command.
const CLIENT_VARIABLE: &str = "TOOLCRIB_CONFORMANCE_CLIENT";

/// The installed suite.
pub(super) struct Suite {
    node: PathBuf,
    program: PathBuf,
    client: PathBuf,
    /// The URL of the server that is tested.
    server: String,
    /// Where the output of each scenario is left.
    results: PathBuf,
}

impl Suite {
    /// Installs the suite under the target folder.
    pub(super) fn install(workspace: &Workspace) -> Result<Self> {
        let home = PACKAGES.install(&workspace.root, &workspace.target)?;
        // There is none for every platform; a system without brings its own.
        let packaged = home.join("node_modules/.bin/node");
        let node = if packaged.exists() { packaged } else { "node".into() };
        ensure!(answers(Command::new(&node).arg("--version")), "node is not installed");
        let results = workspace.target.join("conformance-results");
        Ok(Self { node, program: home.join(PROGRAM), client: PathBuf::new(), server: String::new(), results })
    }

    /// Sets the client that is tested.
    pub(super) fn with_client(mut self, client: PathBuf) -> Self {
        self.client = client;
        self
    }

    /// Sets the server that is tested.
    pub(super) fn with_server(mut self, url: &str) -> Self {
        url.clone_into(&mut self.server);
        self
    }

    /// The scenarios of a revision for one side, those that it requires and those that it only reports.
    pub(super) fn scenarios(&self, side: Side, revision: &str) -> Result<Vec<String>> {
        let mut list = Command::new(&self.node);
        list.arg(&self.program).args(["list", "--requirements", revision]);
        let told = list.output().context("could not start the suite")?;
        ensure!(told.status.success(), "the suite has no requirements of {revision}");
        let scenarios = listed_scenarios(&String::from_utf8_lossy(&told.stdout), side);
        ensure!(!scenarios.is_empty(), "the suite lists no {} scenario of {revision}", side.name());
        Ok(scenarios)
    }

    /// Runs one scenario and returns the checks that failed.
    pub(super) fn run(&self, side: Side, revision: &str, scenario: &str) -> Result<BTreeSet<String>> {
        let folder = self.results.join(side.name()).join(revision);
        fs::create_dir_all(&folder).with_context(|| format!("could not create {}", folder.display()))?;
        let file = |ending: &str| folder.join(format!("{}.{ending}", scenario.replace('/', "-")));
        let (checks, log) = (file("json"), file("log"));

        let mut suite = Command::new(&self.node);
        suite.arg(&self.program).args([side.name(), "--scenario", scenario, "--spec-version", revision]);
        match side {
            Side::Client => suite
                .args(["--command", &format!("\"${CLIENT_VARIABLE}\"")])
                .env(CLIENT_VARIABLE, &self.client),
            Side::Server => suite.args(["--url", &self.server]),
        };
        suite.args(["--timeout", &CLIENT_LIMIT.as_millis().to_string()]);
        // `--force` runs what is not part of the revision, as an extension; `--verbose` prints the checks as JSON.
        suite.args(["--force", "--verbose"]);
        let create = |path: &Path| File::create(path).context("could not create a result");
        suite.stdout(create(&checks)?).stderr(create(&log)?);
        let status = run_within(&mut suite, SCENARIO_LIMIT).context("could not start the suite")?;
        let Some(status) = status else { bail!("took more than {} s", SCENARIO_LIMIT.as_secs()) };

        let text = fs::read_to_string(&checks).context("could not read the checks")?;
        let failed = failed_checks(&text).with_context(|| format!("see {}", log.display()))?;
        // The suite fails for no other reason than a check, or a client that ends with an error or not at all.
        let failed =
            if failed.is_empty() && !status.success() { BTreeSet::from([CLIENT.to_owned()]) } else { failed };
        Ok(failed)
    }
}

/// The names of the scenarios for one side in what `list --requirements` prints: `- NAME` under the heading of the required,
/// `- NAME [client]` further down.
pub(super) fn listed_scenarios(list: &str, side: Side) -> Vec<String> {
    let (heading, suffix) = match side {
        Side::Client => ("Client scenarios", " [client]"),
        Side::Server => ("Server scenarios", " [server]"),
    };
    let mut is_under = false;
    let mut names = Vec::new();
    for line in list.lines() {
        match line.trim().strip_prefix("- ") {
            Some(name) if is_under => names.push(name.to_owned()),
            Some(name) => names.extend(name.strip_suffix(suffix).map(str::to_owned)),
            None if line.trim().is_empty() => is_under = false,
            None => is_under = line.starts_with(heading),
        }
    }
    names
}

/// The checks that failed, warnings among them, in the list of checks that the suite prints.
pub(super) fn failed_checks(text: &str) -> Result<BTreeSet<String>> {
    // Of a server it says which URL it tests before.
    let list = text.find("[\n").or_else(|| text.find('[')).and_then(|at| text.get(at..)).unwrap_or(text);
    let mut values = serde_json::Deserializer::from_str(list).into_iter::<Vec<Value>>();
    let checks = values.next().and_then(Result::ok).context("the suite did not print its checks")?;
    let failed =
        checks.iter().filter(|check| ["FAILURE", "WARNING"].map(Value::from).contains(&check["status"]));
    Ok(failed.map(|check| check["id"].as_str().unwrap_or_default().to_owned()).collect())
}
