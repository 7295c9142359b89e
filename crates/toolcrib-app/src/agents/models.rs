//! The models of agents.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_agent::api::{ApiSettings, Prices, ToolOptions};
use toolcrib_agent::fallback::FallbackModel;
use toolcrib_agent::recorded::{MAX_RECORDING_BYTES, RecordedModel};
use toolcrib_agent::{ApiModel, Brain, ChatModel, Provider};
use toolcrib_document::Error as DocumentError;
use toolcrib_io::files::read_bounded;
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_model::Secret;
use toolcrib_prompt::system_prompt::CallStyle;

use super::key_command::{KeyCommand, own_key};
use super::setup::{AgentSetup, ChosenModel};
use crate::sections::agents::{AgentConfig, AuthForm, BrainConfig, PricesConfig};
use crate::{App, Error, expanded};

/// Returns true if the app file says where the key comes from.
fn has_key(brain: &BrainConfig) -> bool {
    brain.api_key.is_some() || !brain.api_key_command.is_empty()
}

impl App {
    /// Returns the model that an agent thinks with; `None` for an agent that is not in the app file. Where the provider
    /// wants a key and none is set, it plays the agent's recording.
    pub fn model(&self, agent: &AgentSetup) -> Result<Option<ChosenModel>, Error> {
        let Some((position, config)) = &agent.config else { return Ok(None) };
        self.model_at(*position, config, agent).map(Some)
    }

    fn model_at(
        &self,
        position: usize,
        config: &AgentConfig,
        agent: &AgentSetup,
    ) -> Result<ChosenModel, Error> {
        let brain = &config.brain;
        let chosen = self.model_of(brain, &format!("/agents/{position}/brain"), agent)?;
        // A recording replaces the fallbacks too.
        if brain.fallback.is_empty() || chosen.notice.is_some() || brain.provider == Provider::Recorded {
            return Ok(chosen);
        }
        let mut others = Vec::with_capacity(brain.fallback.len());
        for (number, other) in brain.fallback.iter().enumerate() {
            let place = format!("/agents/{position}/brain/fallback/{number}");
            let model = self.model_of(other, &place, agent)?.model;
            others.push(Brain { name: other.model.clone(), model });
        }
        let first = Brain { name: brain.model.clone(), model: chosen.model };
        Ok(ChosenModel { model: Arc::new(FallbackModel::new(first, others)), notice: None })
    }

    /// Opens a model that is asked for plain text, without tools. An error has its place in the app file.
    pub(crate) fn plain_model(&self, brain: &BrainConfig, place: &str) -> Result<Brain, DocumentError> {
        let located = |error: Error| match error {
            Error::App { mut errors, .. } if !errors.is_empty() => errors.swap_remove(0),
            error => self.file.error_at(place, error.to_string()),
        };
        let first = self.plain_model_of(brain, place).map_err(located)?;
        let mut others = Vec::with_capacity(brain.fallback.len());
        for (number, other) in brain.fallback.iter().enumerate() {
            let model = self.plain_model_of(other, &format!("{place}/fallback/{number}")).map_err(located)?;
            others.push(Brain { name: other.model.clone(), model });
        }
        let name = brain.model.clone();
        if others.is_empty() {
            return Ok(Brain { name, model: first });
        }
        let model = FallbackModel::new(Brain { name: name.clone(), model: first }, others);
        Ok(Brain { name, model: Arc::new(model) })
    }

    fn plain_model_of(&self, brain: &BrainConfig, place: &str) -> Result<Arc<dyn ChatModel>, Error> {
        let own_key = own_key(&self.file, brain);
        let needs_key = brain.provider.key_variable().is_some() && own_key.is_none() && !has_key(brain);
        let recording = match (brain.provider, self.filled(place, "recording", brain.recording.as_deref())?) {
            (Provider::Recorded, None) => {
                let message = "`provider: recorded` needs a `recording`, a file of turns";
                return Err(self.file.wrong(self.file.error_at(place, message)));
            }
            (Provider::Recorded, recording) => recording,
            (_, recording) => recording.filter(|_| needs_key),
        };
        let Some(recording) = recording else {
            return Ok(Arc::new(self.api_model(brain, place, own_key)?));
        };
        let path = self.file.path(&recording);
        let bytes = read_bounded(&path, MAX_RECORDING_BYTES as u64)
            .map_err(|source| Error::Recording { path: path.clone(), source })?;
        let model = RecordedModel::new(path.display().to_string(), &bytes, CallStyle::Native)?;
        Ok(Arc::new(model))
    }

    fn model_of(&self, brain: &BrainConfig, place: &str, agent: &AgentSetup) -> Result<ChosenModel, Error> {
        let key_variable = brain.provider.key_variable();
        let own_key = own_key(&self.file, brain);
        let recording = brain.recording.as_deref();
        let notice = match (brain.provider, recording, key_variable) {
            (Provider::Recorded, None, _) => {
                let message = "`provider: recorded` needs a `recording`, a file of turns, or `--replay FILE`";
                return Err(self.file.wrong(self.file.error_at(place, message)));
            }
            (Provider::Recorded, ..) => Some(None),
            (_, Some(path), Some(variable)) if own_key.is_none() && !has_key(brain) => {
                Some(Some(format!("{variable} is not set: the model's turns are played from {path}")))
            }
            _ => None,
        };
        if let (Some(notice), Some(path)) = (notice, self.resolved.recordings.get(place)) {
            let path = path.as_ref().map_err(|error| self.file.wrong(error.clone()))?;
            let model = agent.recorded(&self.file.folder.join(path), brain.call_style())?;
            return Ok(ChosenModel { model, notice });
        }
        let tools = self.tool_options(brain, place, agent)?;
        let model = self.api_model_with(brain, place, own_key, tools)?;
        let model = agent.in_style(brain.call_style(), Arc::new(model));
        Ok(ChosenModel { model, notice: None })
    }

    /// Returns the forms in which the tools of an agent are sent to a model.
    fn tool_options(
        &self,
        brain: &BrainConfig,
        place: &str,
        agent: &AgentSetup,
    ) -> Result<ToolOptions, Error> {
        let mut options = ToolOptions::default();
        (options.strict, options.eager_streaming) = (brain.strict_tools, brain.eager_tool_streaming);
        for (number, spelling) in brain.text_tools.iter().enumerate() {
            let (wire_name, argument) = agent.text_tool(spelling).map_err(|problem| {
                self.file.wrong(self.file.error_at(&format!("{place}/text_tools/{number}"), problem))
            })?;
            options.text_arguments.insert(wire_name, argument);
        }
        Ok(options)
    }

    /// Opens the model of a brain, unless a recording replaces it.
    pub(super) fn api_model(
        &self,
        brain: &BrainConfig,
        place: &str,
        own_key: Option<String>,
    ) -> Result<ApiModel, Error> {
        self.api_model_with(brain, place, own_key, ToolOptions::default())
    }

    fn api_model_with(
        &self,
        brain: &BrainConfig,
        place: &str,
        own_key: Option<String>,
        tool_options: ToolOptions,
    ) -> Result<ApiModel, Error> {
        let filled = |key: &str, text: &Option<String>| self.filled(place, key, text.as_deref());
        let key_variable = brain.provider.key_variable();
        let mut settings = ApiSettings::new(brain.provider)
            .with_stream(brain.stream.unwrap_or(true))
            .with_tool_options(tool_options)
            .with_bearer(brain.auth == Some(AuthForm::Bearer))
            .with_parameters(brain.parameters());
        let mut shares_key = true;
        if let Some(base_url) = filled("base_url", &brain.base_url)? {
            shares_key = brain.provider.shares_key_with(&base_url);
            settings = settings.with_base_url(base_url);
        }
        let own_key = own_key.map(Secret::new);
        if let Some(key) = &own_key {
            self.secrets().add(key_variable.unwrap_or("api_key"), key.clone());
        }
        if let Some(key) = filled("api_key", &brain.api_key)? {
            let key = Secret::new(key);
            self.secrets().add(key_variable.unwrap_or("api_key"), key.clone());
            settings = settings.with_api_key(key);
        } else if !brain.api_key_command.is_empty() {
            let argv = brain.api_key_command.iter().enumerate().map(|(number, word)| {
                let place = format!("{place}/api_key_command/{number}");
                expanded(&self.file, word, &place, false).map_err(|error| self.file.wrong(error))
            });
            let argv = argv.collect::<Result<Vec<_>, _>>()?;
            let source = KeyCommand::new(argv, &self.file.folder, self.secrets().clone());
            settings = settings.with_key_source(Arc::new(source));
        } else if let Some(key) = own_key.filter(|_| shares_key) {
            // Any other server gets the provider's key only where the app file says so.
            settings = settings.with_api_key(key);
        }
        if let Some(seconds) = brain.timeout_seconds {
            settings = settings.with_timeout(Duration::from_secs(seconds.get().into()));
        }
        if let Some(PricesConfig { input, cached_input, cache_write, output }) = brain.prices {
            settings = settings.with_prices(Prices { input, cached_input, cache_write, output });
        }
        // The operator wrote the address of the model's server, so any address is allowed.
        let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })
            .map_err(|error| Error::Part { part: "the HTTP client".into(), message: error.to_string() })?;
        Ok(ApiModel::new(settings, &http)?)
    }

    /// Returns the text of a key, with the variables in it; `None` where it is absent or empty.
    fn filled(&self, place: &str, key: &str, text: Option<&str>) -> Result<Option<String>, Error> {
        let Some(text) = text else { return Ok(None) };
        let filled = expanded(&self.file, text, &format!("{place}/{key}"), false)
            .map_err(|error| self.file.wrong(error))?;
        Ok(Some(filled).filter(|text| !text.is_empty()))
    }
}
