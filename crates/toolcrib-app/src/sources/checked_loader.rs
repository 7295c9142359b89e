//! A source as an app takes it in: its tools can be run, nothing of it names a secret, and it is loaded again after a time
//! where its entry says so.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::timeout;
use toolcrib_model::Schema;
use toolcrib_model::tool::{Definition, PerDefinition, Rewritten};
use toolcrib_port::{LoadOutcome, Reject, RejectKind, ToolEngine, ToolLoader};
use toolcrib_results::{Redactor, Secrets};

use super::load_observer::LoadObserver;

/// The most tools of one source of which something is told.
const MAX_WARNED_TOOLS: usize = 20;

/// Rejects the tools of a loader that the engine of their source cannot run, before any call of them fails. Takes the
/// secrets of an app out of the rest, before anybody searches it, shows it or sends it to a model: a server can put what it
/// was given into a description, or into its last words.
pub struct CheckedLoader {
    loader: Arc<dyn ToolLoader>,
    engine: Option<Arc<dyn ToolEngine>>,
    secrets: Secrets,
    /// The time after which it counts as changed, regardless of its source.
    refresh: Option<Duration>,
    /// The warnings of the engine about the tools that were loaded last.
    warnings: Mutex<Vec<String>>,
    observer: Option<Arc<dyn LoadObserver>>,
}

/// A load that is observed until it is dropped.
struct ObservedLoad<'a> {
    observer: Option<&'a dyn LoadObserver>,
    source: &'a str,
}

impl<'a> ObservedLoad<'a> {
    fn start(observer: Option<&'a dyn LoadObserver>, source: &'a str) -> Self {
        if let Some(observer) = observer {
            observer.load_started(source);
        }
        Self { observer, source }
    }
}

impl Drop for ObservedLoad<'_> {
    fn drop(&mut self) {
        if let Some(observer) = self.observer {
            observer.load_finished(self.source);
        }
    }
}

impl CheckedLoader {
    /// Wraps a loader.
    pub fn new(
        loader: Arc<dyn ToolLoader>,
        engine: Option<Arc<dyn ToolEngine>>,
        secrets: Secrets,
        refresh: Option<Duration>,
    ) -> Self {
        Self { loader, engine, secrets, refresh, warnings: Mutex::default(), observer: None }
    }

    /// Sets who watches the loads.
    pub fn with_observer(mut self, observer: Option<Arc<dyn LoadObserver>>) -> Self {
        self.observer = observer;
        self
    }

    /// Rejects the tools that the engine cannot run, and returns what it warns of.
    fn fit(&self, loaded: &mut LoadOutcome) -> Vec<String> {
        let Some(engine) = &self.engine else {
            let message = format!(
                "{} has no `engine`: its tools are found, and no call of them runs; name one of `tools.engines`",
                self.source()
            );
            return if loaded.tools.is_empty() { Vec::new() } else { vec![message] };
        };
        let rejected = &mut loaded.rejected;
        loaded.tools.retain(|tool| {
            let Some(reason) = engine.unsupported_reason(tool) else { return true };
            let name = tool.name.to_string();
            rejected.push(Reject::tool(self.source(), name, RejectKind::InvalidTool, reason));
            false
        });
        loaded.tools.iter().filter_map(|tool| engine.warning(tool)).take(MAX_WARNED_TOOLS).collect()
    }
}

#[async_trait]
impl ToolLoader for CheckedLoader {
    fn source(&self) -> &str {
        self.loader.source()
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        self.loader.exclusive_namespace()
    }

    async fn load(&self) -> LoadOutcome {
        let observed = ObservedLoad::start(self.observer.as_deref(), self.source());
        let mut loaded = self.loader.load().await;
        drop(observed);
        let warnings = self.fit(&mut loaded);
        *self.warnings.lock() = warnings;
        let redactor = self.secrets.redactor();
        // A name cannot be told in part, and is told wherever there is the tool.
        let (tools, named) = loaded
            .tools
            .into_iter()
            .partition::<Vec<_>, _>(|tool| matches!(redactor.redact(tool.name.name()), Cow::Borrowed(_)));
        loaded.tools = tools;
        loaded.rejected.extend(named.into_iter().map(|tool| {
            let reason = "its name holds a secret of this app; give the tool another name, or the secret another value";
            Reject::tool(self.source(), tool.name.to_string(), RejectKind::InvalidTool, reason)
        }));
        let known = PerDefinition::default();
        for tool in &mut loaded.tools {
            tool.description = redactor.redact(&tool.description).into_owned();
            for schema in [&mut tool.parameters, &mut tool.output_parameters] {
                if let Some(redacted) = redacted(schema, &redactor, &known) {
                    *schema = redacted;
                }
            }
            tool.change_metadata(|metadata| redactor.redact_object(metadata));
        }
        for reject in &mut loaded.rejected {
            reject.name = reject.name.take().map(|name| redactor.redact(&name).into_owned());
            reject.reason = redactor.redact(&reject.reason).into_owned();
        }
        loaded
    }

    fn warnings(&self) -> Vec<String> {
        let redactor = self.secrets.redactor();
        let own = self.warnings.lock().clone();
        let warnings = self.loader.warnings().into_iter().chain(own);
        warnings.map(|warning| redactor.redact(&warning).into_owned()).collect()
    }

    fn saved(&self) {
        self.loader.saved();
    }

    async fn set_suspended(&self, is_suspended: bool) {
        self.loader.set_suspended(is_suspended).await;
    }

    fn instructions(&self) -> Option<String> {
        let instructions = self.loader.instructions()?;
        Some(self.secrets.redactor().redact(&instructions).into_owned())
    }

    fn about(&self) -> Option<String> {
        let about = self.loader.about()?;
        Some(self.secrets.redactor().redact(&about).into_owned())
    }

    fn health(&self) -> Option<Result<&'static str, String>> {
        let health = self.loader.health()?;
        Some(health.map_err(|reason| self.secrets.redactor().redact(&reason).into_owned()))
    }

    async fn changed(&self) {
        match self.refresh {
            // Whichever comes first.
            Some(refresh) => _ = timeout(refresh, self.loader.changed()).await,
            None => self.loader.changed().await,
        }
    }
}

/// Returns a schema without the secrets in it, or `None` if it has none.
fn redacted(
    schema: &Schema,
    redactor: &Redactor,
    known: &PerDefinition<Rewritten<Infallible>>,
) -> Option<Schema> {
    let definition = |definition: &Definition| {
        let name = redactor.redact(&definition.name);
        let schema = redactor.redacted(&definition.schema);
        let is_same = schema.is_none() && *name == *definition.name;
        let schema = || schema.unwrap_or_else(|| definition.schema.clone());
        Ok((!is_same).then(|| Definition { name: name.as_ref().into(), schema: schema() }))
    };
    let Ok(redacted) = schema.rewritten(known, |root| Ok(redactor.redacted(root)), definition);
    redacted
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct Silent;

    #[async_trait]
    impl ToolLoader for Silent {
        fn source(&self) -> &'static str {
            "silent"
        }

        async fn load(&self) -> LoadOutcome {
            LoadOutcome::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_is_loaded_again_after_the_time_that_its_entry_says_and_else_never() {
        let long = Duration::from_hours(1);
        let never = CheckedLoader::new(Arc::new(Silent), None, Secrets::new(), None);
        assert!(timeout(long, never.changed()).await.is_err());
        let minute = Some(Duration::from_mins(1));
        let often = CheckedLoader::new(Arc::new(Silent), None, Secrets::new(), minute);
        let before = tokio::time::Instant::now();
        for round in 1..=3 {
            assert!(timeout(long, often.changed()).await.is_ok());
            assert_eq!(before.elapsed(), Duration::from_mins(round));
        }
    }
}
