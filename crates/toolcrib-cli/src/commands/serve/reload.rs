//! Serving the app as its file says now.

use std::sync::Arc;

use toolcrib_app::{App, Error};
use toolcrib_port::Approver;
use toolcrib_runtime::AppWatch;
use toolcrib_server::Server;

use crate::app_start::tell_warnings;
use crate::ui::output;

/// Reloads the app when its file is saved. A file that cannot be served is reported, and changes nothing.
pub(super) async fn follow(
    server: &Server,
    read: impl Fn() -> Result<App, Error>,
    approver: Arc<dyn Approver>,
) {
    let (file, watch) = {
        let served = server.runtime();
        (served.app().file.name.clone(), AppWatch::new(served.app()))
    };
    let mut watch = match watch {
        Ok(watch) => watch,
        Err(error) => return output::tell(&format!("{file} is not read again when it is saved: {error}")),
    };
    while watch.saved().await {
        let done = match read() {
            Ok(app) if app.says_the_same(server.runtime().app()) => continue,
            Ok(app) => server.reload(app, Arc::clone(&approver)).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match done {
            Ok(()) => {
                let served = server.runtime();
                tell_warnings(&served);
                output::rejects(served.snapshot().rejected());
                output::tell(&format!("{file} was read again, and is served as it is now"));
            }
            Err(message) => output::tell(&format!("{message}\n{file} is served as it was before")),
        }
    }
}
