//! The router between engines, so that some tools of a source are real and others simulated.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::name::NAMESPACE_SEPARATOR;
use toolcrib_model::{ErrorKind, QualifiedName, Tool, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

/// The most bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 1_000;

/// A pattern of tools: a namespace (`petstore`), or names (`petstore::get_*`), in which `*` is any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern(String);

impl ToolPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the pattern.
    pub fn new(pattern: &str) -> Result<Self, String> {
        if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES {
            return Err(format!("a pattern of tools has from 1 to {MAX_PATTERN_BYTES} bytes"));
        }
        if pattern.contains(NAMESPACE_SEPARATOR) {
            return Ok(Self(pattern.to_owned()));
        }
        Ok(Self(format!("{pattern}{NAMESPACE_SEPARATOR}*")))
    }

    /// Returns true if the pattern fits a tool.
    ///
    /// ```
    /// use toolcrib_datagen::engine::routed::ToolPattern;
    /// use toolcrib_model::QualifiedName;
    ///
    /// let tool = QualifiedName::new("petstore", "get_pet")?;
    /// assert!(ToolPattern::new("petstore").is_ok_and(|pattern| pattern.fits(&tool)));
    /// assert!(ToolPattern::new("*::get_*").is_ok_and(|pattern| pattern.fits(&tool)));
    /// assert!(ToolPattern::new("petstore::get").is_ok_and(|pattern| !pattern.fits(&tool)));
    /// # Ok::<(), toolcrib_model::NameError>(())
    /// ```
    pub fn fits(&self, tool: &QualifiedName) -> bool {
        fits(self.0.as_bytes(), tool.to_string().as_bytes())
    }
}

/// Returns true if a pattern with `*` fits a text. It takes time in proportion to the product of both lengths at most.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    // The last `*`, and the end of the text that it takes so far.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(byte) if Some(byte) == text.get(read) => {
                at += 1;
                read += 1;
            }
            _ => match &mut star {
                Some((star_at, taken)) => {
                    *taken += 1;
                    (at, read) = (*star_at + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|byte| *byte == b'*')
}

/// An engine that forwards each call to the engine of the first route whose pattern fits its tool.
pub struct RoutedEngine {
    routes: Vec<(ToolPattern, Arc<dyn ToolEngine>)>,
    default: Option<Arc<dyn ToolEngine>>,
    /// An engine that gets no calls, and is told of sessions and closed with the others.
    unused: Option<Arc<dyn ToolEngine>>,
}

impl RoutedEngine {
    /// Creates the router with the routes in the order in which they are tried. A tool without a route cannot run unless
    /// there is a default.
    pub fn new(
        routes: impl IntoIterator<Item = (ToolPattern, Arc<dyn ToolEngine>)>,
        default: Option<Arc<dyn ToolEngine>>,
    ) -> Self {
        Self { routes: routes.into_iter().collect(), default, unused: None }
    }

    /// Adds an engine that gets no calls, such as that of a source whose results are simulated: it is closed with the
    /// others.
    pub fn with_unused(mut self, engine: Arc<dyn ToolEngine>) -> Self {
        self.unused = Some(engine);
        self
    }

    fn engine(&self, tool: &QualifiedName) -> Option<&Arc<dyn ToolEngine>> {
        let route = self.routes.iter().find(|(pattern, _)| pattern.fits(tool));
        route.map(|(_, engine)| engine).or(self.default.as_ref())
    }

    /// Returns each engine once.
    fn engines(&self) -> Vec<&Arc<dyn ToolEngine>> {
        let all = self.routes.iter().map(|(_, engine)| engine).chain(&self.default).chain(&self.unused);
        let mut engines: Vec<&Arc<dyn ToolEngine>> = Vec::new();
        for engine in all {
            if !engines.iter().any(|other| Arc::ptr_eq(other, engine)) {
                engines.push(engine);
            }
        }
        engines
    }

    fn used(&self) -> impl Iterator<Item = &Arc<dyn ToolEngine>> {
        self.routes.iter().map(|(_, engine)| engine).chain(&self.default)
    }
}

fn no_route(tool: &QualifiedName) -> String {
    format!("no route fits `{}`, and there is no default", tool.dotted())
}

#[async_trait]
impl ToolEngine for RoutedEngine {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        match self.engine(&call.tool.name) {
            Some(engine) => engine.invoke(call, context).await,
            None => call.error(ErrorKind::Unavailable, no_route(&call.tool.name)),
        }
    }

    async fn check(&self, call: &Call, context: &CallContext) -> Result<(), ToolError> {
        match self.engine(&call.tool.name) {
            Some(engine) => engine.check(call, context).await,
            None => Err(ToolError::new(ErrorKind::Unavailable, no_route(&call.tool.name))),
        }
    }

    fn unsupported_reason(&self, tool: &Tool) -> Option<String> {
        match self.engine(&tool.name) {
            Some(engine) => engine.unsupported_reason(tool),
            None => Some(no_route(&tool.name)),
        }
    }

    fn warning(&self, tool: &Tool) -> Option<String> {
        self.engine(&tool.name)?.warning(tool)
    }

    fn is_in_process(&self) -> bool {
        self.used().all(|engine| engine.is_in_process())
    }

    fn reports_progress(&self) -> bool {
        self.used().any(|engine| engine.reports_progress())
    }

    fn set_has_user(&self, has_user: bool) {
        self.engines().into_iter().for_each(|engine| engine.set_has_user(has_user));
    }

    async fn end_session(&self, session: &str) {
        for engine in self.engines() {
            engine.end_session(session).await;
        }
    }

    async fn close(&self) {
        for engine in self.engines() {
            engine.close().await;
        }
    }
}

impl std::fmt::Debug for RoutedEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let patterns: Vec<_> = self.routes.iter().map(|(pattern, _)| &pattern.0).collect();
        f.debug_struct("RoutedEngine").field("routes", &patterns).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use toolcrib_exec::{DenyAll, Executor};
    use toolcrib_model::{JsonObject, ToolCall};
    use toolcrib_policy::Policy;
    use toolcrib_registry::ToolRegistry;

    use super::*;

    /// Answers with its name, and counts how often it is closed.
    struct Named(&'static str, AtomicUsize);

    #[async_trait]
    impl ToolEngine for Named {
        async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
            call.ok(self.0)
        }

        async fn close(&self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn named(name: &'static str) -> Arc<Named> {
        Arc::new(Named(name, AtomicUsize::new(0)))
    }

    #[test]
    fn a_pattern_fits_whole_names() {
        for (pattern, tool, fits) in [
            ("pets", "pets::get", true),
            ("pets", "petshop::get", false),
            ("pets::get_*", "pets::get_one", true),
            ("pets::*_one*", "pets::get_one_or_one", true),
            ("*::get", "pets::get", true),
            ("*::get", "pets::get_one", false),
            ("pets::get", "pets::get", true),
            ("pets::*_*", "pets::get", false),
        ] {
            let (namespace, name) = tool.split_once("::").unwrap();
            let tool = QualifiedName::new(namespace, name).unwrap();
            assert_eq!(ToolPattern::new(pattern).unwrap().fits(&tool), fits, "{pattern} {tool}");
        }
        assert!(ToolPattern::new("").is_err());
    }

    #[tokio::test]
    async fn each_call_goes_to_the_engine_of_its_route_and_each_engine_is_closed_once() {
        let (real, fake, unused) = (named("real"), named("fake"), named("unused"));
        let routes: [(ToolPattern, Arc<dyn ToolEngine>); 2] = [
            (ToolPattern::new("pets::get*").unwrap(), real.clone()),
            (ToolPattern::new("pets::list").unwrap(), real.clone()),
        ];
        let router = RoutedEngine::new(routes, Some(fake.clone())).with_unused(unused.clone());
        let names = ["get_one", "list", "add"];
        let tools = names.map(|name| Tool::new(QualifiedName::new("pets", name).unwrap()));
        let registry = ToolRegistry::from_tools("pets", tools).unwrap();
        let capabilities = serde_json::from_str(r#"{"default_policy": "grant"}"#).unwrap();
        let policy = Policy::new(&capabilities, []).unwrap();
        let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll));
        let executor = Arc::new(executor.with_engine("pets", Arc::new(router)));
        let mut answers = Vec::new();
        for name in names {
            let call = ToolCall::new(format!("pets::{name}"), JsonObject::new());
            answers.push(executor.call(call, &CallContext::new("s")).await.result);
        }
        assert_eq!(answers, ["real", "real", "fake"]);
        executor.close().await;
        assert_eq!([real, fake, unused].map(|engine| engine.1.load(Ordering::SeqCst)), [1, 1, 1]);
    }

    #[test]
    fn a_tool_without_a_route_is_not_supported() {
        let routes: [(ToolPattern, Arc<dyn ToolEngine>); 1] =
            [(ToolPattern::new("pets").unwrap(), named("real"))];
        let router = RoutedEngine::new(routes, None);
        let reason =
            |namespace| router.unsupported_reason(&Tool::new(QualifiedName::new(namespace, "x").unwrap()));
        assert_eq!(reason("pets"), None);
        assert_eq!(reason("mail").unwrap(), "no route fits `mail.x`, and there is no default");
    }
}
