//! The scripted agent: searches, calls at once where the arguments are shown, else looks first, and repairs what
//! failed.
//!
//! It reads only what is shown. What a task gives it is what a person or a model would know: words to search for, the
//! names of tools that do the work, and values for arguments.

use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::parameters::{Form, Knowledge};
use crate::repair::{Repair, repair};
use crate::shown::{self, Found, Hit};
use crate::usage::Usage;

/// The most repairs of one call.
const MAX_REPAIRS: usize = 3;

/// The tool that runs tools outside the list.
const EXECUTE: &str = "execute_tool";

/// The namespace of the runtime's own tools, which have no prefix in newer programs.
const RUNTIME_PREFIX: &str = "context_builder.";

/// The requirements of one call.
#[derive(Clone, Debug)]
pub(crate) struct Need<'a> {
    /// Searches, in the order in which they are tried.
    pub(crate) searches: &'a [&'a str],
    /// The tools that do the work.
    pub(crate) tools: &'a [&'a str],
    /// Words of which what is shown of the tool has one, in lower case; without any, the name is enough.
    pub(crate) words: &'a [&'a str],
    pub(crate) knowledge: Value,
}

impl<'a> Need<'a> {
    pub(crate) fn new(searches: &'a [&'a str], tools: &'a [&'a str], knowledge: Value) -> Self {
        Self { searches, tools, words: &[], knowledge }
    }

    fn is_met_by(&self, hit: &Hit) -> bool {
        let text = hit.text.to_lowercase();
        self.names(hit) && (self.words.is_empty() || self.words.iter().any(|word| text.contains(word)))
    }

    fn names(&self, hit: &Hit) -> bool {
        // Older programs show the tools of the runtime with their namespace.
        let name = hit.name.strip_prefix(RUNTIME_PREFIX).unwrap_or(&hit.name);
        self.tools.contains(&name)
    }
}

/// A search for a tool, and at which place it was.
#[derive(Clone, Debug)]
pub(crate) struct Searched {
    pub(crate) query: String,
    /// The place from 1 on; `None` where the tool was not among the results.
    pub(crate) rank: Option<usize>,
}

/// A search for something that no tool does; `is_refused` if the answer says so.
#[derive(Clone, Debug)]
pub(crate) struct Unanswerable {
    pub(crate) query: String,
    pub(crate) is_refused: bool,
}

/// A tool that is about to be called.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) name: String,
    pub(crate) arguments: Value,
    /// `true` if it is called by its own name, `false` if through [`EXECUTE`].
    pub(crate) is_listed: bool,
}

/// The result of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) blocks: Vec<Value>,
    pub(crate) is_error: bool,
}

impl Answer {
    /// Returns the value that the text begins with.
    pub(crate) fn value(&self) -> Value {
        shown::leading_json(&self.text).unwrap_or_default()
    }

    /// Returns a part of that value, by its JSON Pointer.
    pub(crate) fn at(&self, pointer: &str) -> Result<Value> {
        let value = self.value();
        let part = value.pointer(pointer).cloned();
        part.with_context(|| format!("there is nothing at {pointer:?} of: {}", beginning(&self.text)))
    }

    /// Returns the answer where the call succeeded.
    pub(crate) fn success(self) -> Result<Self> {
        ensure!(!self.is_error, "a call failed: {}", beginning(&self.text));
        Ok(self)
    }

    /// Returns the handle of a result that was too large to be shown whole.
    pub(crate) fn handle(&self) -> Option<String> {
        let starts = self.text.match_indices("r_").map(|(at, _)| at);
        let handles = starts.filter_map(|at| {
            let rest = self.text.get(at + 2..)?;
            let length = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
            (length >= 20).then(|| self.text.get(at..at + 2 + length).map(str::to_owned))?
        });
        handles.last()
    }

    /// Returns `true` if there is a block of this type.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.blocks.iter().any(|block| block.get("type").and_then(Value::as_str) == Some(kind))
    }
}

/// An agent at one task.
pub(crate) struct Agent<'a> {
    client: &'a mut Client,
    listed: &'a [(String, Form)],
    /// `true` if the definition of `read_result` offers filters and sums.
    pub(crate) can_query: bool,
    pub(crate) usage: Usage,
    pub(crate) searched: Vec<Searched>,
    pub(crate) unanswerable: Vec<Unanswerable>,
}

impl<'a> Agent<'a> {
    /// Returns an agent that was shown this list of tools.
    pub(crate) fn new(client: &'a mut Client, listed: &'a [(String, Form)]) -> Self {
        let reader = listed.iter().find(|(name, _)| name == "read_result");
        let can_query = reader.is_some_and(|(_, form)| form.parameters.iter().any(|one| one.name == "where"));
        let (searched, unanswerable) = (Vec::new(), Vec::new());
        Self { client, listed, can_query, usage: Usage::default(), searched, unanswerable }
    }

    /// Queues what the user says to the questions of the calls that follow.
    pub(crate) fn expect(&mut self, replies: impl IntoIterator<Item = Reply>) {
        self.client.expect(replies);
    }

    /// Finds a tool, and calls it; an error that no repair helps against is an answer too.
    pub(crate) fn call(&mut self, need: &Need<'_>) -> Result<Answer> {
        let prepared = self.prepare(need)?;
        self.execute(prepared, need)
    }

    /// Finds a tool and makes its arguments.
    pub(crate) fn prepare(&mut self, need: &Need<'_>) -> Result<Prepared> {
        let knowledge = knowledge(need);
        let bare = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        let listed = self.listed.iter().find(|(name, _)| need.tools.iter().any(|tool| bare(tool) == *name));
        if let Some((name, form)) = listed {
            let arguments = form.fit(&knowledge).context("the list does not tell the arguments")?;
            return Ok(Prepared { name: name.clone(), arguments, is_listed: true });
        }
        let hit = self.show(need)?;
        let fitting = |forms: &[Form]| forms.iter().find_map(|form| form.fit(&knowledge));
        let arguments = if let Some(arguments) = fitting(&hit.forms) {
            arguments
        } else {
            let look = self.use_tool("get_tool", &json!({"name": hit.name}))?;
            // As a last resort by the names that a person would use.
            fitting(&shown::look(&look.text)).unwrap_or_else(|| named(&knowledge))
        };
        Ok(Prepared { name: hit.name, arguments, is_listed: false })
    }

    /// Searches until a result is recognised as the tool that is needed.
    pub(crate) fn show(&mut self, need: &Need<'_>) -> Result<Hit> {
        let mut plausible = None;
        for query in need.searches {
            let found = self.search(query)?;
            let rank = found.hits.iter().position(|hit| need.names(hit)).map(|place| place + 1);
            self.searched.push(Searched { query: (*query).to_owned(), rank });
            if let Some(hit) = found.hits.iter().find(|hit| need.is_met_by(hit)) {
                return Ok(hit.clone());
            }
            let named = found.hits.into_iter().find(|hit| need.names(hit));
            plausible = plausible.or(named.map(|hit| Hit { forms: Vec::new(), ..hit }));
        }
        plausible.with_context(|| format!("none of the searches {:?} shows {:?}", need.searches, need.tools))
    }

    /// Searches for something that no tool does.
    pub(crate) fn search_unanswerable(&mut self, query: &str) -> Result<Found> {
        let found = self.search(query)?;
        self.unanswerable.push(Unanswerable { query: query.to_owned(), is_refused: found.is_weak });
        Ok(found)
    }

    fn search(&mut self, query: &str) -> Result<Found> {
        let answer = self.use_tool("search_tools", &json!({"query": query}))?.success()?;
        Ok(shown::search(&answer.text))
    }

    /// Calls a prepared tool, and repairs what its errors tell how to.
    pub(crate) fn execute(&mut self, prepared: Prepared, need: &Need<'_>) -> Result<Answer> {
        let knowledge = knowledge(need);
        let mut prepared = prepared;
        for _ in 0..MAX_REPAIRS {
            let answer = self.run(&prepared)?;
            if !answer.is_error {
                return Ok(answer);
            }
            match repair(&answer.text, &prepared.arguments, &knowledge) {
                Some(Repair::Arguments(arguments)) => prepared.arguments = arguments,
                Some(Repair::Tool(name)) => prepared.name = name,
                Some(Repair::Wait(milliseconds)) => thread::sleep(Duration::from_millis(milliseconds)),
                None => return Ok(answer),
            }
        }
        self.run(&prepared)
    }

    /// Calls a prepared tool once.
    pub(crate) fn run(&mut self, prepared: &Prepared) -> Result<Answer> {
        let Prepared { name, arguments, is_listed } = prepared;
        if *is_listed {
            return self.use_tool(name, arguments);
        }
        self.use_tool(EXECUTE, &json!({"name": name, "params": arguments}))
    }

    /// Calls several prepared tools at once.
    pub(crate) fn run_parallel(&mut self, prepared: &[Prepared]) -> Result<Answer> {
        let call = |one: &Prepared| json!({"name": one.name, "params": one.arguments});
        let calls: Vec<Value> = prepared.iter().map(call).collect();
        self.use_tool("run_parallel", &json!({"calls": calls}))
    }

    /// Calls a tool of the list.
    pub(crate) fn use_tool(&mut self, name: &str, arguments: &Value) -> Result<Answer> {
        let result = self.client.request("tools/call", &json!({"name": name, "arguments": arguments}))?;
        let Some(blocks) = result.get("content").and_then(Value::as_array).cloned() else {
            bail!("a result without content: {result}");
        };
        self.usage.add(name, arguments, &blocks);
        let texts = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str));
        let text = texts.collect::<Vec<_>>().join("\n");
        let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or_default();
        Ok(Answer { text, blocks, is_error })
    }
}

fn knowledge(need: &Need<'_>) -> Knowledge {
    need.knowledge.as_object().cloned().unwrap_or_default()
}

/// Returns what is known under the first name of each value.
fn named(knowledge: &Knowledge) -> Value {
    let sure = knowledge.iter().filter(|(key, _)| !key.ends_with('?'));
    let named = sure.map(|(key, value)| (key.split('|').next().unwrap_or(key).to_owned(), value.clone()));
    Value::Object(named.collect())
}

/// Returns the beginning of a text, for messages.
pub(crate) fn beginning(text: &str) -> String {
    text.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handle_of_a_preview_is_the_last_long_word_of_its_form() {
        let text = r#"{"preview":"r_short","handle":"r_tprzg5hi6owc3umfpsdik2bsuh","hint":"read the rest"}"#;
        let answer = Answer { text: text.into(), ..Answer::default() };
        assert_eq!(answer.handle().as_deref(), Some("r_tprzg5hi6owc3umfpsdik2bsuh"));
        assert_eq!(Answer { text: "for_each r_1".into(), ..Answer::default() }.handle(), None);
    }

    #[test]
    fn a_tool_is_recognised_by_its_name_and_by_words_where_there_are_any() {
        let hit =
            Hit { name: "units.convert".into(), text: "Converts a temperature.".into(), forms: Vec::new() };
        let mut need = Need::new(&[], &["units.convert"], json!({}));
        assert!(need.is_met_by(&hit));
        need.words = &["money", "currency"];
        assert!(need.names(&hit) && !need.is_met_by(&hit));
    }
}
