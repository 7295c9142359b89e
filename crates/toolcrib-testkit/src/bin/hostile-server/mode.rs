//! The modes of misbehaviour.

use anyhow::{Context as _, Result};

/// A mode of misbehaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// None, unless the tools `hang` and `exit` are called.
    Polite,
    /// Reads everything and writes nothing.
    Silent,
    /// Writes to standard error and exits with status 3.
    ExitAtOnce,
    /// Starts a child that serves instead, and exits.
    ExitForChild,
    /// Never reads its input.
    Deaf,
    /// Exits in the middle of the line that answers a call.
    HalfLine,
    /// Writes lines that are not messages before and after each message.
    Garbage,
    /// Writes well-formed JSON that is not a message, without end, and reads nothing.
    Storm,
    /// Begins the answer to a call, and writes a gibibyte without a line break.
    EndlessLine,
    /// Does the same instead of the handshake.
    EndlessFirstLine,
    /// Writes to standard error without end, and otherwise behaves correctly.
    StderrFlood,
    /// Continues after the end of its input, and after `SIGTERM`.
    IgnoresTerm,
    /// Leaves two processes behind: one in its process group, one in a separate session, whose parent is dead.
    Forks,
    /// Answers calls slowly, byte by byte.
    Drip,
    /// Lists another description and another tool each time, and reports the change after each call.
    Changes,
    /// Lists invalid schemas, and returns results that violate its own schema.
    Lies,
    /// Always has one more page of tools.
    EndlessPages,
    /// Lists more tools than any client accepts.
    HugeList,
    /// Reports progress of a call without end.
    Progress,
    /// Reports changes of its tools without end, and otherwise behaves correctly.
    Restless,
    /// Sends requests during a call, without end, and reads no answers; the log has `asked` when a client should have
    /// given up.
    Asks,
    /// Answers with wrong ids first, and twice with the right one.
    WrongIds,
    /// Answers a call that never returns when it is cancelled.
    Late,
}

/// The names of the modes.
const NAMES: &[(&str, Mode)] = &[
    ("polite", Mode::Polite),
    ("silent", Mode::Silent),
    ("exit-at-once", Mode::ExitAtOnce),
    ("exit-for-child", Mode::ExitForChild),
    ("deaf", Mode::Deaf),
    ("half-line", Mode::HalfLine),
    ("garbage", Mode::Garbage),
    ("storm", Mode::Storm),
    ("endless-line", Mode::EndlessLine),
    ("endless-first-line", Mode::EndlessFirstLine),
    ("stderr-flood", Mode::StderrFlood),
    ("ignores-term", Mode::IgnoresTerm),
    ("forks", Mode::Forks),
    ("drip", Mode::Drip),
    ("changes", Mode::Changes),
    ("lies", Mode::Lies),
    ("endless-pages", Mode::EndlessPages),
    ("huge-list", Mode::HugeList),
    ("progress", Mode::Progress),
    ("restless", Mode::Restless),
    ("asks", Mode::Asks),
    ("wrong-ids", Mode::WrongIds),
    ("late", Mode::Late),
];

impl Mode {
    /// Returns the mode of this name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let known = || NAMES.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
        let found = NAMES.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode);
        found.with_context(|| format!("there is no mode {name:?}; there is: {}", known()))
    }
}
