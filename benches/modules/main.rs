//! What the modules cost: a tool that is made of a function, a search through many files, and a long result of a database.

mod call;
mod grep;
mod pages;
mod tool;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolcrib_bench::report::run(&[
        // First, since memory that was freed earlier would hide a part of what it takes.
        Part { name: "pages", run: pages::run },
        Part { name: "tool", run: tool::run },
        Part { name: "grep", run: grep::run },
    ])
}
