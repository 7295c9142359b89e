//! A call through the gateway, beside the same call of the same server by the same client.
//!
//! They take turns, and take turns at being first, so that a disturbance meets both.

use std::error::Error;
use std::time::{Duration, Instant};

use rmcp::model::CallToolRequestParams;
use serde_json::Value;
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;

use crate::gateway::{Client, everything_over_http, gateway, over_http, over_stdio, source, write_app};
use crate::peers;

const CALLS: usize = 300;

/// Calls of each side that are not counted.
const WARM_UP: usize = 30;

/// How many times the direct call the call through the gateway may take.
const BOUND_TO_DIRECT: f64 = 1.15;

/// Over standard input and output on both ways.
pub(crate) fn stdio() -> Result<(), Box<dyn Error>> {
    title("a call through the gateway, over standard input and output");
    runtime()?.block_on(async {
        let folder = tempfile::tempdir()?;
        let peers = peers::all(&folder)?;
        write_app(&folder, &peers.iter().map(source).collect::<Vec<_>>())?;
        let (through, _gateway) = over_stdio(&gateway(folder.path(), &["--stdio"])?).await?;
        for peer in &peers {
            let (direct, _server) = over_stdio(&peer.start()).await?;
            compare(peer.name, &through, &direct, peer.tool, &peer.arguments).await?;
        }
        Ok(())
    })
}

/// Over Streamable HTTP on both ways.
pub(crate) fn http() -> Result<(), Box<dyn Error>> {
    title("a call through the gateway, over Streamable HTTP");
    runtime()?.block_on(async {
        let folder = tempfile::tempdir()?;
        let peers = peers::all(&folder)?;
        write_app(&folder, &peers.iter().map(source).collect::<Vec<_>>())?;
        let (through, _gateway) =
            over_http(|port| gateway(folder.path(), &["--http", &port.to_string()])).await?;
        let Some(peer) = peers.iter().find(|peer| peer.name == "everything") else {
            return Err("there is no server that speaks HTTP".into());
        };
        let (direct, _server) = over_http(everything_over_http).await?;
        compare(peer.name, &through, &direct, peer.tool, &peer.arguments).await
    })
}

pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

async fn compare(
    name: &str,
    through: &Client,
    direct: &Client,
    tool: &str,
    arguments: &Value,
) -> Result<(), Box<dyn Error>> {
    let own = format!("{name}.{tool}");
    let sides = [(through, own.as_str()), (direct, tool)];
    let mut timings = [Timings::default(), Timings::default()];
    for round in 0..WARM_UP + CALLS {
        for turn in 0..sides.len() {
            let side = (round + turn) % sides.len();
            let (Some((client, tool)), Some(timings)) = (sides.get(side), timings.get_mut(side)) else {
                continue;
            };
            let taken = call(client, tool, arguments).await?;
            if round >= WARM_UP {
                timings.add(taken);
            }
        }
    }
    let [through, direct] = timings;
    Row::new(format!("{name}, p50"), through.median())
        .at_most_times(BOUND_TO_DIRECT, direct.median())
        .print();
    Row::new(format!("{name}, p99"), through.percentile(99.0)).beside(direct.percentile(99.0)).print();
    Ok(())
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
