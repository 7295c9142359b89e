//! The cost of hostile tool files.

mod attacks;
mod cost;

use std::process::ExitCode;

use toolcrib_bench::report::Part;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    if let Some(path) = std::env::var_os(cost::FILE) {
        cost::tell(path.as_ref())?;
        return Ok(ExitCode::SUCCESS);
    }
    toolcrib_bench::report::run(&[
        Part { name: "hostile", run: cost::run },
        Part { name: "large", run: cost::run_large },
    ])?;
    Ok(ExitCode::SUCCESS)
}
