//! The mapping between tools and the names that function-calling APIs accept.

use std::collections::{BTreeMap, HashMap, HashSet};

use sha2::{Digest, Sha256};
use toolcrib_model::random::hex;
use toolcrib_model::{Fingerprint, QualifiedName, Tool};

/// The longest name that function-calling APIs accept (`^[a-zA-Z0-9_-]{1,64}$`).
pub const MAX_WIRE_NAME_CHARS: usize = 64;

/// The separator of namespace and name, and of a name and a hash.
const SEPARATOR: &str = "__";

/// Hexadecimal digits of the hash of a qualified name.
const NAME_HASH_DIGITS: usize = 8;

/// Hexadecimal digits of the fingerprint of an overload.
const OVERLOAD_HASH_DIGITS: usize = 6;

/// The characters that a long namespace keeps next to a long name, which matters more to a reader.
const MIN_NAMESPACE_CHARS: usize = 16;

/// A bijection between tools and *wire names*: `filesystem.read` is called `filesystem__read`. Names are always looked
/// up, in both directions, never computed back.
///
/// Tools of the runtime's namespace have their bare names. A name that is too long, has other characters or collides
/// with that of another tool is shortened readably and gets a hash of the qualified name. If several tools would have
/// one name, none gets it, so that none can pass for another. The first overload has the plain name, the others have
/// the beginning of their fingerprint appended. The order of the tools decides which overload is first, and nothing
/// else.
#[derive(Clone, Debug, Default)]
pub struct WireNames {
    runtime_namespace: String,
    reserved: HashSet<String>,
    targets: HashMap<String, WireTarget>,
    /// The overloads of each name, the first registered first.
    overloads: HashMap<QualifiedName, Vec<(Fingerprint, String)>>,
}

/// The tool that a wire name denotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireTarget {
    /// The name of the tool.
    pub name: QualifiedName,
    /// The overload, if the wire name denotes one; with `None` the arguments decide between overloads.
    pub fingerprint: Option<Fingerprint>,
}

impl WireNames {
    /// Creates the table of these tools. `reserved` are bare names that only tools of the runtime's namespace may have,
    /// even if no tool has them.
    pub fn new<'a>(
        tools: impl IntoIterator<Item = &'a Tool>,
        runtime_namespace: &str,
        reserved: &[&str],
    ) -> Self {
        Self::of(tools, runtime_namespace, reserved, false)
    }

    /// Creates a table with bare names, as their sources gave them, for tools whose bare name is a wire name and
    /// unique. A tool that is added later can collide with one that had its bare name: then both have their namespaces
    /// as a prefix.
    pub fn short<'a>(
        tools: impl IntoIterator<Item = &'a Tool>,
        runtime_namespace: &str,
        reserved: &[&str],
    ) -> Self {
        Self::of(tools, runtime_namespace, reserved, true)
    }

    fn of<'a>(
        tools: impl IntoIterator<Item = &'a Tool>,
        runtime_namespace: &str,
        reserved: &[&str],
        is_short: bool,
    ) -> Self {
        // Sorted by name, which makes the result independent of the order of the tools.
        let mut groups = BTreeMap::<QualifiedName, Vec<Fingerprint>>::new();
        for tool in tools {
            let fingerprints = groups.entry(tool.name.clone()).or_default();
            let fingerprint = tool.fingerprint();
            if !fingerprints.contains(&fingerprint) {
                fingerprints.push(fingerprint);
            }
        }
        let mut names = Self {
            runtime_namespace: runtime_namespace.to_owned(),
            reserved: reserved.iter().map(|name| (*name).to_owned()).collect(),
            ..Self::default()
        };
        let bases = names.assign_bases(&groups, is_short);
        names.assign_overloads(&groups, bases);
        names
    }

    /// Returns the name that a tool is called by; the plain one if it has overloads.
    pub fn wire_name(&self, name: &QualifiedName) -> Option<&str> {
        self.overloads.get(name)?.first().map(|(_, wire_name)| wire_name.as_str())
    }

    /// Returns the name that this overload is called by.
    pub fn wire_name_of(&self, tool: &Tool) -> Option<&str> {
        let overloads = self.overloads.get(&tool.name)?;
        let fingerprint = tool.fingerprint();
        overloads.iter().find(|(known, _)| *known == fingerprint).map(|(_, wire_name)| wire_name.as_str())
    }

    /// Returns the tool that a wire name denotes.
    pub fn resolve(&self, wire_name: &str) -> Option<&WireTarget> {
        self.targets.get(wire_name)
    }

    /// Returns all wire names with their targets, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &WireTarget)> {
        self.targets.iter().map(|(wire_name, target)| (wire_name.as_str(), target))
    }

    /// Returns true if a tool belongs to the runtime.
    pub fn is_runtime(&self, name: &QualifiedName) -> bool {
        name.namespace() == self.runtime_namespace
    }

    /// Assigns one wire name to each qualified name; a bare one if it is requested and unique.
    fn assign_bases(
        &mut self,
        groups: &BTreeMap<QualifiedName, Vec<Fingerprint>>,
        is_short: bool,
    ) -> BTreeMap<QualifiedName, String> {
        let mut bases = BTreeMap::new();
        let (runtime, others): (Vec<_>, Vec<_>) = groups.keys().partition(|name| self.is_runtime(name));
        for name in runtime.iter().filter(|name| is_wire_name(name.name())) {
            self.claim(name.name().to_owned(), name, None);
            bases.insert((*name).clone(), name.name().to_owned());
        }
        if is_short {
            // A bare name with a separator would pass for a tool of that namespace.
            let bare: Vec<_> =
                others.iter().copied().filter(|name| !name.name().contains(SEPARATOR)).collect();
            self.assign_unique(&bare, |name| name.name().to_owned(), &mut bases);
        }
        let others: Vec<_> = others.into_iter().filter(|name| !bases.contains_key(*name)).collect();
        self.assign_unique(&others, plain, &mut bases);
        for name in groups.keys() {
            if !bases.contains_key(name) {
                let readable = self.readable(name);
                let wire_name = self.first_free(|attempt| with_hash(&readable, &name.to_string(), attempt));
                self.claim(wire_name.clone(), name, None);
                bases.insert(name.clone(), wire_name);
            }
        }
        bases
    }

    /// Assigns to each of these tools the name that it requests, unless the name is no wire name, taken, or requested
    /// by two.
    fn assign_unique(
        &mut self,
        names: &[&QualifiedName],
        wanted: impl Fn(&QualifiedName) -> String,
        bases: &mut BTreeMap<QualifiedName, String>,
    ) {
        let mut claims = HashMap::<String, Vec<&QualifiedName>>::new();
        for name in names {
            claims.entry(wanted(name)).or_default().push(name);
        }
        for (candidate, claimants) in claims {
            if let [name] = claimants.as_slice()
                && is_wire_name(&candidate)
                && self.is_free(&candidate)
            {
                self.claim(candidate.clone(), name, None);
                bases.insert((*name).clone(), candidate);
            }
        }
    }

    /// Assigns further wire names to the overloads after the first.
    fn assign_overloads(
        &mut self,
        groups: &BTreeMap<QualifiedName, Vec<Fingerprint>>,
        mut bases: BTreeMap<QualifiedName, String>,
    ) {
        for (name, fingerprints) in groups {
            let (Some(base), Some((first, others))) = (bases.remove(name), fingerprints.split_first()) else {
                continue;
            };
            let mut others = others.to_vec();
            others.sort_unstable();
            let mut overloads = vec![(*first, base.clone())];
            for fingerprint in others {
                let wire_name =
                    self.first_free(|attempt| with_fingerprint(&base, name, fingerprint, attempt));
                self.claim(wire_name.clone(), name, Some(fingerprint));
                overloads.push((fingerprint, wire_name));
            }
            self.overloads.insert(name.clone(), overloads);
        }
    }

    fn is_free(&self, candidate: &str) -> bool {
        !self.reserved.contains(candidate) && !self.targets.contains_key(candidate)
    }

    fn claim(&mut self, wire_name: String, name: &QualifiedName, fingerprint: Option<Fingerprint>) {
        self.targets.insert(wire_name, WireTarget { name: name.clone(), fingerprint });
    }

    /// Returns the first candidate that is free. Each attempt has another hash, so there are few attempts.
    fn first_free(&self, candidate: impl Fn(u64) -> String) -> String {
        let mut attempt = 0_u64;
        loop {
            let wire_name = candidate(attempt);
            if self.is_free(&wire_name) {
                return wire_name;
            }
            attempt = attempt.wrapping_add(1);
        }
    }

    /// Returns a readable name of the tool, short enough to append a hash.
    fn readable(&self, name: &QualifiedName) -> String {
        let room = MAX_WIRE_NAME_CHARS - SEPARATOR.len() - NAME_HASH_DIGITS;
        let bare = portable(name.name());
        if self.is_runtime(name) {
            return first_chars(&bare, room).to_owned();
        }
        let room = room - SEPARATOR.len();
        let namespace = portable(name.namespace());
        let namespace = first_chars(&namespace, room.saturating_sub(bare.len()).max(MIN_NAMESPACE_CHARS));
        format!("{namespace}{SEPARATOR}{}", first_chars(&bare, room - namespace.len()))
    }
}

fn plain(name: &QualifiedName) -> String {
    format!("{}{SEPARATOR}{}", name.namespace(), name.name())
}

fn is_portable(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Returns true if function-calling APIs accept the name.
fn is_wire_name(name: &str) -> bool {
    (1..=MAX_WIRE_NAME_CHARS).contains(&name.len()) && name.chars().all(is_portable)
}

/// Returns the text with each run of other characters written as one `_`.
fn portable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_run = false;
    for c in text.chars() {
        if is_portable(c) {
            out.push(c);
        } else if !in_run {
            out.push('_');
        }
        in_run = !is_portable(c);
    }
    out
}

/// Returns the first characters of an ASCII text.
fn first_chars(text: &str, chars: usize) -> &str {
    text.get(..chars).unwrap_or(text)
}

fn with_hash(readable: &str, name: &str, attempt: u64) -> String {
    let hash = match attempt {
        0 => text_hash(name),
        _ => text_hash(&format!("{name}#{attempt}")),
    };
    format!("{readable}{SEPARATOR}{hash}")
}

fn with_fingerprint(base: &str, name: &QualifiedName, fingerprint: Fingerprint, attempt: u64) -> String {
    let readable = first_chars(base, MAX_WIRE_NAME_CHARS - SEPARATOR.len() - NAME_HASH_DIGITS);
    match attempt {
        0 => format!("{readable}{SEPARATOR}{}", first_chars(&fingerprint.to_string(), OVERLOAD_HASH_DIGITS)),
        _ => with_hash(readable, &format!("{name}#{fingerprint}"), attempt),
    }
}

/// Returns the first hexadecimal digits of the SHA-256 of a text.
fn text_hash(text: &str) -> String {
    first_chars(&hex(&Sha256::digest(text)), NAME_HASH_DIGITS).to_owned()
}
