//! The `toolcrib` command: all of it is in the library.

fn main() -> std::process::ExitCode {
    toolcrib_cli::main()
}
