//! The only doors to the world: child processes, HTTP, rooted files.
//!
//! Everything that Toolcrib does outside of its own memory goes through one of three modules, so that the rules of
//! each door stand in one place:
//!
//! - [`process`] starts programs without a shell and with an allow-listed environment. Each child has a process group
//!   of its own, which does not outlive this process. [`process::run`] captures one run, [`process::spawn`] keeps a
//!   server.
//! - [`http`] is an HTTP client that refuses addresses of the private network unless its
//!   [`HttpPolicy`](http::HttpPolicy) allows them, and reads no more of a body than it was told to.
//! - [`files`] opens files relative to the handle of a [`Root`](files::Root) directory; no path and no symlink leads
//!   out of it.
//!
//! Whatever fails, fails with an [`Error`] that says what happened, where, and what to do next.
//!
//! ```
//! use toolcrib_io::files::Root;
//! use toolcrib_io::process::{Command, RunLimits, run};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let output = run(&Command::new(["echo", "hello"]), None, &RunLimits::default()).await?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"hello\n");
//!
//! let root = Root::open(std::env::temp_dir())?;
//! let refused = root.exists("../etc/passwd").unwrap_err();
//! assert!(refused.to_string().contains("outside of the root"));
//! # Ok(())
//! # }
//! ```
//!
//! It does not know what a tool is, decides no policy of its own, and retries nothing. It is not a sandbox: a child
//! process may do whatever its user may do. Child processes need Unix; elsewhere they fail with
//! [`Error::Unsupported`].

pub mod process;

pub mod http;

pub mod files;

mod error;

pub use error::Error;
