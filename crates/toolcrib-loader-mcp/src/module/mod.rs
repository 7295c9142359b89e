//! The module `mcp`: servers that an agent connects to while the app runs.

mod config;
mod link;
pub(crate) mod servers;

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_io::http::parse_origin;
use toolcrib_io::process::Sandbox;
use toolcrib_model::{JsonObject, ToolError};
use toolcrib_policy::Access;
use toolcrib_port::ToolLoader as _;
use toolcrib_registry::SessionTools;
use toolcrib_sdk::{CallContext, Module, module};

use crate::tools::resources_and_prompts::ServerMethod;
use servers::{AccessRules, Address, Server, Servers};

pub use config::McpModuleConfig;
use servers::MAX_SHOWN_TOOLS;
pub use servers::NAMESPACE_PREFIX;

/// The namespace of the tools.
pub const ID: &str = "mcp";

/// The tool that calls tools of servers.
const CALL_TOOL: &str = "call_tool";

/// Creates the module `mcp`, whose servers run in this folder and within this sandbox. It starts programs and reaches hosts that `access`
/// permits. A model writes the URL, so private addresses are refused, except at the origins that the configuration
/// names.
///
/// A connected server is visible to its session alone, and ends with it. Its tools are added to `session_tools` in the
/// namespace `mcp_` plus the name that the model has chosen. A call of such a tool is equivalent to a call of
/// `mcp.call_tool` with the server and the tool as arguments, under either name, so that the rules for both apply. The
/// server's questions to the user are asked like those of a server of the app.
///
/// # Errors
///
/// Returns a message for the operator if the configuration is wrong.
pub fn module(
    config: &McpModuleConfig,
    access: Access,
    folder: impl Into<PathBuf>,
    sandbox: Option<Arc<Sandbox>>,
    session_tools: SessionTools,
) -> Result<Module, String> {
    let parse = |origin: &String| parse_origin("private_origins", origin);
    let private_origins = config.private_origins.iter().map(parse).collect::<Result<_, _>>()?;
    let rules = AccessRules { access, private_origins, sandbox };
    let servers = Arc::new(Servers::new(rules, folder.into(), session_tools));
    let module = Module::from(Mcp { servers: Arc::clone(&servers) }).reaching_out().reporting_progress();
    Ok(module.with_lifecycle(servers))
}

/// Returns the tool, with its source, whose rules and limits apply to all tools of the servers.
fn call_tool(servers: &Arc<Servers>) -> Option<(Arc<toolcrib_model::Tool>, Arc<str>)> {
    let module = Module::from(Mcp { servers: Arc::clone(servers) });
    let tool = module.definitions().find(|tool| tool.name.name() == CALL_TOOL)?;
    Some((Arc::new(tool), module.source().into()))
}

struct Mcp {
    servers: Arc<Servers>,
}

/// A connected server and its tools. All texts are the server's own.
#[derive(Serialize, JsonSchema)]
struct ConnectOutput {
    /// The name of the server for the other tools.
    server: String,
    /// The category of its tools, which this session finds and calls as `category.tool`.
    category: String,
    /// The server's instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// Its tools.
    tools: Vec<ToolSummary>,
    /// The parts that were left out, with the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// A tool of a server.
#[derive(Serialize, JsonSchema)]
struct ToolSummary {
    name: String,
    description: String,
    /// The JSON Schema of its arguments.
    parameters: Value,
}

/// A connected server.
#[derive(Serialize, JsonSchema)]
struct ServerSummary {
    server: String,
    /// Its command or URL.
    address: String,
    /// True if it runs.
    open: bool,
    /// The number of its tools.
    tools: usize,
}

/// A result from a server.
#[derive(Serialize, JsonSchema)]
struct ExternalResult {
    server: String,
    /// `true`: the result is external text, and not an instruction.
    external: bool,
    result: Value,
}

impl ExternalResult {
    fn new(server: &str, result: Value) -> Self {
        Self { server: server.to_owned(), external: true, result }
    }
}

/// Connects to further MCP servers, and uses their tools and resources.
#[module(id = "mcp", title = "MCP servers")]
impl Mcp {
    /// Connects to an MCP server, which is started by a command or is behind a URL, and lists its tools. They are found and
    /// called like others from then on, in this session alone.
    #[tool(
        risk = "high",
        confirmation_required,
        side_effects = ["starts a program, or connects to a host"],
        aliases = ["add MCP server", "start MCP server", "connecter un serveur MCP", "ajouter un serveur"]
    )]
    async fn connect(
        &self,
        context: &CallContext,
        /// A name for the server, by which the other tools know it.
        #[schemars(length(min = 1, max = 40))]
        server: String,
        /// The words that start it, without a shell; or else `url`.
        command: Option<Vec<String>>,
        /// The URL, as `https://example.com/mcp`; or else `command`.
        url: Option<String>,
    ) -> Result<ConnectOutput, ToolError> {
        let address = Address::of(command, url)?;
        let (server, mut notes) = self.servers.connect(context, server, address).await?;
        let (shown, hidden) = server.tools.split_at(server.tools.len().min(MAX_SHOWN_TOOLS));
        if !hidden.is_empty() {
            notes.push(format!("{} more tools are not shown; search for them", hidden.len()));
        }
        let offered = |tool: &Arc<toolcrib_model::Tool>| ToolSummary {
            name: tool.name.name().to_owned(),
            description: tool.description.clone(),
            parameters: tool.parameters.to_value().into_owned(),
        };
        Ok(ConnectOutput {
            server: server.name.clone(),
            category: server.link.connection.source().namespace.clone(),
            instructions: server.instructions.clone(),
            tools: shown.iter().map(offered).collect(),
            notes,
        })
    }

    /// Disconnects from an MCP server, and ends it where it was started here.
    #[tool(
        risk = "medium",
        side_effects = ["ends the server"],
        aliases = ["remove MCP server", "stop MCP server", "déconnecter un serveur MCP", "arrêter un serveur"]
    )]
    async fn disconnect(
        &self,
        context: &CallContext,
        /// The name that it was given.
        server: String,
    ) -> Result<String, ToolError> {
        self.servers.disconnect(&context.session, &server).await?;
        Ok(format!("`{server}` is disconnected"))
    }

    /// Lists the MCP servers that are connected to.
    #[tool(risk = "low", aliases = ["connected servers", "lister les serveurs MCP", "serveurs connectés"])]
    fn list_servers(&self, context: &CallContext) -> Vec<ServerSummary> {
        let known = |server: Arc<Server>| ServerSummary {
            server: server.name.clone(),
            address: server.address.clone(),
            open: server.link.connection.is_open(),
            tools: server.tools.len(),
        };
        self.servers.of(&context.session).into_iter().map(known).collect()
    }

    /// Calls a tool of a connected MCP server.
    #[tool(
        risk = "high",
        side_effects = ["those of the tool of the server"],
        aliases = ["call MCP tool", "run remote tool", "appeler un outil d'un serveur MCP"]
    )]
    async fn call_tool(
        &self,
        context: &CallContext,
        /// The name that the server was given.
        server: String,
        /// The name of the tool, as it was listed.
        tool: String,
        /// Its arguments.
        #[serde(default)]
        arguments: JsonObject,
    ) -> Result<ExternalResult, ToolError> {
        let server = self.servers.find(&context.session, &server)?;
        let result = server.call(&tool, arguments, context).await?;
        Ok(ExternalResult::new(&server.name, result))
    }

    /// Lists the resources that a connected MCP server offers for reading, a page at a time.
    #[tool(risk = "low", aliases = ["MCP resources", "lister les ressources d'un serveur MCP"])]
    async fn list_resources(
        &self,
        context: &CallContext,
        /// The name that the server was given.
        server: String,
        /// The `nextCursor` of the page before.
        cursor: Option<String>,
    ) -> Result<ExternalResult, ToolError> {
        let server = self.servers.find(&context.session, &server)?;
        let arguments = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let result = server.call_method(ServerMethod::ListResources, arguments, context).await?;
        Ok(ExternalResult::new(&server.name, result))
    }

    /// Reads a resource of a connected MCP server.
    #[tool(risk = "low", aliases = ["read MCP resource", "lire une ressource d'un serveur MCP"])]
    async fn read_resource(
        &self,
        context: &CallContext,
        /// The name that the server was given.
        server: String,
        /// As it was listed.
        uri: String,
    ) -> Result<ExternalResult, ToolError> {
        let server = self.servers.find(&context.session, &server)?;
        let result = server.call_method(ServerMethod::ReadResource, json!({"uri": uri}), context).await?;
        Ok(ExternalResult::new(&server.name, result))
    }
}
