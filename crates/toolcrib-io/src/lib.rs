//! Access to the outside: child processes, HTTP, files below a root.
//!
//! All I/O of Toolcrib goes through one of three modules, each of which enforces its rules in one place:
//!
//! - [`process`] starts programs without a shell and with an allow-listed environment. Each child leads a process group,
//!   which does not outlive this process. [`process::run`] captures one run, [`process::spawn`] keeps a server running.
//! - [`http`] is an HTTP client that refuses addresses of the private network unless its
//!   [`HttpPolicy`](http::HttpPolicy) allows them, and bounds the size of response bodies.
//! - [`files`] opens files relative to the handle of a [`Root`](files::Root) directory. Paths and symlinks that leave the
//!   root are refused.
//!
//! Each module is a cargo feature, and so are `watch`, which reports changed files, and [`table`], the interface of tables
//! that processes on several machines share. All are on by default.
//!
//! Every failure is an [`Error`] that says what happened, where, and what to do next.
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
//! The crate knows nothing about tools, makes no policy decisions and never retries. It is not a sandbox: a child process
//! has all rights of its user. Child processes need Unix; on other platforms starting one fails with
//! [`Error::Unsupported`].

#[cfg(feature = "process")]
pub mod process;

#[cfg(feature = "http")]
pub mod http;

#[cfg(feature = "files")]
pub mod files;

#[cfg(feature = "table")]
pub mod table;

mod error;

pub use error::Error;
