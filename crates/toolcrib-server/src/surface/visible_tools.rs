//! The list of tools of one client, and its digest.

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use rmcp::model::{MetaObject, Tool as WireTool, ToolAnnotations};
use sha2::{Digest as _, Sha256};
use toolcrib_app::app_uris::server_of;
use toolcrib_app::sections::serve::SurfaceMode;
use toolcrib_app::{AppUris, Surface};
use toolcrib_model::{Risk, Tool};
use toolcrib_policy::{Overrides, Principal};
use toolcrib_prompt::{Injection, OfferedTool};
use toolcrib_runtime::Runtime;

use super::effect_split::Intent;
use super::output;
use crate::client::Client;

/// The properties of a client that decide which tools it sees.
#[derive(Clone, Copy)]
pub(crate) struct Audience<'a> {
    pub(crate) client: &'a Client,
    /// True if it renders user interfaces (MCP Apps).
    pub(crate) renders_apps: bool,
}

/// The tools of one generation that a client sees.
pub(crate) struct VisibleTools {
    pub(crate) surface: Surface,
    /// The list, in a stable order.
    pub(crate) tools: Vec<WireTool>,
    /// The digest by which two lists are compared.
    pub(crate) digest: [u8; 32],
    /// True if found tools are run by one of three tools, according to their effect.
    pub(crate) is_split: bool,
    /// The URIs of the user interfaces of the tools that the client may use.
    pub(crate) app_uris: AppUris,
    /// The app of the tools. Another app may have equal generation numbers.
    of: Weak<Runtime>,
    /// The overrides that apply to the tools.
    overrides: Arc<Overrides>,
}

impl VisibleTools {
    /// Returns true if it is of this generation of this app, and the same overrides apply.
    pub(crate) fn is_of(&self, runtime: &Arc<Runtime>, generation: u64) -> bool {
        self.surface.generation == generation
            && self.of.ptr_eq(&Arc::downgrade(runtime))
            && Arc::ptr_eq(&self.overrides, &runtime.executor().policy().overrides())
    }

    /// Decides the tools that a client sees. Without a mode, that of its profile or of the app applies.
    pub(crate) fn of_client(
        runtime: &Arc<Runtime>,
        mode: Option<SurfaceMode>,
        audience: Audience<'_>,
    ) -> Result<Self, toolcrib_app::Error> {
        // Before the decision, so that overrides that change meanwhile make it outdated.
        let overrides = runtime.executor().policy().overrides();
        let surface = Surface::new(mode, &runtime.view(&audience.client.any_session()))?;
        Ok(Self::new(surface, runtime, audience, overrides))
    }

    fn new(
        surface: Surface,
        runtime: &Arc<Runtime>,
        audience: Audience<'_>,
        overrides: Arc<Overrides>,
    ) -> Self {
        let snapshot = runtime.snapshot();
        let is_split = runtime.app().config.serve.split_execute;
        let is_direct = surface.plan.mode == Injection::Direct;
        let session = audience.client.any_session();
        let policy = runtime.executor().policy();
        let visible = || {
            let tools = snapshot.iter().map(|entry| entry.tool.as_ref());
            tools.filter(|tool| policy.is_visible(tool, Principal::new(&session)))
        };
        let app_uris = AppUris::of(visible());
        let listed = |offered: &OfferedTool| {
            let found = surface.wire_names.resolve(&offered.wire_name);
            let overloads = found.and_then(|target| snapshot.get(&target.name));
            let tool = overloads.as_ref().and_then(|overloads| Some(&overloads.first()?.tool));
            let schema = offered.parameters().as_object().cloned().unwrap_or_default();
            let wire = WireTool::new(offered.wire_name.clone(), offered.description.clone(), schema);
            let Some(tool) = tool else { return wire };
            let mut wire = wire.with_annotations(annotations(tool));
            wire.title = tool.title().map(str::to_owned);
            // Several tools with one name have different schemas. The results of the runtime's tools are texts for
            // models.
            let is_one = overloads.is_some_and(|overloads| overloads.iter().count() == 1);
            if is_one && !tool.name.is_of_runtime() {
                wire.meta = meta(tool, &app_uris);
                if is_direct {
                    wire.output_schema = output::output_schema(tool).map(Arc::new);
                }
            }
            wire
        };
        let mut tools = Vec::with_capacity(surface.plan.offered.len());
        for offered in &surface.plan.offered {
            let target = surface.wire_names.resolve(&offered.wire_name);
            let tool = target.and_then(|target| Some(&snapshot.get(&target.name)?.first()?.tool));
            let runs_others = is_split && tool.is_some_and(|tool| tool.runs_others());
            match Intent::replacing(&offered.wire_name).filter(|_| runs_others) {
                Some(intents) => tools.extend(intents.iter().map(|intent| intent.tool(listed(offered)))),
                None if runs_others => {}
                None => tools.push(listed(offered)),
            }
        }
        if audience.renders_apps {
            // A host renders only the user interfaces of the tools that it knows.
            let has_app = |tool: &&OfferedTool| {
                let overloads = snapshot.get(&tool.name);
                overloads.and_then(|overloads| overloads.first()?.tool.app_uri().map(drop)).is_some()
            };
            tools.extend(surface.plan.hidden.iter().filter(has_app).map(&listed));
            let of_apps = visible().filter(|tool| tool.traits().only_for_apps);
            tools.extend(of_apps.filter_map(|tool| {
                let name = surface.wire_names.wire_name_of(tool)?;
                let schema = tool.parameters.to_value().as_object().cloned().unwrap_or_default();
                let mut wire = WireTool::new(name.to_owned(), tool.description.clone(), schema);
                wire.annotations = Some(annotations(tool));
                wire.title = tool.title().map(str::to_owned);
                wire.meta = meta(tool, &app_uris);
                Some(wire)
            }));
        }
        let digest = Sha256::digest(serde_json::to_vec(&tools).unwrap_or_default()).into();
        Self { surface, tools, digest, is_split, app_uris, of: Arc::downgrade(runtime), overrides }
    }

    /// Returns true if the client has seen a schema for the results of the tool with this name.
    pub(crate) fn declares_output(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name && tool.output_schema.is_some())
    }

    /// Resolves the name of a tool that the client has seen or found.
    pub(crate) fn resolve(&self, name: &str) -> String {
        match self.surface.wire_names.resolve(name) {
            Some(target) => target.name.to_string(),
            None => name.to_owned(),
        }
    }
}

/// Returns the `_meta` of a tool, with the URI of its user interface as clients know it.
fn meta(tool: &Tool, app_uris: &AppUris) -> Option<MetaObject> {
    let mut meta = tool.protocol_meta()?.clone();
    if let Some(uri) = tool.app_uri()
        && let Cow::Owned(public) = app_uris.public(uri, server_of(tool))
    {
        // Servers name it under both keys, for hosts of the drafts.
        if let Some(named) = meta.get_mut("ui").and_then(|ui| ui.get_mut("resourceUri")) {
            *named = public.as_str().into();
        }
        if let Some(named) = meta.get_mut("ui/resourceUri") {
            *named = public.into();
        }
    }
    Some(MetaObject(meta))
}

/// Returns the hints about the effects of a tool. A tool that runs others may have any of their effects. The protocol
/// defines the other hints only for tools that do not just read.
fn annotations(tool: &Tool) -> ToolAnnotations {
    let (traits, runs_others) = (tool.traits(), tool.runs_others());
    let reads = traits.is_read_only() && !runs_others;
    let mut annotations = ToolAnnotations::new();
    annotations.title = tool.title().map(str::to_owned);
    annotations.read_only_hint = Some(reads);
    if !reads {
        annotations.destructive_hint = Some(traits.risk == Risk::High || runs_others);
        annotations.idempotent_hint = Some(traits.idempotent);
    }
    // Without the hint, clients assume that a tool reaches the outside world, as tools that run others do.
    annotations.open_world_hint =
        if tool.name.is_of_runtime() { (!runs_others).then_some(false) } else { traits.open_world };
    annotations
}
