//! The limits section of an app file.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error;
use toolcrib_exec::FlowSettings;
use toolcrib_exec::flow::{CacheLimits, SourceLimits, ToolLimits};
use toolcrib_exec::limits::{DEFAULT_APPROVAL_WAIT, MAX_APPROVAL_WAIT, MAX_DEADLINE, MIN_APPROVAL_WAIT};
use toolcrib_model::QualifiedName;
use toolcrib_model::name::NAMESPACE_SEPARATOR;
use toolcrib_model::text::pointer_part;
use toolcrib_port::ToolLoader as _;
use toolcrib_prompt::Tokenizer;
use toolcrib_registry::Snapshot;
use toolcrib_results::{MAX_RESULT_TOKENS, MIN_RESULT_TOKENS, ResultLimits, Results, TokenCounter};
use toolcrib_sdk::Module;

use crate::findings::Findings;
use crate::sections::module_entry::ModuleConfig;
use crate::{App, AppFile};

/// `tools.limits`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitsSection {
    /// The limits of every source without `limits`.
    pub source: SourceLimits,
    /// The limits of single tools by name.
    pub tools: BTreeMap<String, ToolLimits>,
    /// The cache for results of `cacheable` tools.
    pub cache: CacheLimits,
    /// The seconds that a person has to answer, from 10 to 86,400. The default is 300.
    pub approval_timeout_seconds: Option<NonZeroU32>,
    /// The maximum number of tokens of a result that a model gets in full, from 250 to 16,000. The default is 6,000.
    /// A larger result becomes a preview.
    pub result_tokens: Option<NonZeroU32>,
    /// True to write tables in results for a model as comma-separated values or as TOON, and pages of HTML as Markdown, if
    /// that has fewer tokens. Results of tools with a schema for them stay as they are.
    pub compact_results: bool,
}

impl LimitsSection {
    /// Returns the time that a person has to answer.
    pub fn approval_wait(&self) -> Duration {
        let seconds = self.approval_timeout_seconds.map(|seconds| Duration::from_secs(seconds.get().into()));
        seconds.unwrap_or(DEFAULT_APPROVAL_WAIT)
    }
}

/// The limits of a source: its name, their JSON pointer, and the limits.
type LimitsOfSource<'a> = (&'a str, &'a str, &'a SourceLimits);

/// Checks the limits on concurrency, rate and time, and puts them together.
pub(crate) fn build(
    limits: &LimitsSection,
    file: &AppFile,
    (entries, modules): (&BTreeMap<String, ModuleConfig>, &[Module]),
    of_sources: &[LimitsOfSource<'_>],
    found: &mut Findings,
) -> Option<FlowSettings> {
    check(limits, entries, of_sources, file, &mut found.errors);
    found.built(flow(limits, file, (entries, modules), of_sources))
}

fn flow(
    limits: &LimitsSection,
    file: &AppFile,
    (entries, modules): (&BTreeMap<String, ModuleConfig>, &[Module]),
    of_sources: &[LimitsOfSource<'_>],
) -> Result<FlowSettings, Error> {
    let of_modules = modules.iter().filter_map(|module| {
        let limits = &entries.get(module.id())?.limits;
        (*limits != SourceLimits::default()).then(|| (module.source().to_owned(), limits.clone()))
    });
    let of_sources = of_sources.iter().map(|(source, _, limits)| ((*source).to_owned(), (*limits).clone()));
    let tools = limits.tools.iter().map(|(name, limits)| {
        let place = format!("/tools/limits/tools/{}", pointer_part(name));
        let name = match name.split_once('.').filter(|_| !name.contains(NAMESPACE_SEPARATOR)) {
            Some((namespace, name)) => QualifiedName::new(namespace, name),
            None => name.parse(),
        };
        name.map(|name| (name, limits.clone())).map_err(|error| file.error_at(&place, error.to_string()))
    });
    let mut settings = FlowSettings::default();
    settings.source = limits.source.clone();
    settings.sources = of_modules.chain(of_sources).collect();
    settings.tools = tools.collect::<Result<HashMap<_, _>, _>>()?;
    settings.cache = limits.cache.clone();
    Ok(settings)
}

/// Returns the error of a deadline that is too long, at a position in the file.
fn too_long(file: &AppFile, place: &str, given: Option<Duration>) -> Option<Error> {
    let given = given.filter(|given| *given > MAX_DEADLINE)?;
    let most = MAX_DEADLINE.as_secs();
    let message = format!("`timeout_seconds` is at most {most}, not {}", given.as_secs_f64());
    Some(file.error_at(&format!("{place}/timeout_seconds"), message))
}

/// Checks the numbers.
fn check(
    limits: &LimitsSection,
    modules: &BTreeMap<String, ModuleConfig>,
    of_sources: &[LimitsOfSource<'_>],
    file: &AppFile,
    errors: &mut Vec<Error>,
) {
    let timeouts = modules
        .iter()
        .map(|(id, module)| (format!("/modules/{}/limits", pointer_part(id)), module.limits.timeout))
        .chain([("/tools/limits/source".to_owned(), limits.source.timeout)])
        .chain(of_sources.iter().map(|(_, place, limits)| ((*place).to_owned(), limits.timeout)))
        .chain(
            limits
                .tools
                .iter()
                .map(|(name, set)| (format!("/tools/limits/tools/{}", pointer_part(name)), set.timeout)),
        );
    errors.extend(timeouts.filter_map(|(place, given)| too_long(file, &place, given)));
    let seconds = MIN_APPROVAL_WAIT.as_secs()..=MAX_APPROVAL_WAIT.as_secs();
    let tokens = MIN_RESULT_TOKENS.into()..=MAX_RESULT_TOKENS.into();
    let numbers = [
        ("approval_timeout_seconds", limits.approval_timeout_seconds, seconds, "seconds"),
        ("result_tokens", limits.result_tokens, tokens, "tokens"),
    ];
    for (key, given, range, unit) in numbers {
        let is_in = |range: &RangeInclusive<u64>, given: NonZeroU32| range.contains(&given.get().into());
        if let Some(given) = given.filter(|given| !is_in(&range, *given)) {
            let message = format!(
                "`{key}` is a number of {unit} from {} to {}, not {given}",
                range.start(),
                range.end()
            );
            errors.push(file.error_at(&format!("/tools/limits/{key}"), message));
        }
    }
}

impl App {
    /// Returns an empty store of results, with the limits of this app.
    pub fn results(&self) -> Results {
        let section = &self.config.tools.limits;
        let mut limits = ResultLimits::default();
        limits.tokens = section.result_tokens.map_or(limits.tokens, NonZeroU32::get);
        limits.compact = section.compact_results;
        // The models of clients are not known, and their tables are not far from this one.
        let model = self.config.agents.first().map_or("", |agent| agent.brain.model.as_str());
        let tokenizer = match Tokenizer::of_model(model) {
            Tokenizer::Estimate => Tokenizer::O200k,
            table => table,
        };
        let counter = TokenCounter::new(move |text| tokenizer.count(text));
        Results::new(limits).with_counter(counter).with_secrets(self.secrets().clone())
    }
}

/// Returns the tools that limits name and nothing has. Limits name original tools, since they are those of a source.
pub(crate) fn unused<'a>(
    limits: &'a LimitsSection,
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = String> + 'a {
    let named = limits.tools.keys();
    let is_unused = |name: &&String| snapshot.unshaped().find(name, |_| true).is_err();
    named
        .filter(is_unused)
        .map(|name| format!("`tools.limits.tools` has limits for `{name}`, and there is no such tool"))
}
