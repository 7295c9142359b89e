//! The URIs of the user interfaces of tools, as clients know them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use toolcrib_model::Tool;
use toolcrib_model::tool::app::APP_SCHEME;

/// The start of a URI that names its server: the namespace follows, then the server's URI without its scheme.
const QUALIFIED: &str = "ui://toolcrib/";

/// The URIs of the user interfaces that the tools of servers declare, with the namespaces of the servers.
///
/// A client knows a user interface by the URI that its server gave it. Where several servers declare the same URI, it
/// is qualified with the namespace of each, so that none is read in the place of another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppUris {
    owners: BTreeMap<String, BTreeSet<String>>,
}

impl AppUris {
    /// Collects the URIs that these tools declare.
    pub fn of<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Self {
        let mut uris = Self::default();
        for tool in tools {
            if let Some(uri) = tool.app_uri() {
                uris.add(uri, server_of(tool));
            }
        }
        uris
    }

    /// Adds a URI of the server of a namespace.
    pub fn add(&mut self, uri: &str, namespace: &str) {
        self.owners.entry(uri.to_owned()).or_default().insert(namespace.to_owned());
    }

    /// Returns the namespaces of the servers that have this URI.
    pub fn owners(&self, uri: &str) -> impl Iterator<Item = &str> {
        self.owners.get(uri).into_iter().flatten().map(String::as_str)
    }

    /// Returns the URI by which clients know a resource of the server of a namespace: its own, unless another server
    /// has the same.
    pub fn public<'u>(&self, uri: &'u str, namespace: &str) -> Cow<'u, str> {
        if uri.starts_with(APP_SCHEME) && self.owners(uri).any(|owner| owner != namespace) {
            qualified(uri, namespace).into()
        } else {
            uri.into()
        }
    }

    /// Returns warnings about the URIs that several servers have.
    pub fn warnings(&self) -> Vec<String> {
        let shared = self.owners.iter().filter(|(_, owners)| owners.len() > 1);
        let warning = |(uri, owners): (&String, &BTreeSet<String>)| {
            let known: Vec<String> = owners.iter().map(|owner| qualified(uri, owner)).collect();
            let known = known.join("` and `");
            format!("several servers have the user interface `{uri}`; clients know it as `{known}`")
        };
        shared.map(warning).collect()
    }
}

/// Returns the namespace of the server of a tool. A view has another name than the original tool.
pub fn server_of(tool: &Tool) -> &str {
    let original = tool.view().and_then(|view| view.originals.first());
    original.map_or(&tool.name, |original| &original.tool.name).namespace()
}

/// Returns a URI with the namespace of its server.
fn qualified(uri: &str, namespace: &str) -> String {
    format!("{QUALIFIED}{namespace}/{}", uri.strip_prefix(APP_SCHEME).unwrap_or(uri))
}

/// Returns the namespace in a qualified URI, and the URI of its server.
pub fn unqualified(uri: &str) -> Option<(&str, String)> {
    let (namespace, rest) = uri.strip_prefix(QUALIFIED)?.split_once('/')?;
    Some((namespace, format!("{APP_SCHEME}{rest}")))
}
