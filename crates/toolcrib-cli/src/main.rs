//! The `toolcrib` command: all of it is in the library.

// The allocator of glibc retains freed memory for each thread, and that of musl has one lock for all threads.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    toolcrib_cli::main()
}
