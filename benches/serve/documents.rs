//! The start of a gateway with large OpenAPI documents, and its memory. Definitions that operations share are in memory
//! once.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_bench::documents::entangled;
use toolcrib_bench::memory;
use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_bench::timings::Timings;

use crate::call::runtime;
use crate::gateway::{gateway, over_stdio, write_app};
use crate::peers::named;

/// The number of starts.
const STARTS: usize = 5;

/// The time limit for the first list of a large document, from the start of the program.
const READY_BOUND: Duration = Duration::from_millis(600);

/// The limit for the resident memory with a large document, in bytes.
const RESIDENT_BOUND: u64 = 90 * 1024 * 1024;

/// The number of operations of the generated document, as of the document of Stripe.
const OPERATIONS: usize = 417;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let generated = folder.path().join("entangled.json");
    fs::write(&generated, entangled(OPERATIONS).to_string())?;
    part(&format!("{OPERATIONS} operations whose schemas all lead to each other"), &[generated], true)?;
    if let Ok(stripe) = named("TOOLCRIB_STRIPE") {
        part("the document of Stripe", &[stripe], true)?;
    }
    let shared = shared_documents()?;
    if shared.is_empty() {
        return Ok(());
    }
    part(&format!("{} documents in one app", shared.len()), &shared, false)
}

/// Returns all OpenAPI documents of the shared data, if it exists.
fn shared_documents() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let Ok(shared) = named("TOOLCRIB_SHARED") else { return Ok(Vec::new()) };
    let folder = shared.join("data/openapi");
    let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json"))?)?;
    let files = index.as_array().into_iter().flatten().filter_map(|entry| entry["file"].as_str());
    Ok(files.map(|file| folder.join(file)).collect())
}

fn part(what: &str, documents: &[PathBuf], is_bounded: bool) -> Result<(), Box<dyn Error>> {
    title(&format!("`serve` with {what}"));
    runtime()?.block_on(async {
        let folder = tempfile::tempdir()?;
        let registry: Vec<_> = documents
            .iter()
            .enumerate()
            .map(|(number, path)| json!({"type": "rest", "namespace": format!("api_{number}"), "spec": path}))
            .collect();
        write_app(&folder, &registry)?;
        let mut timings = Timings::default();
        let mut most = 0;
        for _ in 0..STARTS {
            let begun = Instant::now();
            let (client, gateway) = over_stdio(&gateway(folder.path(), &["--stdio"])?).await?;
            if client.list_all_tools().await?.is_empty() {
                return Err("nothing was listed".into());
            }
            timings.add(begun.elapsed());
            most = most.max(memory::resident_of(gateway.id()).unwrap_or_default());
            client.cancel().await?;
        }
        let ready = Row::new("the first tools/list, p50", timings.median());
        let resident =
            (most > 0).then(|| Row::new("resident memory after it, the most", Figure::Bytes(most)));
        if is_bounded {
            ready.at_most(READY_BOUND).print();
            resident.map(|row| row.at_most(Figure::Bytes(RESIDENT_BOUND))).iter().for_each(Row::print);
        } else {
            ready.print();
            resident.iter().for_each(Row::print);
        }
        Ok(())
    })
}
