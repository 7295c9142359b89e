//! Serving the app as its file says now.

use std::sync::Arc;

use toolcrib_port::Approver;
use toolcrib_runtime::App;
use toolcrib_server::Server;

use crate::exit::Failure;
use crate::output;

/// Serves the app anew whenever its file is saved. A file that cannot be served is said, and changes nothing.
pub(super) async fn follow(
    server: &Server,
    read: impl Fn() -> Result<App, Failure>,
    approver: Arc<dyn Approver>,
) {
    let mut served = server.runtime();
    let file = served.app().file.clone();
    let mut watch = match served.app().watch() {
        Ok(watch) => watch,
        Err(error) => return output::tell(&format!("{file} is not read again when it is saved: {error}")),
    };
    while watch.saved().await {
        let app = match read() {
            Ok(app) => app,
            Err(failure) => {
                let message = failure.message;
                output::tell(&format!("{message}\n{file} is served as it was before"));
                continue;
            }
        };
        if app.says_the_same(served.app()) {
            continue;
        }
        match server.reload(app, Arc::clone(&approver)).await {
            Ok(()) => {
                served = server.runtime();
                super::super::tell_warnings(&served);
                output::rejects(served.snapshot().rejected());
                output::tell(&format!("{file} was read again, and is served as it is now"));
            }
            Err(error) => {
                served = server.runtime();
                output::tell(&format!("{error}\n{file} is served as it was before"));
            }
        }
    }
}
