//! Tools and queries.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use toolcrib_bench::catalogue;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_search::evaluation::LabelledQuery;

const SETS: [&str; 4] = ["metatool", "seal_tools", "stabletoolbench", "bfcl"];

/// The number of queries per set.
const QUERIES_OF_A_SET: usize = 250;

/// The distance between selected tools in the concatenated sets, so that a few come from each set.
const STRIDE: usize = 5_003;

/// Returns the folder of the labelled sets, if there is one.
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os("TOOLCRIB_SHARED").map(|shared| Path::new(&shared).join("data/retrieval"))
}

/// Returns the folder of the model in the shared data, if there is one.
pub(crate) fn model() -> Option<PathBuf> {
    let shared = PathBuf::from(std::env::var_os("TOOLCRIB_SHARED")?);
    Some(shared.join("models/all-MiniLM-L6-v2-onnx-int8")).filter(|folder| folder.is_dir())
}

/// Returns this number of tools.
pub(crate) fn tools(count: usize) -> Result<Vec<Arc<Tool>>, Box<dyn Error>> {
    let mut definitions = Vec::new();
    if let Some(folder) = folder() {
        for set in SETS {
            definitions.extend(read(&folder.join(set))?);
        }
        let many = definitions.len();
        let place = |number: usize| number * STRIDE % many.max(1);
        definitions = (0..many).filter_map(|number| definitions.get(place(number)).cloned()).collect();
    } else {
        definitions = catalogue::tools(count);
    }
    let originals: Vec<Arc<Tool>> = definitions.iter().map(tool).collect::<Result<_, _>>()?;
    let many = originals.len().max(1);
    let tool = |number: usize| {
        let original = originals.get(number % many).ok_or("there are no tools")?;
        copy(original, number / many)
    };
    (0..count).map(tool).collect()
}

/// Returns all tools of a labelled set.
pub(crate) fn tools_of(set: &str) -> Result<Vec<Arc<Tool>>, Box<dyn Error>> {
    let folder = folder().ok_or("TOOLCRIB_SHARED is not set")?;
    tools_in(&folder.join(set))
}

/// Returns the tools of the set in a folder.
pub(crate) fn tools_in(folder: &Path) -> Result<Vec<Arc<Tool>>, Box<dyn Error>> {
    read(folder)?.iter().map(tool).collect()
}

/// Returns all queries of a labelled set.
pub(crate) fn labelled(set: &str) -> Result<Vec<LabelledQuery>, Box<dyn Error>> {
    let folder = folder().ok_or("TOOLCRIB_SHARED is not set")?;
    let text = fs::read_to_string(folder.join(set).join("queries.jsonl"))?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Requests that no tool answers, by domain: each domain follows a line `# DOMAIN`.
static UNANSWERABLE: &str = include_str!("unanswerable.txt");

/// The sets of few domains. The others have tools of all domains that a program can serve.
const NARROW: [&str; 2] = ["restbench", "nestful"];

/// The domains that no program serves.
const UNSERVED: [&str; 2] = ["by hand", "personal"];

/// A request that no tool answers.
pub(crate) struct Unanswerable {
    domain: &'static str,
    /// The text of the request.
    pub text: &'static str,
}

impl Unanswerable {
    /// Returns true if no tool of a labelled set answers the request.
    pub(crate) fn is_foreign_to(&self, set: &str) -> bool {
        NARROW.contains(&set) || UNSERVED.contains(&self.domain)
    }
}

/// Returns the requests that no tool answers.
pub(crate) fn unanswerable() -> Vec<Unanswerable> {
    let (mut requests, mut domain) = (Vec::new(), "");
    for line in UNANSWERABLE.lines() {
        match line.strip_prefix("# ") {
            Some(name) => domain = name,
            None => requests.push(Unanswerable { domain, text: line }),
        }
    }
    requests
}

fn read(folder: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    Ok(serde_json::from_slice(&fs::read(folder.join("tools.json"))?)?)
}

fn tool(definition: &Value) -> Result<Arc<Tool>, Box<dyn Error>> {
    let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default();
    let tool = Tool::new(QualifiedName::new(text("namespace"), text("name"))?)
        .with_description(text("description"))
        .with_parameters(definition.get("parameters").cloned().unwrap_or_default());
    Ok(Arc::new(tool))
}

/// Returns a copy of a tool with another name, or the tool itself as its copy 0. Copies share their schema.
fn copy(original: &Arc<Tool>, number: usize) -> Result<Arc<Tool>, Box<dyn Error>> {
    if number == 0 {
        return Ok(Arc::clone(original));
    }
    let mut tool = Tool::clone(original);
    tool.name = QualifiedName::new(original.name.namespace(), &format!("{}_{number}", original.name.name()))?;
    Ok(Arc::new(tool))
}

/// Returns the queries.
pub(crate) fn queries() -> Result<Vec<String>, Box<dyn Error>> {
    if folder().is_none() {
        let text =
            |tool: Value| tool.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        return Ok(catalogue::tools(QUERIES_OF_A_SET).into_iter().map(text).collect());
    }
    let mut queries = Vec::new();
    for set in SETS {
        queries.extend(labelled(set)?.into_iter().take(QUERIES_OF_A_SET).map(|labelled| labelled.query));
    }
    Ok(queries)
}
