//! Profiles: named subsets of the tools, with restrictions in addition to the rules of the app.

use parking_lot::RwLock;
use toolcrib_model::Tool;

use crate::rules::scope::CompiledScope;
use crate::{Decision, Effect, Policy};

/// The rule that denies everything to sessions with a profile that does not exist.
const UNKNOWN_PROFILE: &str = "profiles: the app has no such profile";

/// A profile, ready to be tried.
#[derive(Debug)]
pub(crate) struct CompiledProfile {
    pub(crate) name: String,
    pub(crate) scope: CompiledScope,
    /// The rules that deny or ask. Grants have no effect.
    pub(crate) restrictions: Policy,
}

/// The profiles of a policy, and the sessions that they limit.
#[derive(Debug)]
pub(crate) struct Profiles {
    all: Vec<CompiledProfile>,
    /// Beginnings of the names of sessions, each with the name of the profile that limits them.
    bound: Vec<(String, String)>,
    /// Beginnings of the names of sessions that may contain the name of a profile.
    named: Vec<String>,
    /// The profile of the sessions that may contain the name of a profile, and that no other profile limits.
    default: RwLock<DefaultProfile>,
    unknown: Decision,
}

/// The profile that an operator has selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DefaultProfile {
    #[default]
    None,
    /// A profile by its position.
    Known(usize),
    /// A profile that does not exist.
    Unknown,
}

impl Default for Profiles {
    fn default() -> Self {
        let unknown = Decision::new(Effect::Deny, &UNKNOWN_PROFILE.into());
        Self { all: Vec::new(), bound: Vec::new(), named: Vec::new(), default: RwLock::default(), unknown }
    }
}

impl Profiles {
    pub(crate) fn add(&mut self, profile: CompiledProfile) {
        self.all.push(profile);
    }

    pub(crate) fn bind(&mut self, sessions: &str, profile: &str) {
        self.bound.push((sessions.to_owned(), profile.to_owned()));
    }

    pub(crate) fn name_in(&mut self, sessions: &str) {
        self.named.push(sessions.to_owned());
    }

    /// Sets the profile of the sessions that no other profile limits.
    pub(crate) fn set_default(&self, profile: Option<&str>) {
        *self.default.write() = match profile {
            None => DefaultProfile::None,
            Some(name) => match self.all.iter().position(|profile| profile.name == name) {
                Some(position) => DefaultProfile::Known(position),
                None => DefaultProfile::Unknown,
            },
        };
    }

    /// Returns the profiles that limit a session, the one that decides its surface first, or the denial of everything for
    /// one that does not exist.
    fn limiting<'a>(
        &'a self,
        session: &'a str,
    ) -> impl Iterator<Item = Result<&'a CompiledProfile, &'a Decision>> {
        let bound = self.bound.iter().filter(move |(sessions, _)| session.starts_with(sessions));
        let mut fixed = bound.map(|(_, profile)| profile.as_str()).chain(self.named_in(session)).peekable();
        let default = if fixed.peek().is_none() { self.default_of(session) } else { None };
        let get = |name: &str| self.all.iter().find(|profile| profile.name == name).ok_or(&self.unknown);
        fixed.map(get).chain(default)
    }

    /// Returns the profile that an operator has selected, if it is for a session.
    fn default_of(&self, session: &str) -> Option<Result<&CompiledProfile, &Decision>> {
        self.named.iter().find(|sessions| session.starts_with(*sessions))?;
        match *self.default.read() {
            DefaultProfile::None => None,
            DefaultProfile::Known(position) => self.all.get(position).map(Ok),
            DefaultProfile::Unknown => Some(Err(&self.unknown)),
        }
    }

    /// Returns the profiles that limit a session.
    pub(crate) fn of<'a>(&'a self, session: &'a str) -> impl Iterator<Item = &'a CompiledProfile> {
        self.limiting(session).filter_map(Result::ok)
    }

    /// Returns the denial of everything to a session with a profile that does not exist.
    pub(crate) fn unknown<'a>(&'a self, session: &'a str) -> Option<&'a Decision> {
        self.limiting(session).find_map(Result::err)
    }

    /// Returns the rules of all profiles that no tool matches.
    pub(crate) fn unused_rules<'a>(
        &'a self,
        tools: impl Iterator<Item = &'a Tool> + Clone + 'a,
    ) -> impl Iterator<Item = &'a str> {
        self.all.iter().flat_map(move |profile| {
            let patterns = profile.scope.unused_patterns(tools.clone());
            patterns.chain(profile.restrictions.unused_rules(tools.clone()).collect::<Vec<_>>())
        })
    }

    /// Returns the profile that the name of a session contains, as in `serve/CLIENT/PROFILE/ID`.
    fn named_in<'a>(&self, session: &'a str) -> Option<&'a str> {
        let rest = self.named.iter().find_map(|sessions| session.strip_prefix(sessions.as_str()))?;
        let (_, rest) = rest.split_once('/')?;
        rest.split_once('/').map(|(profile, _)| profile)
    }
}
