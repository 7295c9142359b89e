//! The application of shapes to the tools of all sources.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::name::fits_glob;
use toolcrib_model::tool::view::{Original, View};
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{Reject, RejectKind};

use super::parameters::{self, Shaped};
use super::{Definition, NamedView, ParameterShape, Shapes};
use crate::build::{KnownDefinitions, SnapshotBuilder, ToolSchema, is_identical_tool};
use crate::{Entry, Snapshot};

/// A view to build: its name, its definition, and its fallbacks.
struct Plan<'a> {
    place: Arc<str>,
    name: &'a QualifiedName,
    definition: Definition,
    fallbacks: &'a [(QualifiedName, BTreeMap<String, ParameterShape>)],
}

impl Shapes {
    /// Returns the snapshot that callers see, given the one that it replaces.
    pub(crate) fn apply(&self, before: &Snapshot, unshaped: Snapshot) -> Snapshot {
        let replaced: HashSet<&QualifiedName> = self
            .views
            .iter()
            .flat_map(|view| view.fallbacks.iter().map(|(name, _)| name).chain([&view.original]))
            .collect();
        let known = KnownDefinitions::default();
        let mut builder = SnapshotBuilder::default();
        builder.rejected.extend(unshaped.rejected().iter().cloned());
        builder.rejected.extend(self.unknown_tools(&unshaped));
        // The original of each name, which no other original may share.
        let mut owners: HashMap<QualifiedName, QualifiedName> = unshaped
            .tool_names()
            .filter(|name| !replaced.contains(name))
            .map(|name| (name.clone(), name.clone()))
            .collect();
        for entry in unshaped.iter() {
            let name = &entry.tool.name;
            if name.is_of_runtime() || !(replaced.contains(name) || self.changes_of(name).next().is_some()) {
                builder.add_or_reject(Arc::clone(entry));
                continue;
            }
            for plan in self.plans(name) {
                let owner = owners.entry(plan.name.clone()).or_insert_with(|| name.clone());
                let built = if owner == name {
                    self.view(&plan, entry, &unshaped, before, &known)
                } else {
                    Err(format!("the name `{}` is that of another tool", plan.name.dotted()))
                };
                match built {
                    Ok(view) => builder.add_or_reject(view),
                    Err(reason) => {
                        let reason = format!("{}, so the tool is left out: {reason}", plan.place);
                        let name = name.to_string();
                        builder.rejected.push(Reject::tool(
                            entry.source.as_ref(),
                            name,
                            RejectKind::InvalidTool,
                            reason,
                        ));
                    }
                }
            }
        }
        builder.finish(unshaped.generation()).with_unshaped(unshaped)
    }

    /// Returns the places and definitions of the changes of a tool under its name.
    fn changes_of(&self, name: &QualifiedName) -> impl Iterator<Item = (&Arc<str>, &Definition)> {
        let dotted = name.dotted();
        let changes = self.changes.iter().filter(move |change| fits_glob(&change.pattern, &dotted));
        changes.map(|change| (&change.place, &change.definition))
    }

    fn plans<'a>(&'a self, name: &'a QualifiedName) -> Vec<Plan<'a>> {
        let mut changed = Definition::default();
        let mut place = None;
        for (of_change, change) in self.changes_of(name) {
            place.get_or_insert_with(|| Arc::clone(of_change));
            changed.overlay(change);
        }
        let plan = |view: &'a NamedView| {
            let mut definition = changed.clone();
            definition.overlay(&view.definition);
            Plan { place: Arc::clone(&view.place), name: &view.name, definition, fallbacks: &view.fallbacks }
        };
        let plans: Vec<_> = self.views.iter().filter(|view| view.original == *name).map(plan).collect();
        let is_fallback =
            || self.views.iter().any(|view| view.fallbacks.iter().any(|(other, _)| other == name));
        match place {
            Some(place) if plans.is_empty() && !is_fallback() => {
                vec![Plan { place, name, definition: changed, fallbacks: &[] }]
            }
            _ => plans,
        }
    }

    /// Builds the entry of a view.
    fn view(
        &self,
        plan: &Plan<'_>,
        entry: &Arc<Entry>,
        unshaped: &Snapshot,
        before: &Snapshot,
        known: &KnownDefinitions,
    ) -> Result<Arc<Entry>, String> {
        let Shaped { mut tool, parameters } = parameters::shaped(&entry.tool, plan.name, &plan.definition)?;
        let mut entries = vec![Arc::clone(entry)];
        let mut originals =
            vec![Original { tool: Arc::clone(&entry.tool), source: Arc::clone(&entry.source), parameters }];
        for (name, shapes) in plan.fallbacks {
            // A source that is down may have the tool later.
            for other in unshaped.overloads_of(name) {
                originals.push(self.fallback(&tool, other, shapes)?);
                tool = with_traits_of(tool, &other.tool);
                entries.push(Arc::clone(other));
            }
        }
        let projection = plan.definition.projection.clone();
        if projection.is_some() {
            // The schema is that of the whole result.
            tool = tool.with_output_parameters(json!({}));
        }
        let tool = tool.with_view(View { place: Arc::clone(&plan.place), originals, projection });
        let fingerprint = tool.fingerprint();
        let is_same = |old: &&Arc<Entry>| {
            old.source == entry.source
                && old.fingerprint == fingerprint
                && is_identical_tool(&old.tool, &tool)
                && old.originals.len() == entries.len()
                && old.originals.iter().zip(&entries).all(|(old, new)| Arc::ptr_eq(old, new))
        };
        if let Some(old) = before.overloads_of(plan.name).iter().find(is_same) {
            return Ok(Arc::clone(old));
        }
        let tool = Arc::new(tool);
        let schema =
            ToolSchema::new(&tool, &known.simple).map_err(|error| format!("`parameters`: {error}"))?;
        Ok(Arc::new(Entry {
            tool,
            fingerprint,
            source: Arc::clone(&entry.source),
            schema,
            originals: entries,
        }))
    }

    /// Returns a fallback of a view, whose arguments it has to understand.
    fn fallback(
        &self,
        view: &Tool,
        entry: &Arc<Entry>,
        shapes: &BTreeMap<String, ParameterShape>,
    ) -> Result<Original, String> {
        let other = &entry.tool;
        let mut definition = Definition::default();
        for (_, change) in self.changes_of(&other.name) {
            definition.overlay(change);
        }
        if let Some((name, _)) = definition.parameters.iter().find(|(_, shape)| !shape.narrowing().is_empty())
        {
            return Err(format!(
                "another shape narrows `{name}` of the fallback `{}`, which has the schema of the first tool",
                other.name.dotted()
            ));
        }
        definition.overlay(&Definition::of_parameters(shapes.clone()));
        let risk = other.traits().risk.max(definition.risk.unwrap_or(other.traits().risk));
        if risk > view.traits().risk {
            return Err(format!(
                "the fallback `{}` has a higher risk than the view; add `risk: {}`",
                other.name.dotted(),
                risk.as_str()
            ));
        }
        let Shaped { tool, parameters } = parameters::shaped(other, &view.name, &definition)
            .map_err(|reason| format!("in the fallback `{}`: {reason}", other.name.dotted()))?;
        let known: HashSet<&str> = view.parameter_names().collect();
        let required = tool.parameters.get("required").and_then(Value::as_array);
        let missing = required.into_iter().flatten().filter_map(Value::as_str);
        if let Some(name) = missing.into_iter().find(|name| !known.contains(name)) {
            return Err(format!(
                "the fallback `{}` needs `{name}`, which the view does not have; give it a `name`, `value`, or `default`",
                other.name.dotted()
            ));
        }
        Ok(Original { tool: Arc::clone(other), source: Arc::clone(&entry.source), parameters })
    }
}

/// Returns a view with the traits that hold for each of its originals, given one of them.
fn with_traits_of(tool: Tool, other: &Tool) -> Tool {
    let (own, others) = (tool.traits().clone(), other.traits());
    let further = others.side_effects.iter().filter(|effect| !own.side_effects.contains(effect));
    let effects: Vec<String> = own.side_effects.iter().chain(further).cloned().collect();
    let tool = tool
        .with_metadata("side_effects", effects)
        .with_metadata("idempotent", own.idempotent && others.idempotent)
        .with_metadata("confirmation_required", own.confirmation_required || others.confirmation_required);
    if tool.output_parameters == other.output_parameters {
        tool
    } else {
        tool.with_output_parameters(json!({}))
    }
}
