//! The cost of modules: a tool made from a function, a search through many files, and a long database result.

mod call;
mod grep;
mod pages;
mod tool;

use toolcrib_bench::report::Part;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolcrib_bench::report::run(&[
        // Runs first, because memory that was freed earlier would hide a part of its usage.
        Part { name: "pages", run: pages::run },
        Part { name: "tool", run: tool::run },
        Part { name: "grep", run: grep::run },
    ])
}
