//! A call through the gateway, compared with the same call of the same server by the same client.
//!
//! The sides alternate, also in their order, so that disturbances affect both.

use std::error::Error;
use std::time::{Duration, Instant};

use rmcp::model::CallToolRequestParams;
use serde_json::Value;
use tempfile::TempDir;
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_io::process::Command;

use crate::gateway::{Client, everything_over_http, gateway, over_http, over_stdio, source, write_app};
use crate::peers::{self, Peer};

const CALLS: usize = 300;

/// The number of calls of each side that are not counted.
const WARM_UP: usize = 30;

/// The maximum ratio of a call through the gateway to the direct call.
const BOUND_TO_DIRECT: f64 = 1.15;

/// Measures calls over standard input and output on both sides. A relay that only forwards bytes is the lower limit for
/// any gateway: a message passes through one more process in each direction.
pub(crate) fn stdio() -> Result<(), Box<dyn Error>> {
    title("a call through the gateway, over standard input and output");
    runtime()?.block_on(async {
        let folder = tempfile::tempdir()?;
        let (peers, gateway) = served(&folder)?;
        let (through, _gateway) = over_stdio(&gateway(&["--stdio"])?).await?;
        for peer in &peers {
            let (direct, _server) = over_stdio(&peer.start()).await?;
            let (relayed, _relay) = over_stdio(&peer.start_behind_relay()).await?;
            let own = format!("{}.{}", peer.name, peer.tool);
            let sides = [(&through, own.as_str()), (&direct, peer.tool), (&relayed, peer.tool)];
            let [through, direct, relayed] = timed(sides, &peer.arguments).await?;
            print(peer.name, &through, &direct);
            Row::new(format!("{}, p50, through a bare relay", peer.name), relayed.median())
                .beside(direct.median())
                .print();
        }
        Ok(())
    })
}

/// Measures calls over Streamable HTTP, both to the gateway and to the server that is called directly.
pub(crate) fn http() -> Result<(), Box<dyn Error>> {
    title("a call through the gateway, over Streamable HTTP");
    runtime()?.block_on(async {
        let folder = tempfile::tempdir()?;
        let (peers, gateway) = served(&folder)?;
        let (through, _gateway) = over_http(|port| gateway(&["--http", &port.to_string()])).await?;
        let Some(peer) = peers.iter().find(|peer| peer.name == "everything") else {
            return Err("there is no server that speaks HTTP".into());
        };
        let (direct, _server) = over_http(everything_over_http).await?;
        let own = format!("{}.{}", peer.name, peer.tool);
        let [through, direct] =
            timed([(&through, own.as_str()), (&direct, peer.tool)], &peer.arguments).await?;
        print(peer.name, &through, &direct);
        Ok(())
    })
}

/// Returns the servers, and the command that starts the gateway in front of them.
#[expect(clippy::type_complexity, reason = "there is no name for what starts a gateway")]
fn served(
    folder: &TempDir,
) -> Result<(Vec<Peer>, impl Fn(&[&str]) -> Result<Command, Box<dyn Error>>), Box<dyn Error>> {
    let peers = peers::all(folder)?;
    write_app(folder, &peers.iter().map(source).collect::<Vec<_>>())?;
    let path = folder.path().to_owned();
    Ok((peers, move |words: &[&str]| gateway(&path, words)))
}

pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Measures calls of each side, each with its own name of the tool.
async fn timed<const SIDES: usize>(
    sides: [(&Client, &str); SIDES],
    arguments: &Value,
) -> Result<[Timings; SIDES], Box<dyn Error>> {
    let mut timings = std::array::from_fn(|_| Timings::default());
    for round in 0..WARM_UP + CALLS {
        for turn in 0..SIDES {
            let side = (round + turn) % SIDES;
            let (Some((client, tool)), Some(timings)) = (sides.get(side), timings.get_mut(side)) else {
                continue;
            };
            let taken = call(client, tool, arguments).await?;
            if round >= WARM_UP {
                timings.add(taken);
            }
        }
    }
    Ok(timings)
}

fn print(name: &str, through: &Timings, direct: &Timings) {
    Row::new(format!("{name}, p50"), through.median())
        .at_most_times(BOUND_TO_DIRECT, direct.median())
        .print();
    Row::new(format!("{name}, p99"), through.percentile(99.0)).beside(direct.percentile(99.0)).print();
}

async fn call(client: &Client, tool: &str, arguments: &Value) -> Result<Duration, Box<dyn Error>> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let start = Instant::now();
    let result = client.call_tool(params).await;
    let taken = start.elapsed();
    let result = result?;
    if result.is_error == Some(true) || result.content.is_empty() {
        return Err(format!("`{tool}` failed: {:?}", result.content).into());
    }
    Ok(taken)
}
