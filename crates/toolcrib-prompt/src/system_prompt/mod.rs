//! The system prompt, before the conversation.

pub(crate) mod call_style;
pub(crate) mod external;
mod hints;
mod section;
pub(crate) mod tools;

use self::external::MAX_SOURCE_NOTES_CHARS;
use crate::Plan;
use crate::sanitize::{clean, cut, one_line};

pub use self::call_style::CallStyle;
pub use self::section::{RenderedPrompt, Section};

/// The most characters of the agent's memory.
pub(crate) const MAX_MEMORY_CHARS: usize = 8_000;

/// The most characters of the instructions on memory.
pub(crate) const MAX_MEMORY_INSTRUCTIONS_CHARS: usize = 2_000;

/// The most characters of an agent's id, of its role, and of a domain.
const MAX_IDENTITY_CHARS: usize = 100;

/// The most characters of an item of a list: an agent, a skill, a channel.
const MAX_ITEM_CHARS: usize = 300;

/// The most characters of the list of agents, of skills, and of channels, each. The others are counted.
pub(crate) const MAX_ITEMS_CHARS: usize = 4_000;

/// The most characters of the user's prompt.
pub const MAX_USER_PROMPT_CHARS: usize = 100_000;

/// The part of the context window that the user's prompt may take.
const USER_PART: u32 = 2;

/// The part that the agent's memory may take.
const MEMORY_PART: u32 = 8;

/// The part that each list of agents, skills, channels and notes may take.
const LIST_PART: u32 = 16;

/// The lower bound of the average number of characters of a token in a list.
const CHARS_PER_TOKEN: usize = 3;

/// The system prompt: the agent's memory and identity, the tools and their use, the agents, skills and channels, and at
/// the end the user's prompt. [`Section`] has the order.
///
/// Each section has a bound, which is lower if the context window is small. The same inputs give the same bytes. A
/// section without input is omitted.
///
/// ```
/// use toolcrib_prompt::{InjectionSettings, Plan, SystemPrompt, WireNames};
/// let plan = Plan::new([], &InjectionSettings::default(), &WireNames::default())?;
/// let prompt = SystemPrompt::new(&plan)
///     .with_agent("lead", "coordinator")
///     .with_agents([("scout", "Reads the web.")])
///     .with_memory("Goal: a tidy shop.")
///     .render();
/// assert!(prompt.text.starts_with("# MEMORY\n"));
/// assert!(prompt.text.ends_with("# AGENTS\n\n- scout: Reads the web."));
/// # Ok::<(), toolcrib_prompt::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SystemPrompt<'a> {
    plan: &'a Plan,
    style: CallStyle,
    memory: &'a str,
    memory_instructions: &'a str,
    agent: Option<(&'a str, &'a str)>,
    source_notes: Vec<(String, String)>,
    agents: Items,
    skills: Items,
    channels: Items,
    user_prompt: &'a str,
}

/// Names and descriptions.
type Items = Vec<(String, String)>;

impl<'a> SystemPrompt<'a> {
    /// Creates the prompt of a plan.
    pub fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            style: plan.style,
            memory: "",
            memory_instructions: "",
            agent: None,
            source_notes: Vec::new(),
            agents: Items::new(),
            skills: Items::new(),
            channels: Items::new(),
            user_prompt: "",
        }
    }

    /// Sets the style in which the model calls tools, in place of the plan's.
    pub fn with_style(mut self, style: CallStyle) -> Self {
        self.style = style;
        self
    }

    /// Adds the agent's memory: its goal, its tasks, its facts. It is data: each line is marked, and everything that
    /// looks like a call is defused.
    pub fn with_memory(mut self, snapshot: &'a str) -> Self {
        self.memory = snapshot;
        self
    }

    /// Adds the instructions on the use of memory.
    pub fn with_memory_instructions(mut self, text: &'a str) -> Self {
        self.memory_instructions = text;
        self
    }

    /// Sets the identity of the agent.
    pub fn with_agent(mut self, id: &'a str, role: &'a str) -> Self {
        self.agent = Some((id, role));
        self
    }

    /// Adds the notes of sources on the use of their tools, by the names of the sources. Third parties write these
    /// texts, so they are labelled.
    pub fn with_source_notes<S: Into<String>, T: Into<String>>(
        mut self,
        notes: impl IntoIterator<Item = (S, T)>,
    ) -> Self {
        self.source_notes = owned(notes);
        self
    }

    /// Adds the agents that the agent can delegate to, each with its strengths.
    pub fn with_agents<S: Into<String>, T: Into<String>>(
        mut self,
        agents: impl IntoIterator<Item = (S, T)>,
    ) -> Self {
        self.agents = owned(agents);
        self
    }

    /// Adds the skills that the agent can load, each with its purpose.
    pub fn with_skills<S: Into<String>, T: Into<String>>(
        mut self,
        skills: impl IntoIterator<Item = (S, T)>,
    ) -> Self {
        self.skills = owned(skills);
        self
    }

    /// Adds the channels that the agent can send to, each with its readers.
    pub fn with_channels<S: Into<String>, T: Into<String>>(
        mut self,
        channels: impl IntoIterator<Item = (S, T)>,
    ) -> Self {
        self.channels = owned(channels);
        self
    }

    /// Adds the user's prompt, which comes last.
    pub fn with_user_prompt(mut self, text: &'a str) -> Self {
        self.user_prompt = text;
        self
    }

    /// Writes the prompt.
    pub fn render(&self) -> RenderedPrompt {
        let mut prompt = RenderedPrompt::default();
        for section in Section::ALL {
            prompt.push(section, &self.section(section));
        }
        prompt.user_prompt_is_cut = self.user_text() != self.user_prompt.trim();
        prompt
    }

    fn section(&self, section: Section) -> String {
        match section {
            Section::Memory => {
                let memory = clean(self.memory, MAX_MEMORY_CHARS);
                with_heading(
                    "# MEMORY",
                    &external::quoted(&self.within(&memory, MAX_MEMORY_CHARS, MEMORY_PART)),
                )
            }
            Section::MemoryInstructions => {
                cut(self.memory_instructions.trim(), MAX_MEMORY_INSTRUCTIONS_CHARS).into_owned()
            }
            Section::Identity => self.identity(),
            Section::Tools => tools::instructions(self.plan, self.style),
            Section::Hints => hints::hints(self.plan, self.style),
            Section::SourceNotes => external::notes(&self.source_notes, self.chars(MAX_SOURCE_NOTES_CHARS)),
            Section::Agents => self.items("# AGENTS", "agent", &self.agents),
            Section::Skills => self.items("# SKILLS", "skill", &self.skills),
            Section::Channels => self.items("# CHANNELS", "channel", &self.channels),
            Section::User => self.user_text(),
        }
    }

    fn user_text(&self) -> String {
        self.within(self.user_prompt.trim(), MAX_USER_PROMPT_CHARS, USER_PART)
    }

    /// Truncates a text to a number of characters, and to a part of the context window.
    fn within(&self, text: &str, max_chars: usize, part: u32) -> String {
        let (tokenizer, most) = (self.plan.tokenizer, self.plan.context_window / part);
        let mut chars = text.chars().count().min(max_chars);
        loop {
            let kept = cut(text, chars);
            if chars == 0 || tokenizer.fits(kept.len(), most.into()) {
                return kept.into_owned();
            }
            let tokens = tokenizer.count(&kept);
            if tokens <= most {
                return kept.into_owned();
            }
            // In proportion, and always slightly less, because the part that is cut off may differ from the rest.
            let [share, all] = [most, tokens].map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
            chars = (chars.saturating_mul(share) / all).min(chars - chars.div_ceil(20));
        }
    }

    /// Returns the bound of a list of at most this many characters, reduced if the window is small.
    fn chars(&self, max_chars: usize) -> usize {
        let tokens = usize::try_from(self.plan.context_window / LIST_PART).unwrap_or(usize::MAX);
        max_chars.min(tokens.saturating_mul(CHARS_PER_TOKEN))
    }

    fn items(&self, heading: &str, noun: &str, items: &[(String, String)]) -> String {
        let lines = items.iter().map(|(name, about)| {
            let name = one_line(name, MAX_IDENTITY_CHARS);
            match one_line(about, MAX_ITEM_CHARS) {
                about if about.is_empty() => format!("- {name}"),
                about => format!("- {name}: {about}"),
            }
        });
        with_heading(heading, &bounded(lines, "\n", self.chars(MAX_ITEMS_CHARS), noun))
    }

    fn identity(&self) -> String {
        let agent = self.agent.map(|(id, role)| {
            let [id, role] = [id, role].map(|text| one_line(text, MAX_IDENTITY_CHARS));
            format!("You are agent \"{id}\" (role: {role}).")
        });
        let access = (self.plan.tool_count > 0).then(|| {
            let domains = counted(self.plan.domains.len(), "domain");
            format!("You have access to {} across {domains}.", counted(self.plan.tool_count, "tool"))
        });
        agent.into_iter().chain(access).collect::<Vec<_>>().join("\n")
    }
}

fn owned<S: Into<String>, T: Into<String>>(items: impl IntoIterator<Item = (S, T)>) -> Items {
    items.into_iter().map(|(name, about)| (name.into(), about.into())).collect()
}

/// Returns a text under its heading; empty if the text is empty.
fn with_heading(heading: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{heading}\n\n{text}") }
}

/// Returns the items that fit, and the number of those that do not.
fn bounded(items: impl Iterator<Item = String>, separator: &str, max_chars: usize, noun: &str) -> String {
    let mut out = String::new();
    let mut chars = 0;
    let mut items = items.peekable();
    while let Some(item) = items.next_if(|item| chars + item.chars().count() <= max_chars) {
        if !out.is_empty() {
            out.push_str(separator);
        }
        chars += item.chars().count() + separator.chars().count();
        out.push_str(&item);
    }
    match items.count() {
        0 => out,
        left => {
            if !out.is_empty() {
                out.push_str(separator);
            }
            format!("{out}[{} not shown]", counted(left, &format!("more {noun}")))
        }
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
