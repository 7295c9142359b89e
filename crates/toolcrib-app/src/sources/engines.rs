//! The engines of `tools.engines`, and which of them run the tools of a source.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolcrib_datagen::engine::routed::{RoutedEngine, ToolPattern};
use toolcrib_document::Error as DocumentError;
use toolcrib_port::ToolEngine;

use super::not_opened::NotOpened;
use crate::extensions::entry::{AppContext, EntryContext};
use crate::extensions::{NamedEngine, RoutedSettings};
use crate::sections::values::unknown;
use crate::{App, AppFile};

/// The name of the engine that a source brings, in routes.
const OWN: &str = "own";

/// The most engines that forward to each other one after the other.
const MAX_ROUTERS: usize = 8;

/// The engines of an app by name.
pub(super) struct Engines(BTreeMap<String, OpenedEngine>);

struct OpenedEngine {
    pointer: String,
    /// The engine, or the error of a variable that is not set.
    engine: Result<NamedEngine, DocumentError>,
}

impl Engines {
    /// Makes the engines, and checks the routes between them.
    pub(super) fn open(app: &App, context: &AppContext<'_>) -> Result<Self, DocumentError> {
        let mut by_name = BTreeMap::new();
        for (name, entry) in &app.resolved.engines {
            let kind = entry.kind.as_deref().unwrap_or_default();
            let pointer = entry.pointer.clone();
            let place =
                EntryContext { app: context, pointer: &pointer, settings: &entry.settings, access: None };
            let engine = match &entry.unset {
                None => Ok(app.extensions.engine(kind, &place)?),
                Some(unset) => Err(unset.clone()),
            };
            by_name.insert(name.clone(), OpenedEngine { pointer, engine });
        }
        let engines = Self(by_name);
        // Also those that no source names yet.
        let any: Arc<dyn ToolEngine> = Arc::new(RoutedEngine::new([], None));
        for name in engines.0.keys() {
            if let Err(NotOpened::Wrong(error)) = engines.named(&app.file, name, Some(&any), 0) {
                return Err(error);
            }
        }
        Ok(engines)
    }

    /// Returns the engine of a source that names one, and brings `own`.
    pub(super) fn of_source(
        &self,
        file: &AppFile,
        name: &str,
        own: Option<Arc<dyn ToolEngine>>,
    ) -> Result<Arc<dyn ToolEngine>, NotOpened> {
        let engine = self.named(file, name, own.as_ref(), 0)?;
        Ok(match own {
            // It is closed with the one that runs the calls.
            Some(own) => Arc::new(RoutedEngine::new([], Some(engine)).with_unused(own)),
            None => engine,
        })
    }

    fn named(
        &self,
        file: &AppFile,
        name: &str,
        own: Option<&Arc<dyn ToolEngine>>,
        above: usize,
    ) -> Result<Arc<dyn ToolEngine>, NotOpened> {
        let Some(OpenedEngine { pointer, engine }) = self.0.get(name) else {
            return Err(NotOpened::Wrong(file.error_at("/tools/engines", self.unknown(name))));
        };
        match engine {
            Ok(NamedEngine::Engine(engine)) => Ok(Arc::clone(engine)),
            Ok(NamedEngine::Routed(_)) if above >= MAX_ROUTERS => {
                let message =
                    format!("more than {MAX_ROUTERS} engines forward calls to each other; remove the circle");
                Err(NotOpened::Wrong(file.error_at(pointer, message)))
            }
            Ok(NamedEngine::Routed(settings)) => self.routed(file, (pointer, settings), own, above + 1),
            Err(unset) => Err(NotOpened::Unusable(unset.clone())),
        }
    }

    fn routed(
        &self,
        file: &AppFile,
        (pointer, settings): (&str, &RoutedSettings),
        own: Option<&Arc<dyn ToolEngine>>,
        above: usize,
    ) -> Result<Arc<dyn ToolEngine>, NotOpened> {
        let target = |name: &str, place: String| match (name, own) {
            (OWN, Some(own)) => Ok(Arc::clone(own)),
            (OWN, None) => {
                let message =
                    format!("`{OWN}` is the engine that a source brings, and this source brings none");
                Err(NotOpened::Wrong(file.error_at(&place, message)))
            }
            _ if !self.0.contains_key(name) => {
                Err(NotOpened::Wrong(file.error_at(&place, self.unknown(name))))
            }
            _ => self.named(file, name, own, above),
        };
        let mut routes = Vec::with_capacity(settings.routes.len());
        for (position, route) in settings.routes.iter().enumerate() {
            let place = format!("{pointer}/routes/{position}");
            let pattern = ToolPattern::new(&route.tools)
                .map_err(|message| file.error_at(&format!("{place}/tools"), message))?;
            routes.push((pattern, target(&route.engine, format!("{place}/engine"))?));
        }
        let default = settings.default.as_deref();
        let default = default.map(|name| target(name, format!("{pointer}/default"))).transpose()?;
        Ok(Arc::new(RoutedEngine::new(routes, default)))
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<_> = self.0.keys().map(String::as_str).chain([OWN]).collect();
        unknown("engine", name, &names)
    }
}
