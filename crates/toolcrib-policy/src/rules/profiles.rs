//! Profiles: named subsets of the tools, with restrictions in addition to the rules of the app.

use parking_lot::RwLock;
use toolcrib_model::Tool;

use crate::rules::scope::{CompiledScope, Scope};
use crate::{Decision, Effect, Policy, PolicyError, SettingLocation};

/// The rule that denies everything to sessions with a profile that does not exist.
const UNKNOWN_PROFILE: &str = "profiles: the app has no such profile";

/// The compiled rules of a profile.
#[derive(Debug)]
pub struct ProfileRules {
    pub(crate) scope: CompiledScope,
    /// The rules that deny or ask. Grants have no effect.
    pub(crate) restrictions: Policy,
}

impl ProfileRules {
    /// Compiles the rules of a profile, which limits a session to its scope, and to what the rules of `restrictions` that
    /// deny or ask leave of it. Decisions and errors name the location of the profile.
    ///
    /// # Errors
    ///
    /// Returns an error if the scope is invalid.
    pub fn new(scope: &Scope, restrictions: Policy, location: &SettingLocation) -> Result<Self, PolicyError> {
        Ok(Self { scope: CompiledScope::new(scope, location)?, restrictions })
    }
}

/// The profiles of a policy, and the sessions that they limit.
#[derive(Debug)]
pub(crate) struct Profiles {
    all: Vec<(String, ProfileRules)>,
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
    pub(crate) fn add(&mut self, name: &str, rules: ProfileRules) {
        self.all.push((name.to_owned(), rules));
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
            Some(name) => match self.all.iter().position(|(known, _)| known == name) {
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
    ) -> impl Iterator<Item = Result<&'a (String, ProfileRules), &'a Decision>> {
        let bound = self.bound.iter().filter(move |(sessions, _)| session.starts_with(sessions));
        let mut fixed = bound.map(|(_, profile)| profile.as_str()).chain(self.named_in(session)).peekable();
        let default = if fixed.peek().is_none() { self.default_of(session) } else { None };
        let get = |name: &str| self.all.iter().find(|(known, _)| known == name).ok_or(&self.unknown);
        fixed.map(get).chain(default)
    }

    /// Returns the profile that an operator has selected, if it is for a session.
    fn default_of(&self, session: &str) -> Option<Result<&(String, ProfileRules), &Decision>> {
        self.named.iter().find(|sessions| session.starts_with(*sessions))?;
        match *self.default.read() {
            DefaultProfile::None => None,
            DefaultProfile::Known(position) => self.all.get(position).map(Ok),
            DefaultProfile::Unknown => Some(Err(&self.unknown)),
        }
    }

    /// Returns the name of the profile that decides the surface of a session.
    pub(crate) fn first_of<'a>(&'a self, session: &'a str) -> Option<&'a str> {
        self.limiting(session).find_map(Result::ok).map(|(name, _)| name.as_str())
    }

    /// Returns the rules of the profiles that limit a session.
    pub(crate) fn of<'a>(&'a self, session: &'a str) -> impl Iterator<Item = &'a ProfileRules> {
        self.limiting(session).filter_map(Result::ok).map(|(_, rules)| rules)
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
        self.all.iter().flat_map(move |(_, rules)| {
            let patterns = rules.scope.unused_patterns(tools.clone());
            patterns.chain(rules.restrictions.unused_rules(tools.clone()).collect::<Vec<_>>())
        })
    }

    /// Returns the profile that the name of a session contains, as in `serve/CLIENT/PROFILE/ID`.
    fn named_in<'a>(&self, session: &'a str) -> Option<&'a str> {
        let rest = self.named.iter().find_map(|sessions| session.strip_prefix(sessions.as_str()))?;
        let (_, rest) = rest.split_once('/')?;
        rest.split_once('/').map(|(profile, _)| profile)
    }
}
