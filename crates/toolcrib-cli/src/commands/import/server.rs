//! From the entry of a client to that of an app.

use std::path::Path;

use serde_json::Value;

use super::entries::ServerEntry;
use super::texts::Texts;
use super::variables::Variables;

/// The most bytes of one entry. One has a few hundred.
const MAX_ENTRY_BYTES: usize = 64 * 1024;

/// The longest that an app file lets a server take to start, in seconds.
const MAX_STARTUP_SECONDS: f64 = 120.0;

/// Keys that are read, or that say nothing an app would need.
const KNOWN_KEYS: [&str; 23] = [
    "args",
    "bearer_token_env_var",
    "command",
    "cwd",
    "description",
    "disabled",
    "enabled",
    "env",
    "env_http_headers",
    "env_vars",
    "gallery",
    "headers",
    "httpUrl",
    "http_headers",
    "icon",
    "name",
    "serverUrl",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "transport",
    "type",
    "url",
    "version",
];

/// A server as an app has it. All texts are as they stand in the app file.
#[derive(Clone, Debug)]
pub(super) struct ImportedServer {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) files: Vec<String>,
    pub(super) transport: Transport,
    pub(super) startup_seconds: Option<f64>,
    /// Notes on parts that were not imported.
    pub(super) notes: Vec<String>,
    pub(super) is_disabled: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Transport {
    Stdio { command: Vec<String>, env: Vec<(String, String)>, cwd: Option<String> },
    Remote { url: String, protocol: Option<&'static str>, headers: Vec<(String, String)> },
}

impl ImportedServer {
    /// Parses the server of an entry. `folder` is that of the app. The error says why the entry cannot be imported.
    pub(super) fn new(
        found: &ServerEntry,
        namespace: &str,
        folder: Option<&Path>,
        variables: &mut Variables<'_>,
    ) -> Result<Self, String> {
        if found.entry.to_string().len() > MAX_ENTRY_BYTES {
            return Err(format!("its entry has more than {MAX_ENTRY_BYTES} bytes"));
        }
        let source = found.source();
        let mut texts = Texts {
            client: found.client,
            project: found.project.as_deref(),
            namespace,
            source: &source,
            variables,
        };
        let entry = Entry(&found.entry);
        let transport = match (entry.url()?, entry.text("command")?) {
            (Some(_), Some(_)) => return Err("it has both a command and a URL".into()),
            (None, None) => return Err("it has neither a command nor a URL".into()),
            (None, Some(command)) => {
                entry.check_kind(&["stdio", "local"])?;
                stdio(
                    &entry,
                    command,
                    found.project.as_deref().filter(|project| Some(*project) != folder),
                    &mut texts,
                )?
            }
            (Some((key, url)), None) => remote(&entry, key, url, &mut texts)?,
        };
        let mut notes = Vec::new();
        let keys = found.entry.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        let others: Vec<String> =
            keys.filter(|key| !KNOWN_KEYS.contains(key)).map(|key| format!("`{key}`")).collect();
        if !others.is_empty() {
            notes.push(format!("not taken over: {}", others.join(", ")));
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            name: found.name.clone(),
            files: found.files.clone(),
            transport,
            startup_seconds: entry.startup_seconds(),
            notes,
            is_disabled: found.is_disabled,
        })
    }
}

fn stdio(
    entry: &Entry<'_>,
    command: &str,
    project: Option<&Path>,
    texts: &mut Texts<'_, '_>,
) -> Result<Transport, String> {
    let arguments = entry.texts("args")?;
    if std::iter::once(command).chain(arguments.iter().map(String::as_str)).any(|text| text.contains('\0')) {
        return Err("there is a NUL character in its command".into());
    }
    let mut words = vec![texts.plain(command)?];
    words.extend(texts.arguments(&arguments)?);
    let mut env = Vec::new();
    for name in entry.names("env_vars") {
        texts.variables.named(&name, texts.source);
        env.push((name.clone(), format!("${{{name}}}")));
    }
    for (name, value) in entry.pairs("env")? {
        let value = texts.variable(&name, &value)?;
        env.retain(|(known, _)| *known != name);
        env.push((name, value));
    }
    if let Some((name, _)) = env.iter().find(|(name, _)| name.is_empty() || name.contains(['=', '\0'])) {
        return Err(format!("`{name}` is no name of a variable"));
    }
    let cwd = match (entry.text("cwd")?, project) {
        (Some(cwd), Some(project)) if is_relative(cwd) => Some(project.join(cwd).display().to_string()),
        (Some(cwd), _) => Some(cwd.to_owned()),
        (None, project) => project.map(|project| project.display().to_string()),
    };
    let cwd = cwd.map(|cwd| texts.path(&cwd)).transpose()?;
    Ok(Transport::Stdio { command: words, env, cwd })
}

fn is_relative(path: &str) -> bool {
    Path::new(path).is_relative() && !path.starts_with(['~', '$'])
}

fn remote(entry: &Entry<'_>, key: &str, url: &str, texts: &mut Texts<'_, '_>) -> Result<Transport, String> {
    let kind = entry.kind().unwrap_or_default();
    let protocol = match kind.as_str() {
        "" if key == "httpUrl" => Some("http"),
        "" => None,
        "http" | "streamable-http" | "streamable_http" | "streamablehttp" => Some("http"),
        "sse" => Some("sse"),
        other => return Err(format!("its type is `{other}`, which an app does not know")),
    };
    if !["http://", "https://", "${"].iter().any(|start| url.starts_with(start)) {
        return Err("its URL is neither http nor https".into());
    }
    let url = texts.url(url)?;
    let mut headers = Vec::new();
    for key in ["headers", "http_headers"] {
        for (name, value) in entry.pairs(key)? {
            headers.push((name.clone(), texts.header(&name, &value)?));
        }
    }
    for (name, variable) in entry.pairs("env_http_headers")? {
        headers.push((name, texts.plain(&format!("${{{variable}}}"))?));
    }
    if let Some(variable) = entry.text("bearer_token_env_var")? {
        headers.push(("Authorization".into(), texts.plain(&format!("Bearer ${{{variable}}}"))?));
    }
    Ok(Transport::Remote { url, protocol, headers })
}

/// The entry of a client.
struct Entry<'a>(&'a Value);

impl<'a> Entry<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_str() {
            Some("") => Ok(None),
            Some(text) => Ok(Some(text)),
            None => Err(format!("its `{key}` is no text")),
        }
    }

    fn url(&self) -> Result<Option<(&'static str, &'a str)>, String> {
        for key in ["httpUrl", "url", "serverUrl"] {
            if let Some(url) = self.text(key)? {
                return Ok(Some((key, url)));
            }
        }
        Ok(None)
    }

    /// Returns the transport in lower case.
    fn kind(&self) -> Option<String> {
        let kind = self.get("type").or_else(|| self.get("transport"))?;
        Some(kind.as_str()?.to_ascii_lowercase())
    }

    fn check_kind(&self, known: &[&str]) -> Result<(), String> {
        match self.kind() {
            Some(kind) if !known.contains(&kind.as_str()) => {
                Err(format!("it has a command, and its type is `{kind}`"))
            }
            _ => Ok(()),
        }
    }

    /// Returns a list of texts; numbers and booleans are texts, too.
    fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let items = value.as_array().ok_or_else(|| format!("its `{key}` is no list"))?;
        let texts = items.iter().map(scalar).collect::<Option<Vec<_>>>();
        texts.ok_or_else(|| format!("its `{key}` holds more than texts"))
    }

    /// Names of variables, as texts or as objects with a `name`.
    fn names(&self, key: &str) -> Vec<String> {
        let items = self.get(key).and_then(Value::as_array).into_iter().flatten();
        let name = |item: &Value| Some(item.as_str().or_else(|| item.get("name")?.as_str())?.to_owned());
        items.filter_map(name).filter(|name| crate::commands::entry_secrets::is_variable(name)).collect()
    }

    fn pairs(&self, key: &str) -> Result<Vec<(String, String)>, String> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let map = value.as_object().ok_or_else(|| format!("its `{key}` is no object"))?;
        // A null removes a variable, which our servers do not inherit anyway.
        let set = map.iter().filter(|(_, value)| !value.is_null());
        let pairs = set.map(|(name, value)| Some((name.clone(), scalar(value)?))).collect::<Option<Vec<_>>>();
        pairs.ok_or_else(|| format!("its `{key}` holds more than texts"))
    }

    fn startup_seconds(&self) -> Option<f64> {
        let seconds = self.get("startup_timeout_sec").and_then(Value::as_f64);
        let seconds = seconds.or_else(|| Some(self.get("startup_timeout_ms")?.as_f64()? / 1000.0))?;
        Some(seconds.clamp(1.0, MAX_STARTUP_SECONDS))
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
