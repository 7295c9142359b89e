//! The connection of the parts of an app.

use std::sync::Arc;

use toolcrib_app::sections::runtime::ScriptMode;
use toolcrib_app::sections::search;
use toolcrib_app::{AgentSetups, AppParts, Blueprint, BuiltSource};
use toolcrib_exec::Executor;
use toolcrib_exec::audit::Audit;
use toolcrib_meta::Discovery;
use toolcrib_port::Approver;
use toolcrib_registry::ToolRegistry;
use toolcrib_results::Results;
use toolcrib_sdk::Module;

use crate::Error;
use crate::agent::factory;
use crate::services::AppServices;
use crate::stored::StoredRates;

/// Connects the parts of an app around the entrance to execution, which exists before anything that makes calls.
pub(crate) fn connect(
    blueprint: Blueprint,
    (modules, sources): (&[Module], &[BuiltSource]),
    approver: &Arc<dyn Approver>,
    results: &Arc<Results>,
    audit: Audit,
) -> Result<Arc<AppServices>, Error> {
    let registry = ToolRegistry::new()
        .with_enrichments(blueprint.enrichments())
        .map_err(|error| Error::Start { what: "the enrichments".into(), message: error.to_string() })?;
    let registry = registry.with_session_tools(blueprint.session_tools).with_shapes(blueprint.shapes);
    let registry = Arc::new(registry);
    let Blueprint { app, options, policy, hooks, flow, channels, skills, .. } = blueprint;
    let policy = Arc::new(factory::reserved(policy, &app.config)?);
    let executor = Executor::new(Arc::clone(&registry), Arc::clone(&policy), Arc::clone(approver))
        .with_operator_hints(toolcrib_app::OPERATOR_HINTS)
        .with_earlier_names(toolcrib_tasks::background::resolve_former_name)
        .with_flow(flow);
    let executor = match app.shared_store() {
        Some(store) => executor.with_shared_rates(Arc::new(StoredRates(Arc::clone(store)))),
        None => executor,
    };
    let executor = executor
        .with_results(Arc::clone(results))
        .with_approval_wait(app.config.tools.limits.approval_wait())
        .with_audit(audit);
    let executor = hooks.into_iter().fold(executor, Executor::with_hook);
    let descriptions = modules.iter().map(|module| (module.id().to_owned(), module.description().to_owned()));
    let loaders: Vec<_> = sources.iter().map(|built| Arc::clone(&built.source.loader)).collect();
    // Declarations cost tokens in each request, and only a model that is always offered scripts reads them.
    let offers_scripts = [app.config.runtime.scripts, app.config.serve.scripts].contains(&ScriptMode::On);
    let has_scripts = app.extensions.script_engine.is_some() && offers_scripts;
    let discovery = Discovery::new(&registry, policy)
        .with_sources(loaders.clone())
        .with_descriptions(descriptions.collect())
        .with_scripts(has_scripts)
        .with_search(app.config.tools.search.settings())
        .with_word_cache(search::words_folder());
    Ok(Arc::new(AppServices {
        parts: AppParts { app, loaders, skills, channels },
        options,
        executor: Arc::new(executor),
        discovery: Arc::new(discovery),
        setups: AgentSetups::default(),
    }))
}
