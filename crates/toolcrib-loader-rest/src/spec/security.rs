//! The security schemes of a document, in the form of OpenAPI 3.

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use super::{Dialect, Node, Spec};

/// The most security schemes that are read. A larger number is not intended.
const MAX_SCHEMES: usize = 1000;

impl<'a> Spec<'a> {
    /// Returns the security schemes by name. Schemes with a dangling reference are omitted.
    pub(crate) fn security_schemes(&self) -> JsonObject {
        let schemes = match self.dialect {
            Dialect::Swagger20 => self.root().get("securityDefinitions"),
            _ => self.root().get("components").and_then(|components| components.get("securitySchemes")),
        };
        let read = |(name, scheme): (&str, Node<'a>)| {
            let scheme = self.resolve(scheme).ok()?;
            let written = match self.dialect {
                Dialect::Swagger20 => modern(scheme.value),
                _ => scheme.value.clone(),
            };
            Some((name.to_owned(), written))
        };
        schemes.into_iter().flat_map(Node::entries).take(MAX_SCHEMES).filter_map(read).collect()
    }
}

/// Converts a security scheme of Swagger 2.0 to OpenAPI 3.
fn modern(scheme: &Value) -> Value {
    let text = |key| scheme.get(key).and_then(Value::as_str);
    let description = text("description").unwrap_or_default();
    match text("type") {
        Some("basic") => json!({"type": "http", "scheme": "basic", "description": description}),
        Some("oauth2") => {
            let flow = match text("flow") {
                Some("application") => "clientCredentials",
                Some("accessCode") => "authorizationCode",
                Some(other) => other,
                None => "implicit",
            };
            let parts = ["authorizationUrl", "tokenUrl", "scopes"]
                .into_iter()
                .filter_map(|key| Some((key.to_owned(), scheme.get(key)?.clone())));
            let parts: JsonObject = parts.collect();
            json!({"type": "oauth2", "flows": {flow: parts}, "description": description})
        }
        _ => scheme.clone(),
    }
}
