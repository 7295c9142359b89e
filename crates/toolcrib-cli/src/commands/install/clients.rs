//! The clients whose configuration is known: where it is, and how it names a server.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::edit::{Edit, Format};
use crate::arguments::Client;
use crate::exit::Failure;

/// All of them, as they are listed.
pub(crate) const CLIENTS: [Client; 6] = [
    Client::ClaudeCode,
    Client::ClaudeDesktop,
    Client::Cursor,
    Client::VsCode,
    Client::Codex,
    Client::Gemini,
];

/// The folders in which the clients of a user store their configuration.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    home: PathBuf,
    /// The folder of desktop applications.
    configuration: PathBuf,
    /// `CLAUDE_CONFIG_DIR` and `CODEX_HOME`, where they are set.
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
}

impl Places {
    /// Returns the folders of the user who runs this process.
    pub(crate) fn of_this_user() -> Result<Self, Failure> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = if cfg!(windows) { set("USERPROFILE") } else { set("HOME") };
        let home = home.ok_or_else(|| {
            Failure::bad_input(
                "HOME is not set, so the configuration of clients cannot be found; name it: --file",
            )
        })?;
        let configuration = if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else if cfg!(windows) {
            set("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming"))
        } else {
            set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"))
        };
        Ok(Self { home, configuration, claude: set("CLAUDE_CONFIG_DIR"), codex: set("CODEX_HOME") })
    }

    /// Returns the configuration of a client for all projects.
    pub(crate) fn user_file(&self, client: Client) -> PathBuf {
        match client {
            Client::ClaudeCode => self.claude.as_ref().unwrap_or(&self.home).join(".claude.json"),
            Client::ClaudeDesktop => self.configuration.join("Claude/claude_desktop_config.json"),
            Client::Cursor => self.home.join(".cursor/mcp.json"),
            Client::VsCode => self.configuration.join("Code/User/mcp.json"),
            Client::Codex => {
                self.codex.clone().unwrap_or_else(|| self.home.join(".codex")).join("config.toml")
            }
            Client::Gemini => self.home.join(".gemini/settings.json"),
        }
    }

    /// Returns true if the client is installed here: its configuration or its folder exists.
    pub(crate) fn has(&self, client: Client) -> bool {
        let file = self.user_file(client);
        let folder = match client {
            // Its configuration stands in the home of the user, which says nothing.
            Client::ClaudeCode => Some(self.claude.clone().unwrap_or_else(|| self.home.join(".claude"))),
            Client::VsCode => file.parent().and_then(Path::parent).map(Path::to_owned),
            _ => file.parent().map(Path::to_owned),
        };
        file.is_file() || folder.is_some_and(|folder| folder.is_dir())
    }

    /// Returns a path as people write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(below) if !below.as_os_str().is_empty() => format!("~/{}", below.display()),
            _ => path.display().to_string(),
        }
    }
}

impl Client {
    /// Returns the name of the client for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// Returns the name of the client on the command line.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the configuration of a project, below its folder; not all have one.
    pub(crate) fn project_file(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some(".mcp.json"),
            Self::ClaudeDesktop => None,
            Self::Cursor => Some(".cursor/mcp.json"),
            Self::VsCode => Some(".vscode/mcp.json"),
            Self::Codex => Some(".codex/config.toml"),
            Self::Gemini => Some(".gemini/settings.json"),
        }
    }

    /// Returns the format of its configuration.
    pub(crate) fn edit(self) -> Edit {
        match self {
            Self::VsCode => Edit { format: Format::Json, servers: "servers" },
            Self::Codex => Edit { format: Format::Toml, servers: "mcp_servers" },
            _ => Edit { format: Format::Json, servers: "mcpServers" },
        }
    }

    /// Returns an entry that starts this command. `variables` are those that the app wants, for clients that hold them
    /// back from servers unless they are named.
    pub(crate) fn entry(
        self,
        command: &str,
        arguments: &[String],
        variables: &[String],
    ) -> Map<String, Value> {
        let mut entry = Map::new();
        if matches!(self, Self::ClaudeCode | Self::Cursor | Self::VsCode) {
            entry.insert("type".into(), "stdio".into());
        }
        entry.insert("command".into(), command.into());
        entry.insert("args".into(), json!(arguments));
        match self {
            Self::Codex if !variables.is_empty() => {
                entry.insert("env_vars".into(), json!(variables));
            }
            Self::Gemini if !variables.is_empty() => {
                let env = variables.iter().map(|name| (name.clone(), Value::from(format!("${{{name}}}"))));
                entry.insert("env".into(), Value::Object(env.collect()));
            }
            _ => {}
        }
        entry
    }

    /// Returns the step after which the client uses a change.
    pub(crate) fn next_step(self) -> &'static str {
        match self {
            Self::ClaudeCode => "restart Claude Code; `/mcp` shows the server there",
            Self::ClaudeDesktop => "quit Claude Desktop and start it again",
            Self::Cursor => "open the MCP settings of Cursor and switch the server on",
            Self::VsCode => "run `MCP: List Servers` in VS Code and start the server",
            Self::Codex => "restart Codex; `/mcp` shows the server there",
            Self::Gemini => "restart Gemini CLI; `/mcp` shows the server there",
        }
    }

    /// Returns true for desktop applications, which do not have the variables of a shell.
    pub(crate) fn lacks_variables(self) -> bool {
        matches!(self, Self::ClaudeDesktop | Self::Cursor | Self::VsCode)
    }
}
