//! Shapes: other names, descriptions, and argument schemas of tools, for every caller.
//!
//! A shape turns an original tool into a [view](toolcrib_model::tool::view::View): a definition, and a pure function from
//! its arguments to those of the original. Shapes apply when a snapshot is built, after the tools of all sources are
//! known, so that search, prompts, clients, scripts, and the gate all see the view, and nothing but the view. Pins look
//! at the tools of the sources, which do not change. A tool whose shape does not fit is not loaded at all: the original
//! may be what the shape protects.

mod apply;
mod narrow;
mod parameters;
mod settings;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use toolcrib_model::name::{RUNTIME_NAMESPACE, SCHEDULER_NAMESPACE, fits_glob};
use toolcrib_model::tool::view::CallerAttribute;
use toolcrib_model::{QualifiedName, Risk};
use toolcrib_port::{Reject, RejectKind};

use crate::Snapshot;

pub use settings::{Fallback, ParameterShape, ShapeSettings, Split, SplitTool};

/// The shapes of an app.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    /// The changes of tools under their names, in order.
    changes: Vec<InPlaceShape>,
    /// The views with another name, or with several originals.
    views: Vec<NamedView>,
    /// True if the snapshots do not have the tools of all sources.
    is_partial: bool,
}

/// The error of a shape that no tool could have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ShapeError {
    /// The JSON pointer of the setting below the list of shapes, such as `/0/parameters/owner`.
    pub pointer: String,
    /// The problem.
    pub message: String,
}

/// A change of tools under their names.
#[derive(Clone, Debug)]
struct InPlaceShape {
    place: Arc<str>,
    /// A name as `namespace.name`, or a glob.
    pattern: String,
    definition: Definition,
}

/// A view under a name.
#[derive(Clone, Debug)]
struct NamedView {
    place: Arc<str>,
    original: QualifiedName,
    name: QualifiedName,
    definition: Definition,
    fallbacks: Vec<(QualifiedName, BTreeMap<String, ParameterShape>)>,
}

/// The changed parts of a tool.
#[derive(Clone, Debug, Default)]
struct Definition {
    description: Option<String>,
    risk: Option<Risk>,
    parameters: BTreeMap<String, ParameterShape>,
    projection: Option<Arc<str>>,
}

impl Shapes {
    /// Checks shapes to the extent that no tool is needed for it. `list` is the location of their list in the settings, by
    /// which errors and records name a shape.
    ///
    /// # Errors
    ///
    /// Returns all mistakes.
    pub fn new(list: &str, settings: &[ShapeSettings]) -> Result<Self, Vec<ShapeError>> {
        let (mut shapes, mut errors) = (Self::default(), Vec::new());
        for (position, settings) in settings.iter().enumerate() {
            if let Err(error) = shapes.add(list, position, settings) {
                errors.push(error);
            }
        }
        let mut names: BTreeMap<&QualifiedName, &str> = BTreeMap::new();
        for view in &shapes.views {
            if let Some(other) = names.insert(&view.name, &view.place) {
                let message = format!("`{other}` gives the name `{}` already", view.name.dotted());
                errors.push(ShapeError { pointer: pointer_of(&view.place, list), message });
            }
        }
        if errors.is_empty() { Ok(shapes) } else { Err(errors) }
    }

    /// Declares that some sources are not loaded, so that a shape may be about their tools.
    pub fn with_partial_sources(mut self) -> Self {
        self.is_partial = true;
        self
    }

    /// Returns true without shapes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.views.is_empty()
    }

    fn add(&mut self, list: &str, position: usize, settings: &ShapeSettings) -> Result<(), ShapeError> {
        let place: Arc<str> = format!("{list}[{position}]").into();
        let at = |key: &str, message: String| ShapeError { pointer: format!("/{position}{key}"), message };
        let ShapeSettings { tool, name, description, risk, parameters, project, split, fallbacks } = settings;
        if tool.is_empty() {
            return Err(at("", "the shape needs a `tool`: a name such as `github.search`, or a glob".into()));
        }
        check_parameters(parameters, &format!("/{position}/parameters"))?;
        let definition = Definition {
            description: description.clone(),
            risk: *risk,
            parameters: parameters.clone(),
            projection: project.as_deref().map(Into::into),
        };
        if name.is_none() && split.is_none() && fallbacks.is_empty() {
            let parsed = if tool.contains('*') { None } else { Some(original_name(tool)) };
            if let Some(Err(message)) = parsed {
                return Err(at("/tool", message));
            }
            self.changes.push(InPlaceShape { place, pattern: dotted(tool), definition });
            return Ok(());
        }
        if tool.contains('*') {
            let message =
                format!("`{tool}` is a glob; `name`, `split`, and `fallbacks` need the name of one tool");
            return Err(at("/tool", message));
        }
        let original = original_name(tool).map_err(|message| at("/tool", message))?;
        let shown = |name: &str, key: &str| shown_name(name, &original).map_err(|message| at(key, message));
        let Some(split) = split else {
            let name = name.as_deref().map_or(Ok(original.clone()), |name| shown(name, "/name"))?;
            let fallbacks = fallbacks.iter().enumerate().map(|(number, fallback)| {
                let key = format!("/fallbacks/{number}");
                let other =
                    original_name(&fallback.tool).map_err(|message| at(&format!("{key}/tool"), message))?;
                check_parameters(&fallback.parameters, &format!("/{position}{key}/parameters"))?;
                if fallback.parameters.values().any(|shape| !shape.narrowing().is_empty()) {
                    let message =
                        "a fallback has the schema of the first tool, and cannot narrow it".to_owned();
                    return Err(at(&format!("{key}/parameters"), message));
                }
                Ok((other, fallback.parameters.clone()))
            });
            let fallbacks = fallbacks.collect::<Result<_, ShapeError>>()?;
            self.views.push(NamedView { place, original, name, definition, fallbacks });
            return Ok(());
        };
        if name.is_some() || !fallbacks.is_empty() {
            return Err(at(
                "/split",
                "`split` names the tools itself, and takes neither `name` nor `fallbacks`".into(),
            ));
        }
        if split.into.is_empty() {
            return Err(at("/split/into", "there is no tool in it".into()));
        }
        for (number, part) in split.into.iter().enumerate() {
            let key = format!("/split/into/{number}");
            check_parameters(&part.parameters, &format!("/{position}{key}/parameters"))?;
            let mut definition = definition.clone();
            let own = Definition::of_parameters(part.parameters.clone());
            definition.overlay(&Definition { description: part.description.clone(), ..own });
            let value = ParameterShape { value: Some(part.value.clone()), ..ParameterShape::default() };
            definition.overlay(&Definition::of_parameters(BTreeMap::from([(split.by.clone(), value)])));
            let name = shown(&part.name, &format!("{key}/name"))?;
            let place = format!("{place}.split.into[{number}]").into();
            self.views.push(NamedView {
                place,
                original: original.clone(),
                name,
                definition,
                fallbacks: Vec::new(),
            });
        }
        Ok(())
    }

    /// Returns a reject for each shape of a tool that no source has. While sources are missing, a shape may be about their
    /// tools, unless another tool of the namespace is known.
    fn unknown_tools(&self, originals: &Snapshot) -> Vec<Reject> {
        let is_complete = !self.is_partial && originals.rejected().iter().all(|reject| reject.name.is_some());
        let known: Vec<String> = originals.tool_names().map(QualifiedName::dotted).collect();
        let named = |place: &Arc<str>, name: &QualifiedName| (Arc::clone(place), name.dotted());
        let of_changes =
            self.changes.iter().map(|change| (Arc::clone(&change.place), change.pattern.clone()));
        let of_views = self.views.iter().flat_map(|view| {
            let fallbacks = view.fallbacks.iter().map(|(name, _)| named(&view.place, name));
            [named(&view.place, &view.original)].into_iter().chain(fallbacks)
        });
        let mut rejects: Vec<Reject> = Vec::new();
        for (place, pattern) in of_changes.chain(of_views) {
            let namespace = pattern.split('.').next().unwrap_or_default();
            let is_known_namespace = originals.namespaces().any(|known| known == namespace);
            if !(is_complete || is_known_namespace) || known.iter().any(|name| fits_glob(&pattern, name)) {
                continue;
            }
            let similar = known
                .iter()
                .map(|name| (strsim::jaro_winkler(name, &pattern), name))
                .max_by(|one, other| one.0.total_cmp(&other.0))
                .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY);
            let hint = similar.map_or_else(String::new, |(_, name)| format!(", did you mean `{name}`?"));
            let reason = format!("there is no such tool to shape{hint}");
            rejects.push(Reject::tool(place.as_ref(), pattern, RejectKind::InvalidTool, reason));
        }
        rejects
    }
}

/// The similarity of two names, from 0 to 1, from which one is suggested for the other.
const MIN_SIMILARITY: f64 = 0.8;

impl Definition {
    /// Puts another definition on top.
    fn overlay(&mut self, top: &Self) {
        let Self { description, risk, parameters, projection } = top;
        self.description = description.clone().or_else(|| self.description.take());
        self.risk = self.risk.max(*risk);
        self.projection = projection.clone().or_else(|| self.projection.take());
        for (name, shape) in parameters {
            let shape =
                self.parameters.get(name).map_or_else(|| shape.clone(), |below| below.overlaid(shape));
            self.parameters.insert(name.clone(), shape);
        }
    }

    fn of_parameters(parameters: BTreeMap<String, ParameterShape>) -> Self {
        Self { parameters, ..Self::default() }
    }
}

/// Checks changes of parameters at a JSON pointer.
fn check_parameters(parameters: &BTreeMap<String, ParameterShape>, pointer: &str) -> Result<(), ShapeError> {
    for (name, shape) in parameters {
        let wrong = |message: String| {
            let part = toolcrib_model::text::pointer_part(name);
            Err(ShapeError { pointer: format!("{pointer}/{part}"), message })
        };
        let given = [
            ("value", shape.value.is_some()),
            ("from", shape.from.is_some()),
            ("default", shape.default.is_some()),
            ("default_from", shape.default_from.is_some()),
        ];
        let given: Vec<_> = given.into_iter().filter_map(|(key, is_given)| is_given.then_some(key)).collect();
        if let [first, second, ..] = given.as_slice() {
            return wrong(format!("`{first}` and `{second}` exclude each other"));
        }
        for attribute in [&shape.from, &shape.default_from].into_iter().flatten() {
            if let Err(message) = CallerAttribute::parse(attribute) {
                return wrong(message);
            }
        }
        if shape.is_hidden()
            && (shape.name.is_some() || shape.description.is_some() || !shape.narrowing().is_empty())
        {
            let message = format!("callers do not see `{name}`, so it takes no name, description, or bound");
            return wrong(message);
        }
    }
    Ok(())
}

/// Returns the name of an original tool.
fn original_name(text: &str) -> Result<QualifiedName, String> {
    let name = parsed(text)
        .ok_or_else(|| format!("expected the name of a tool as `namespace.name`, found `{text}`"))?;
    check_namespace(&name, "of the runtime, whose tools have one shape")?;
    Ok(name)
}

/// Returns the name that callers see.
fn shown_name(text: &str, original: &QualifiedName) -> Result<QualifiedName, String> {
    let name = parsed(text).map_or_else(|| QualifiedName::new(original.namespace(), text), Ok);
    let name = name.map_err(|error| error.to_string())?;
    check_namespace(&name, "of the runtime alone")?;
    Ok(name)
}

fn check_namespace(name: &QualifiedName, reason: &str) -> Result<(), String> {
    if [RUNTIME_NAMESPACE, SCHEDULER_NAMESPACE].contains(&name.namespace()) {
        return Err(format!("`{}` is a namespace {reason}", name.namespace()));
    }
    Ok(())
}

fn parsed(text: &str) -> Option<QualifiedName> {
    let dotted = dotted(text);
    let (namespace, name) = dotted.split_once('.')?;
    QualifiedName::new(namespace, name).ok()
}

/// Returns a name or a glob with a dot after the namespace.
fn dotted(text: &str) -> String {
    text.replacen("::", ".", 1)
}

/// Returns the JSON pointer of a place such as `LIST[3].split.into[0]`, below the list of shapes.
fn pointer_of(place: &str, list: &str) -> String {
    place.strip_prefix(list).unwrap_or(place).replace('[', "/").replace(']', "").replace('.', "/")
}
