//! An MCP server that misbehaves in every way that the test kit knows, beside one that does not.
//!
//! In each test a server in one mode is loaded, called and ended in this process, through the executor, while its sibling
//! serves: the error is the stated one, the sibling does not notice, and afterwards there is no process, no descriptor
//! and no task more than before. [`binary`] does some of it with the real binary.

mod binary;
mod calls;
mod fixture;
mod isolated_process;
mod lists;
mod resource_counts;
mod shutdown;
mod startup;

/// A test that counts what this process holds, and so has a process of its own.
macro_rules! counted {
    ($(#[$meta:meta])* $name:ident, $body:expr) => {
        $(#[$meta])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            if crate::hostile::isolated_process::is_alone(module_path!(), stringify!($name)) {
                $body.await;
            }
        }
    };
}
use counted;
