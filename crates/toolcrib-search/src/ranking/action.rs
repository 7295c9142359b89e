//! The actions of tools and of queries. The verb decides between tools that handle the same noun.

use toolcrib_model::Tool;
use toolcrib_model::text::{truncate_bytes, words_of_name};

use crate::query::Query;
use crate::query::clauses::clauses;
use crate::text::{is_stop, words};

/// The most bytes of a description that are searched for a verb.
const MAX_BYTES: usize = 200;

/// The factor for a tool whose action differs from the requested one, if both only read.
const OTHER_READ: f32 = 0.92;
/// The factor for a tool that returns one item, if a list was requested.
const ITEM_FOR_LIST: f32 = 0.78;
/// The factor for a tool that changes something in a different way.
const OTHER_CHANGE: f32 = 0.75;
/// The factor for a tool that only reads, if a change was requested.
const READ_FOR_CHANGE: f32 = 0.65;
/// The factor for a tool that changes something, if the query only reads.
const CHANGE_FOR_READ: f32 = 0.5;
/// The factor for a tool without a known action.
const UNKNOWN: f32 = 0.95;
/// The factor for a deprecated tool.
const DEPRECATED: f32 = 0.6;

/// The kind of operation that a verb names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Get,
    List,
    Search,
    Create,
    Update,
    Delete,
}

/// The verbs of each action, folded, in every form in which they begin a name, a description or a request.
const VERBS: [(Action, &str); 6] = [
    (
        Action::Get,
        "get gets fetch fetches retrieve retrieves obtain obtains read reads show shows display displays view views \
         describe describes inspect inspects lookup check checks afficher affiche montrer montre lire lis obtenir \
         recuperer recupere",
    ),
    (Action::List, "list lists enumerate enumerates browse browses lister liste"),
    (
        Action::Search,
        "search searches find finds query queries locate locates discover discovers chercher cherche rechercher \
         recherche trouver trouve",
    ),
    (Action::Create, "create creates add adds insert inserts creer cree ajouter ajoute"),
    (
        Action::Update,
        "update updates change changes modify modifies edit edits alter alters patch patches replace replaces rename \
         renames modifier modifie changer",
    ),
    (
        Action::Delete,
        "delete deletes remove removes destroy destroys erase erases drop drops purge purges supprimer supprime effacer \
         enlever retirer",
    ),
];

/// Words that indicate a change, at any position in a query.
const CHANGING: &str = "new make makes send sends save saves write writes set sets upload uploads move moves copy copies \
     cancel cancels book books buy buys pay pays start starts stop stops run runs schedule schedules approve post publish";

impl Action {
    fn of_word(word: &str) -> Option<Self> {
        let has = |(_, verbs): &&(Self, &str)| verbs.split(' ').any(|verb| verb == word);
        VERBS.iter().find(has).map(|(action, _)| *action)
    }

    fn changes(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Delete)
    }
}

/// The action of a tool, and whether the tool is deprecated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolAction {
    action: Option<Action>,
    is_deprecated: bool,
}

impl ToolAction {
    /// Returns the action of a tool. It is determined by the verb at the start or the end of the name, or else by the
    /// first word of the description.
    pub(crate) fn of(tool: &Tool) -> Self {
        let name = words_of_name(tool.name.name());
        let ends = [name.first(), name.last()];
        let by_name = ends.into_iter().flatten().find_map(|word| Action::of_word(word));
        let description = truncate_bytes(tool.description.trim_start(), MAX_BYTES);
        let by_text = || words(description).first().and_then(|word| Action::of_word(&word.text));
        let says_so = || description.split(|c: char| !c.is_alphanumeric()).any(|word| word == "DEPRECATED");
        Self { action: by_name.or_else(by_text), is_deprecated: tool.traits().deprecated || says_so() }
    }
}

/// The action that a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueryAction {
    action: Action,
    is_read_only: bool,
}

impl ToolAction {
    /// Returns true if the tool is known to only read.
    pub(crate) fn reads(self) -> bool {
        self.action.is_some_and(|action| !action.changes())
    }

    /// Returns true if the tool is known to change something.
    pub(crate) fn changes(self) -> bool {
        self.action.is_some_and(Action::changes)
    }
}

impl QueryAction {
    /// Returns true if no word of the query asks for a change.
    pub(crate) fn is_read_only(self) -> bool {
        self.is_read_only
    }

    /// Parses a query that begins with a verb and asks for one thing. Returns `None` for any other query.
    pub(crate) fn of(query: &Query<'_>) -> Option<Self> {
        let action = query.words.iter().find(|word| Action::of_word(&word.text).is_some() || !is_stop(word));
        let action = Action::of_word(&action?.text)?;
        if !clauses(query).is_empty() {
            return None;
        }
        let changes = |word: &str| {
            Action::of_word(word).is_some_and(Action::changes)
                || CHANGING.split_whitespace().any(|verb| verb == word)
        };
        let is_read_only = !query.words.iter().any(|word| changes(&word.text));
        Some(Self { action, is_read_only })
    }
}

/// Returns the factor by which the score of a tool is multiplied.
pub(crate) fn action_factor(request: Option<QueryAction>, role: ToolAction) -> f32 {
    let deprecated = if role.is_deprecated { DEPRECATED } else { 1.0 };
    let Some(QueryAction { action, is_read_only }) = request else { return deprecated };
    let factor = match role.action {
        None => UNKNOWN,
        Some(other) if other == action => 1.0,
        Some(other) => match (action.changes(), other.changes()) {
            (false, false) if (action, other) == (Action::List, Action::Get) => ITEM_FOR_LIST,
            (false, false) => OTHER_READ,
            (true, false) => READ_FOR_CHANGE,
            (false, true) if is_read_only => CHANGE_FOR_READ,
            (_, true) => OTHER_CHANGE,
        },
    };
    factor * deprecated
}
