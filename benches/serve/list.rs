//! The time from the start of a gateway until it lists its tools.

use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;

use crate::call::runtime;
use crate::gateway::{documents, gateway, over_stdio, source, write_app};
use crate::peers;

/// The number of starts.
const STARTS: usize = 15;

/// The time limit for the first list, from the start of the program.
const BOUND: Duration = Duration::from_millis(100);

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let documents = documents();
    title(&format!("the first tools/list of five servers and {} OpenAPI documents", documents.len()));
    runtime()?.block_on(async {
        let folder = tempfile::tempdir()?;
        let servers = peers::all(&folder)?;
        let mut registry: Vec<_> = servers.iter().map(source).collect();
        registry.extend(documents.iter().enumerate().map(
            |(number, path)| json!({"type": "rest", "namespace": format!("api_{number}"), "spec": path}),
        ));
        write_app(&folder, &registry)?;
        let mut timings = Timings::default();
        for start in 0..=STARTS {
            let begun = Instant::now();
            let (client, _gateway) = over_stdio(&gateway(folder.path(), &["--stdio"])?).await?;
            let tools = client.list_all_tools().await?;
            let taken = begun.elapsed();
            if tools.is_empty() {
                return Err("nothing was listed".into());
            }
            // The first start asks the servers and caches their answers.
            if start == 0 {
                Row::new("the first ever, without manifests", taken).print();
            } else {
                timings.add(taken);
            }
            client.cancel().await?;
        }
        Row::new("with manifests, p50", timings.median()).at_most(BOUND).print();
        Row::new("with manifests, the longest", timings.longest()).print();
        Ok(())
    })
}
