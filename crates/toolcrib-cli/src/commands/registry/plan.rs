//! From the description of a server to an entry of an app file.
//!
//! A description is written by a stranger. The program that a package runs follows from the kind of the package, and not
//! from what the description says: other programs, flags that run something else, other package registries, and references
//! to variables of the operator are refused.

use serde_json::{Map, Value, json};

use super::inputs::{Inputs, plain};
use super::server_json::{Argument, InputSpec, NamedInput, Package, ServerJson, TransportSpec};

/// The kind that selects a remote server.
pub(super) const REMOTE: &str = "remote";

/// The kind of packages that contain a whole server.
pub(super) const BUNDLE: &str = "mcpb";

/// The most bytes of the name of a package.
const MAX_NAME_BYTES: usize = 214;

/// A kind of packages.
struct PackageKind {
    id: &'static str,
    /// The program that fetches and runs a package. A description may name it, and no other.
    programs: &'static [&'static str],
    /// The words between the program and the flags of the description.
    words: &'static [&'static str],
    /// The flags that a description may give to the program, in addition.
    flags: &'static [&'static str],
    /// The package registries that the program asks anyway.
    registries: &'static [&'static str],
}

const KINDS: [PackageKind; 4] = [
    PackageKind {
        id: "npm",
        programs: &["npx"],
        words: &["-y"],
        flags: &["-y", "--yes", "-q", "--quiet"],
        registries: &["https://registry.npmjs.org"],
    },
    PackageKind {
        id: "pypi",
        programs: &["uvx"],
        words: &[],
        flags: &["--python", "-q", "--quiet"],
        registries: &["https://pypi.org"],
    },
    PackageKind {
        id: "oci",
        programs: &["docker", "podman"],
        words: &["run", "-i", "--rm"],
        flags: &[
            "-i",
            "--interactive",
            "--rm",
            "--init",
            "-e",
            "--env",
            "-v",
            "--volume",
            "--mount",
            "--read-only",
        ],
        registries: &["https://docker.io", "https://ghcr.io"],
    },
    PackageKind {
        id: "nuget",
        programs: &["dnx"],
        words: &["--yes"],
        flags: &["--yes", "-y"],
        registries: &["https://api.nuget.org/v3/index.json", "https://api.nuget.org"],
    },
];

/// A package or a remote server.
pub(super) enum Choice<'a> {
    Package(&'a Package),
    Remote(&'a TransportSpec),
}

/// Returns the package or the remote server of this kind; without a kind, the first that can be used.
pub(super) fn choose<'a>(server: &'a ServerJson, kind: Option<&str>) -> Result<Choice<'a>, String> {
    let is_usable = |package: &&Package| {
        let is_known = package.registry_type == BUNDLE || kind_of(&package.registry_type).is_some();
        is_known && package.transport.kind == "stdio"
    };
    let remote = || server.remotes.first().map(Choice::Remote);
    let chosen = match kind {
        Some(REMOTE) => remote(),
        Some(kind) => {
            server.packages.iter().find(|package| package.registry_type == kind).map(Choice::Package)
        }
        None => server.packages.iter().find(is_usable).map(Choice::Package).or_else(remote),
    };
    chosen.ok_or_else(|| {
        let kinds = kinds(server);
        let there = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
        match kind {
            Some(kind) => format!("the server has no package of the type `{kind}`; it has: {there}"),
            None => format!("the server has nothing that can be run here; it has: {there}"),
        }
    })
}

/// Returns the kinds of packages of a server, and `remote`.
pub(super) fn kinds(server: &ServerJson) -> Vec<String> {
    let packages = server.packages.iter().map(|package| package.registry_type.clone());
    packages.chain(server.remotes.first().map(|_| REMOTE.to_owned())).collect()
}

fn kind_of(id: &str) -> Option<&'static PackageKind> {
    KINDS.iter().find(|kind| kind.id == id)
}

/// Returns the entry of a package, with a fixed version.
///
/// # Errors
///
/// Returns what is wrong with the description, or what the user has to give.
pub(super) fn package_entry(
    package: &Package,
    namespace: &str,
    inputs: &mut Inputs,
) -> Result<Value, String> {
    if package.transport.kind != "stdio" {
        return Err(format!(
            "the package is a server with the transport `{}`; start it by hand, and add its URL: toolcrib add mcp NAME --url \
             URL",
            package.transport.kind
        ));
    }
    let Some(kind) = kind_of(&package.registry_type) else {
        let known: Vec<_> = KINDS.iter().map(|kind| kind.id).collect();
        return Err(format!(
            "packages of the type `{}` cannot be run; expected one of: {}",
            package.registry_type,
            known.join(", ")
        ));
    };
    check_registry(package, kind)?;
    let program = program(package, kind)?;
    let mut command: Vec<String> =
        [program].iter().chain(kind.words).map(|word| (*word).to_owned()).collect();
    let flags = arguments(&package.runtime_arguments, inputs)?;
    check_flags(&flags, kind)?;
    // The runner has been given these already.
    command.extend(flags.into_iter().filter(|flag| !kind.words.contains(&flag.as_str()) && flag != "--yes"));
    let env = named(&package.environment_variables, inputs)?;
    if kind.id == "oci" {
        command.extend(env.keys().flat_map(|name| ["-e".to_owned(), name.clone()]));
    }
    command.push(pinned(package, kind)?);
    command.extend(arguments(&package.package_arguments, inputs)?);
    Ok(command_entry(namespace, &command, env))
}

/// Returns the entry of a server that a command starts.
pub(super) fn command_entry(namespace: &str, command: &[String], env: Map<String, Value>) -> Value {
    let mut entry = Map::from_iter([
        ("type".to_owned(), json!("mcp")),
        ("namespace".to_owned(), json!(namespace)),
        ("command".to_owned(), json!(command)),
    ]);
    if !env.is_empty() {
        entry.insert("env".to_owned(), Value::Object(env));
    }
    entry.insert("pin".to_owned(), json!(true));
    Value::Object(entry)
}

/// Returns the entry of a remote server.
///
/// # Errors
///
/// Returns what is wrong with the description, or what the user has to give.
pub(super) fn remote_entry(
    remote: &TransportSpec,
    namespace: &str,
    inputs: &mut Inputs,
) -> Result<Value, String> {
    let transport = match remote.kind.as_str() {
        "streamable-http" => "http",
        "sse" => "sse",
        other => {
            return Err(format!("the transport `{other}` is not known; expected `streamable-http` or `sse`"));
        }
    };
    let url = remote.url.as_deref().ok_or("the remote server has no URL")?;
    let url = inputs.filled(url, &remote.variables)?;
    if !url.starts_with("https://") {
        return Err(format!("the URL of a remote server begins with https://, not `{url}`"));
    }
    let headers = named(&remote.headers, inputs)?;
    let mut entry = Map::from_iter([
        ("type".to_owned(), json!("mcp")),
        ("namespace".to_owned(), json!(namespace)),
        ("url".to_owned(), json!(url)),
        ("transport".to_owned(), json!(transport)),
    ]);
    if !headers.is_empty() {
        entry.insert("headers".to_owned(), Value::Object(headers));
    }
    entry.insert("pin".to_owned(), json!(true));
    Ok(Value::Object(entry))
}

fn check_registry(package: &Package, kind: &PackageKind) -> Result<(), String> {
    let Some(base) = package.registry_base_url.as_deref() else { return Ok(()) };
    if kind.registries.contains(&base.trim_end_matches('/')) {
        return Ok(());
    }
    Err(format!(
        "the package is in another registry than `{}` asks: {base}; if you trust it, configure it there, and add the server \
         with `toolcrib add mcp`",
        kind.programs.join("` or `")
    ))
}

fn program(package: &Package, kind: &PackageKind) -> Result<&'static str, String> {
    let first = *kind.programs.first().ok_or("the kind has no program")?;
    let Some(hint) = package.runtime_hint.as_deref().filter(|hint| !hint.is_empty()) else {
        return Ok(first);
    };
    kind.programs.iter().find(|program| **program == hint).copied().ok_or_else(|| {
        format!(
            "a package of the type `{}` is run with `{}`, and the description says `{hint}`",
            kind.id,
            kind.programs.join("` or `")
        )
    })
}

/// Checks that the flags of the runner do not make it run something else.
fn check_flags(flags: &[String], kind: &PackageKind) -> Result<(), String> {
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        let name = flag.split_once('=').map_or(flag.as_str(), |(name, _)| name);
        if !kind.flags.contains(&name) {
            return Err(format!(
                "the description gives `{flag}` to `{}`, which may run something else than the package; if you trust it, add \
                 the server with `toolcrib add mcp`",
                kind.programs.join("` or `")
            ));
        }
        // The next word is the value of the flag.
        let takes_value = matches!(name, "-e" | "--env" | "-v" | "--volume" | "--mount" | "--python");
        if takes_value && !flag.contains('=') {
            flags.next();
        }
    }
    Ok(())
}

/// Returns the package with its version, as its runner takes it.
fn pinned(package: &Package, kind: &PackageKind) -> Result<String, String> {
    let name = package.identifier.as_str();
    let is_inside =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '@' | ':' | '~');
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
        && name.chars().all(is_inside);
    if !is_name {
        return Err(format!("`{}` is no name of a package", name.escape_debug()));
    }
    let version = package.version.as_deref().filter(|version| !version.is_empty());
    if kind.id == "oci" {
        let tail = name.rsplit('/').next().unwrap_or(name);
        return match (tail.contains(':') || tail.contains('@'), version) {
            (true, _) => Ok(name.to_owned()),
            (false, Some(version)) => Ok(format!("{name}:{}", exact(version)?)),
            (false, None) => Err("the image has neither a tag nor a digest".to_owned()),
        };
    }
    let is_plain_name =
        !name.contains(':') && name.matches('@').count() == usize::from(name.starts_with('@'));
    if !is_plain_name {
        return Err(format!("`{name}` is no name of a package: it names another source or version"));
    }
    let version = exact(version.ok_or("the package has no version, so it cannot be pinned")?)?;
    Ok(format!("{name}@{version}"))
}

/// Checks that a version is exact.
fn exact(version: &str) -> Result<&str, String> {
    let is_exact = version != "latest"
        && version.starts_with(|c: char| c.is_ascii_alphanumeric())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_'))
        && !version.split('.').any(|part| part == "x");
    if is_exact { Ok(version) } else { Err(format!("`{}` is no exact version", version.escape_debug())) }
}

fn arguments(arguments: &[Argument], inputs: &mut Inputs) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for argument in arguments {
        match argument {
            Argument::Positional { hint, input } => {
                let name = hint.as_deref().unwrap_or("argument");
                words.extend(inputs.value(name, input)?);
            }
            Argument::Named { name, input } => {
                let flag = plain(name)?.to_owned();
                let is_bare = input.value.is_none()
                    && input.default.is_none()
                    && !input.is_required
                    && input.choices.is_empty()
                    && input.description.is_empty();
                let name = name.trim_start_matches('-');
                let value =
                    if is_bare && !inputs.is_given(name) { None } else { inputs.value(name, input)? };
                match value {
                    Some(value) if flag.starts_with("--") && !value.is_empty() => {
                        words.push(format!("{flag}={value}"));
                    }
                    Some(value) if value.is_empty() => words.push(flag),
                    Some(value) => words.extend([flag, value]),
                    None if is_bare => words.push(flag),
                    None => {}
                }
            }
        }
    }
    Ok(words)
}

/// Returns headers or variables with their values.
fn named(list: &[NamedInput], inputs: &mut Inputs) -> Result<Map<String, Value>, String> {
    let mut map = Map::new();
    for NamedInput { name, input } in list {
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if !is_name {
            return Err(format!("`{}` is no name of a variable or header", name.escape_debug()));
        }
        // The operator sets it where the app runs, as its name says.
        let is_open = input.value.is_none() && input.default.is_none() && !input.is_secret;
        let Some(value) = inputs.given_or(name, is_open && input.is_required, input)? else { continue };
        map.insert(name.clone(), Value::String(value));
    }
    Ok(map)
}

impl Inputs {
    /// Returns the value of a header or variable; one that is required and open is read from the variable of its name.
    fn given_or(
        &mut self,
        name: &str,
        is_required: bool,
        input: &InputSpec,
    ) -> Result<Option<String>, String> {
        if is_required && !self.is_given(name) {
            return Ok(Some(self.variable(name)));
        }
        self.value(name, input)
    }
}
