//! The loaders and engines of an app, as its executor gets them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_app::{BuiltSource, CheckedLoader, UnavailableSource};
use toolcrib_exec::Executor;
use toolcrib_port::{Reject, ToolEngine, ToolLoader};
use toolcrib_results::Secrets;
use toolcrib_sdk::Module;

/// Adds the tools of the runtime, the modules and the sources. Returns the files to watch, each with the name of its
/// source. A module that could not be set up has no tools.
pub(crate) async fn add_all(
    executor: &Executor,
    own: Module,
    (modules, not_set_up): (Vec<Module>, BTreeMap<String, Reject>),
    sources: Vec<BuiltSource>,
    secrets: &Secrets,
) -> Vec<(PathBuf, String)> {
    let own = Arc::new(own);
    add(executor, own.clone(), Some(own));
    add_modules(executor, modules, not_set_up, secrets).await;
    let mut watched = Vec::new();
    for source in sources.into_iter().map(|built| built.source) {
        let name = source.loader.source();
        watched.extend(source.watched.into_iter().map(|path| (path, name.to_owned())));
        add(executor, source.loader, source.engine);
    }
    watched
}

async fn add_modules(
    executor: &Executor,
    modules: Vec<Module>,
    mut not_set_up: BTreeMap<String, Reject>,
    secrets: &Secrets,
) {
    for module in modules {
        if let Some(reject) = not_set_up.remove(module.id()) {
            module.close().await;
            add(executor, Arc::new(UnavailableSource::new(Some(module.id().to_owned()), reject)), None);
            continue;
        }
        let module = Arc::new(module);
        let engine: Arc<dyn ToolEngine> = module.clone();
        let loader = CheckedLoader::new(module.clone(), Some(engine), secrets.clone(), None);
        add(executor, Arc::new(loader), Some(module));
    }
}

fn add(executor: &Executor, loader: Arc<dyn ToolLoader>, engine: Option<Arc<dyn ToolEngine>>) {
    if let Some(engine) = engine {
        executor.add_engine(loader.source(), engine);
    }
    executor.registry().add_loader(loader);
}
