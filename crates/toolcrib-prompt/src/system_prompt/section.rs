//! The sections, in their order.

use std::ops::Range;

/// What stands between two sections.
const SEPARATOR: &str = "\n\n";

/// A section of the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Section {
    /// What the agent remembers.
    Memory,
    /// How it remembers.
    MemoryInstructions,
    /// Who it is, and how much there is for it to use.
    Identity,
    /// How tools are come by; in text style their schemas.
    Tools,
    /// What a call looks like.
    Hints,
    /// What sources say of their tools.
    SourceNotes,
    /// Whom it can give work to.
    Agents,
    /// What it can load.
    Skills,
    /// Where it can send to.
    Channels,
    /// The user's own part.
    User,
}

impl Section {
    /// All of them, in the order in which they stand.
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

    /// Its name in the output of `toolcrib plan`.
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
    /// Whether the user's own part was longer than its bound, so that its end is missing.
    pub user_prompt_is_cut: bool,
    places: Vec<(Section, Range<usize>)>,
}

impl RenderedPrompt {
    /// The sections that are there, in their order.
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
