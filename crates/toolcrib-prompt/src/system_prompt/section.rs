//! Sections of the system prompt, in their order.

use std::ops::Range;

/// The text between two sections.
const SEPARATOR: &str = "\n\n";

/// A section of the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Section {
    /// The agent's memory.
    Memory,
    /// The instructions on memory.
    MemoryInstructions,
    /// The identity of the agent, and the number of its tools.
    Identity,
    /// The use of tools; in text style also their schemas.
    Tools,
    /// The template of a call.
    Hints,
    /// The notes of sources on their tools.
    SourceNotes,
    /// The agents that it can delegate to.
    Agents,
    /// The skills that it can load.
    Skills,
    /// The channels that it can send to.
    Channels,
    /// The user's prompt.
    User,
}

impl Section {
    /// All sections, in their order.
    pub const ALL: [Self; 10] = [
        Self::Memory,
        Self::MemoryInstructions,
        Self::Identity,
        Self::Tools,
        Self::Hints,
        Self::SourceNotes,
        Self::Agents,
        Self::Skills,
        Self::Channels,
        Self::User,
    ];

    /// Returns its name in the output of `toolcrib plan`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::MemoryInstructions => "memory_instructions",
            Self::Identity => "identity",
            Self::Tools => "tool_instructions",
            Self::Hints => "hints",
            Self::SourceNotes => "source_notes",
            Self::Agents => "agents",
            Self::Skills => "skills",
            Self::Channels => "channels",
            Self::User => "user",
        }
    }
}

/// A system prompt as it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedPrompt {
    /// The text.
    pub text: String,
    /// True if the user's prompt was longer than its bound, so that its end is missing.
    pub user_prompt_is_cut: bool,
    places: Vec<(Section, Range<usize>)>,
}

impl RenderedPrompt {
    /// Returns the sections that are present, in their order.
    pub fn sections(&self) -> impl Iterator<Item = (Section, &str)> {
        self.places
            .iter()
            .map(|(section, place)| (*section, self.text.get(place.clone()).unwrap_or_default()))
    }

    pub(super) fn push(&mut self, section: Section, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str(SEPARATOR);
        }
        let start = self.text.len();
        self.text.push_str(text);
        self.places.push((section, start..self.text.len()));
    }
}
