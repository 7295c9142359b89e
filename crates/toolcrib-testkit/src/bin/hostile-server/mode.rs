//! The ways of misbehaving.

use anyhow::{Context as _, Result};

/// What the server does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing, unless the tools `hang` and `exit` are called.
    Polite,
    /// Reads everything and says nothing.
    Silent,
    /// Complains on standard error and exits with status 3.
    ExitAtOnce,
    /// Begins a child that serves in its place, and exits.
    ExitForChild,
    /// Never reads what it is sent.
    Deaf,
    /// Exits in the middle of the line that answers a call.
    HalfLine,
    /// Writes what is no message before and after each that is.
    Garbage,
    /// Writes well-formed JSON that is no message, without end, and reads nothing.
    Storm,
    /// Begins the answer to a call, and writes a gibibyte without a line break.
    EndlessLine,
    /// The same instead of the handshake.
    EndlessFirstLine,
    /// Writes to standard error without end, beside what it does right.
    StderrFlood,
    /// Goes on when its input has ended, and when it is told to end.
    IgnoresTerm,
    /// Leaves two processes behind: one in its process group, one in a session of its own, whose parent is dead.
    Forks,
    /// Answers calls at a byte in a while.
    Drip,
    /// Lists another description and another tool each time, and says so after each call.
    Changes,
    /// Has schemas that are none, and results that are none by its own schema.
    Lies,
    /// Has always one more page of tools.
    EndlessPages,
    /// Lists more tools than anybody takes.
    HugeList,
    /// Reports progress of a call without end.
    Progress,
    /// Says without end that its tools have changed, beside what it does right.
    Restless,
    /// Sends requests of its own during a call, without end, and reads no answers; in the log it says `asked` when it has
    /// sent more than anybody has to bear.
    Asks,
    /// Answers under other ids first, under the right one twice.
    WrongIds,
    /// Answers a call that does not return when it is cancelled.
    Late,
}

/// The names by which the modes are chosen.
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
    /// The mode of this name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let known = || NAMES.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
        let found = NAMES.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode);
        found.with_context(|| format!("there is no mode {name:?}; there is: {}", known()))
    }
}
