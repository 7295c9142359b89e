//! Signatures of tools: `shop.price(item: str, currency?: 'EUR'|'USD') — Returns the price of an item.`

use toolcrib_model::{Risk, Tool};
use toolcrib_policy::{Effect, Policy, Principal};
use toolcrib_registry::{Entry, Overloads};
use toolcrib_schema::typescript::{Declarations, Declared, declarations};

use crate::schema::Node;
use crate::summary::{MAX_SUMMARY, cut, folded, summary};
use crate::type_notation;

/// The most characters of a description in a list; `get_tool` has all of it.
pub(crate) const MAX_LISTED_DESCRIPTION: usize = 240;

/// The most arguments whose descriptions are shown in a search.
const MAX_LISTED_ARGUMENTS: usize = 12;

/// The bytes of JSON of the results of a search, in addition to [`FOUND_BYTES_PER_TOOL`].
pub(crate) const FOUND_BYTES: usize = 400;

/// The bytes of JSON of the results of a search for each requested tool.
pub(crate) const FOUND_BYTES_PER_TOOL: usize = 110;

/// The bytes of the declarations of a search, for all of its tools together.
const MAX_TYPES_BYTES: usize = 4 * 1024;

/// The minimum number of tools in the budget of a search, so that a request for fewer tools shows more of each.
const MIN_TOOLS_OF_ROOM: usize = 5;

/// The most tools whose arguments are described in a search, not only listed.
const MAX_DESCRIBED: usize = 2;

/// The most characters of all arguments of a signature.
const MAX_ARGUMENTS_CHARS: usize = 480;

/// The most characters of the arguments if only their names are shown.
const MAX_NAMES_CHARS: usize = 160;

/// The most characters of a summary then.
const MAX_SHORT_SUMMARY: usize = 60;

/// The most bytes of an example that its author wrote.
const MAX_EXAMPLE_BYTES: usize = 240;

/// The most bytes of JSON of an entry on a page of a category.
const MAX_PAGE_ENTRY_BYTES: usize = 320;

/// The amount of detail of a signature, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// The names of the required arguments.
    Names,
    /// The required arguments with their types.
    Required,
    /// All arguments.
    Arguments,
    /// All arguments, objects with their properties.
    Opened,
    /// Also the beginning of the description.
    Described,
    /// Also the purpose of each argument, and an example by the author of the tool.
    Explained,
}

impl Level {
    const ABOVE_NAMES: [Self; 5] =
        [Self::Required, Self::Arguments, Self::Opened, Self::Described, Self::Explained];
}

/// A tool in a list.
pub(crate) struct Line<'a> {
    entry: &'a Entry,
    /// The number of other overloads.
    others: usize,
    warning: Option<&'static str>,
    /// The reason why a search found the tool.
    match_reason: Option<String>,
}

impl<'a> Line<'a> {
    /// Returns the line of the overload at index `form`; `None` if it does not exist.
    pub(crate) fn new(
        overloads: &Overloads<'a>,
        form: usize,
        policy: &Policy,
        principal: Principal<'_>,
    ) -> Option<Self> {
        let entry = overloads.iter().nth(form).or_else(|| overloads.first())?;
        let others = overloads.iter().count() - 1;
        Some(Self { entry, others, warning: warning(&entry.tool, policy, principal), match_reason: None })
    }

    /// Sets the reason why a search found the tool.
    pub(crate) fn with_match(mut self, reason: String) -> Self {
        self.match_reason = Some(reason);
        self
    }

    /// Writes the line.
    pub(crate) fn at(&self, level: Level) -> String {
        let tool = self.entry.tool.as_ref();
        let mut text = format!("{}({})", tool.name.shown(), arguments(tool, level));
        let description = match level {
            Level::Names => cut(&summary(&tool.description), MAX_SHORT_SUMMARY),
            Level::Described | Level::Explained => cut(&folded(&tool.description), MAX_LISTED_DESCRIPTION),
            _ => summary(&tool.description),
        };
        if !description.is_empty() {
            text = format!("{text} — {description}");
        }
        text = match self.others {
            0 => text,
            1 => format!("{text} (+1 form)"),
            others => format!("{text} (+{others} forms)"),
        };
        if let Some(warning) = self.warning {
            text = format!("{text} [{warning}]");
        }
        if let Some(reason) = &self.match_reason {
            text = format!("{text} ({reason})");
        }
        if level == Level::Explained {
            text.push_str(&argument_purposes(tool));
            text.push_str(&example(self.entry));
        }
        text
    }

    /// Writes the line for a page of a category: with all arguments if they are few.
    pub(crate) fn for_page(&self) -> String {
        let mut lines = [Level::Arguments, Level::Required].into_iter().map(|level| self.at(level));
        lines.find(|line| size(line) <= MAX_PAGE_ENTRY_BYTES).unwrap_or_else(|| self.at(Level::Names))
    }
}

/// Writes the tools that a search found, the best first, for a request of up to `limit` tools. Each line has at least
/// the detail of those after it, and all have as much as the budget allows.
pub(crate) fn packed(lines: &[Line<'_>], limit: usize) -> Vec<String> {
    let tools = limit.max(MIN_TOOLS_OF_ROOM);
    let room = FOUND_BYTES.saturating_add(FOUND_BYTES_PER_TOOL.saturating_mul(tools));
    let mut texts: Vec<String> = lines.iter().map(|line| line.at(Level::Names)).collect();
    let mut used: usize = texts.iter().map(|text| size(text)).sum();
    let mut reached = lines.len();
    for level in Level::ABOVE_NAMES {
        if level > Level::Opened && lines.len() > MAX_DESCRIBED {
            break;
        }
        let mut raised = 0;
        for (line, text) in lines.iter().zip(&mut texts).take(reached) {
            let fuller = line.at(level);
            let with = used - size(text) + size(&fuller);
            if with > room {
                break;
            }
            (*text, used) = (fuller, with);
            raised += 1;
        }
        reached = raised;
    }
    texts
}

/// Declares the tools that a search found, in TypeScript, within their budget. Tools of the runtime are left out: a script
/// has none.
pub(crate) fn declared(tools: &[Overloads<'_>], policy: &Policy, principal: Principal<'_>) -> Declarations {
    let forms = tools.iter().flat_map(Overloads::iter).filter(|entry| !entry.tool.name.is_of_runtime());
    let described = forms.map(|entry| {
        let text = cut(&folded(&entry.tool.description), MAX_LISTED_DESCRIPTION);
        let warning = warning(&entry.tool, policy, principal).map(|warning| format!(" [{warning}]"));
        (entry.tool.as_ref(), format!("{text}{}", warning.unwrap_or_default()))
    });
    let described: Vec<(&Tool, String)> = described.collect();
    let declared = described.iter().map(|(tool, text)| Declared::from(*tool).with_text(text));
    let declared: Vec<Declared<'_>> = declared.collect();
    let room = MAX_TYPES_BYTES / declared.len().max(MIN_TOOLS_OF_ROOM);
    declarations(&declared, room)
}

/// Returns the bytes of a text in JSON.
fn size(text: &str) -> usize {
    serde_json::Value::from(text).to_string().len()
}

fn arguments(tool: &Tool, level: Level) -> String {
    let schema = Node::new(&tool.parameters);
    let fields = schema.fields();
    if fields.is_empty() {
        return type_notation::whole(schema, MAX_ARGUMENTS_CHARS);
    }
    match level {
        Level::Names => type_notation::names(&fields, MAX_NAMES_CHARS),
        Level::Required => type_notation::required(&fields, MAX_ARGUMENTS_CHARS),
        Level::Arguments => type_notation::fields(&fields, false, MAX_ARGUMENTS_CHARS),
        _ => type_notation::fields(&fields, true, MAX_ARGUMENTS_CHARS),
    }
}

/// Returns a warning for a caller before a call: that it needs approval, or that it is destructive.
fn warning(tool: &Tool, policy: &Policy, principal: Principal<'_>) -> Option<&'static str> {
    match (policy.decide(tool, principal).effect, tool.traits().risk) {
        (Effect::Approve, _) => Some("asks the user"),
        (_, Risk::High) => Some("high risk"),
        _ => None,
    }
}

/// Writes the purpose of each argument, a line each.
fn argument_purposes(tool: &Tool) -> String {
    let fields = Node::new(&tool.parameters).fields();
    let told = fields.iter().filter_map(|field| {
        let about = summary(field.node.text("description")?);
        (!about.is_empty()).then(|| format!("\n{}: {about}", cut(field.name, MAX_SUMMARY)))
    });
    told.take(MAX_LISTED_ARGUMENTS).collect()
}

/// Writes the example that the author of a tool wrote, if there is a short one.
fn example(entry: &Entry) -> String {
    let examples = entry.tool.examples().iter().filter(|example| entry.schema.accepts(example));
    let mut short = examples.map(ToString::to_string).filter(|text| text.len() <= MAX_EXAMPLE_BYTES);
    short.next().map(|text| format!("\nexample: {text}")).unwrap_or_default()
}
