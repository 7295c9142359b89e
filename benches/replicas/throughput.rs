//! Many calls at once, of three replicas on separate ports and of one. Replicas, store, and clients share this machine, so
//! its cores bound the figures: on two of them, three replicas are no faster than one. The share of the store tells where
//! more machines would end.

use std::error::Error;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_bench::report::{Figure, Row, title};

use crate::runtime;
use crate::served::{Measured, Served, new_database, query};

/// The number of clients, each of which makes one call after the other.
const CLIENTS: usize = 32;

const REPLICAS: usize = 3;

/// The duration of each measurement.
const TIME: Duration = Duration::from_secs(5);

const MEASURED: [(&str, Measured); 3] = [
    ("calls that need nothing shared", Measured::Local),
    ("calls whose rate is counted in the store", Measured::Counted),
    ("calls whose results are behind handles", Measured::Handle),
];

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let cores = std::thread::available_parallelism()?;
    title(&format!(
        "{CLIENTS} clients at once; replicas, store, and clients share {cores} cores, which bound the figures"
    ));
    let url = new_database()?;
    let start = |_| Served::start(Some(&url));
    let replicas = (0..REPLICAS).map(start).collect::<Result<Vec<_>, _>>()?;
    let replicas: Arc<[Served]> = replicas.into();
    for (name, measured) in MEASURED {
        for count in [1, REPLICAS] {
            let (each, share) = load(&replicas, count, measured)?;
            let plural = if count == 1 { "replica" } else { "replicas" };
            Row::new(format!("{name}, {count} {plural}: time for each"), each)
                .and(Row::new("the store's share of the processor time", Figure::Percent(share)))
                .print();
        }
    }
    Ok(())
}

/// Returns the time for each of the calls of all clients together, and the share of the store in percent of the processor
/// time of replicas and store.
fn load(
    replicas: &Arc<[Served]>,
    count: usize,
    measured: Measured,
) -> Result<(Duration, f64), Box<dyn Error>> {
    let ids: Vec<u32> = replicas.iter().map(Served::id).collect();
    let store = store_processes()?;
    let before = (processor_time(&ids), processor_time(&store));
    let begun = Instant::now();
    let calls = runtime()?.block_on(async {
        let clients = (0..CLIENTS).map(|client| {
            let replicas = Arc::clone(replicas);
            tokio::spawn(async move {
                let mut calls = 0_u32;
                while begun.elapsed() < TIME {
                    let Some(replica) = replicas.get(client % count) else { break };
                    replica.call(measured).await?;
                    calls += 1;
                }
                Ok::<_, Box<dyn Error + Send + Sync>>(calls)
            })
        });
        let mut calls = 0;
        for client in clients.collect::<Vec<_>>() {
            calls += client.await?.map_err(|error| error.to_string())?;
        }
        Ok::<_, Box<dyn Error>>(calls)
    })?;
    let each = begun.elapsed() / calls.max(1);
    let (of_replicas, of_store) =
        (processor_time(&ids).saturating_sub(before.0), processor_time(&store).saturating_sub(before.1));
    Ok((each, 100.0 * of_store.as_secs_f64() / (of_replicas + of_store).as_secs_f64().max(f64::EPSILON)))
}

/// Returns the processes of the database server, with those of its connections.
fn store_processes() -> Result<Vec<u32>, Box<dyn Error>> {
    let main: u32 = query("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)")?.parse()?;
    let mut all = vec![main];
    for entry in fs::read_dir("/proc")?.filter_map(Result::ok) {
        let id = entry.file_name().to_str().and_then(|name| name.parse().ok());
        all.extend(id.filter(|id| stat(*id).is_some_and(|fields| fields.get(1) == Some(&u64::from(main)))));
    }
    Ok(all)
}

/// Returns the processor time of processes so far. One that has ended counts nothing.
fn processor_time(processes: &[u32]) -> Duration {
    // Ticks in user mode and in the kernel; see `sysconf(_SC_CLK_TCK)`, which is 100 on every Linux.
    let ticks = processes.iter().filter_map(|id| {
        let fields = stat(*id)?;
        Some(fields.get(11)? + fields.get(12)?)
    });
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// Returns the fields of a process behind its name: the state, as 0, the parent, and so on.
fn stat(process: u32) -> Option<Vec<u64>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(|field| field.parse().unwrap_or_default()).collect())
}
