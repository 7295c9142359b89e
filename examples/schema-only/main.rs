//! The schema layer alone: `cargo run --example schema-only`.
//!
//! It repairs the arguments that a model wrote, and says what is wrong with those that cannot be repaired.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use serde_json::json;
use toolcrib_schema::CompiledSchema;

fn main() -> Result<(), Box<dyn Error>> {
    let schema = CompiledSchema::compile(&json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1},
            "units": {"enum": ["metric", "imperial"], "default": "metric"},
        },
        "required": ["city", "days"],
    }))?;

    for arguments in [json!({"city": "Oslo", "days": "3", "units": "Metric"}), json!({"citty": "Oslo"})] {
        println!("{arguments}");
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        match schema.repair(arguments) {
            Ok(repaired) => {
                println!("  becomes {}", json!(repaired.arguments));
                for repair in repaired.repairs {
                    println!("  {}: {:?}", repair.path, repair.change);
                }
            }
            Err(violations) => println!("  {violations}"),
        }
    }
    Ok(())
}
