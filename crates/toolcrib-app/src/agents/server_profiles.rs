//! The profiles of models that their servers report: context windows and capabilities that the app file does not set.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use toolcrib_agent::api::ServerProfile;

use super::key_command::own_key;
use crate::sections::agents::{AgentConfig, BrainConfig, brain_place};
use crate::{App, AppFile};

/// The total time to wait for servers to report their models.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The profiles that the servers of models reported.
#[derive(Default)]
pub(super) struct ServerProfiles {
    asked: OnceCell<()>,
    /// By the ids of the agents, and the positions of their models.
    known: Mutex<BTreeMap<(String, usize), ServerProfile>>,
}

impl ServerProfiles {
    /// Returns the context window of an agent's model as known so far, in tokens.
    pub(super) fn context_window(&self, agent: &AgentConfig) -> u32 {
        let set = agent.brain.context_window.map(NonZeroU32::get);
        set.or_else(|| self.of(agent, 0).context_window)
            .unwrap_or_else(|| agent.brain.provider.default_context_window())
    }

    /// Returns the agent with the capabilities of its models that the app file does not set, as known so far.
    pub(super) fn completed(&self, agent: &AgentConfig) -> AgentConfig {
        let mut agent = agent.clone();
        for number in 0..=agent.brain.fallback.len() {
            let profile = self.of(&agent, number);
            if let Some(brain) = agent.brain_mut(number) {
                brain.native_tool_use = brain.native_tool_use.or(profile.calls_tools);
                brain.images = brain.images.or(profile.sees_pictures);
            }
        }
        agent
    }

    fn of(&self, agent: &AgentConfig, number: usize) -> ServerProfile {
        self.known.lock().get(&(agent.id.clone(), number)).copied().unwrap_or_default()
    }

    /// Asks the servers of the models, once, and tells when that is over.
    pub(super) async fn ask(&self, app: &App, over: impl FnOnce()) {
        let ask = async {
            let end = Instant::now() + MAX_WAIT;
            let mut running = Vec::new();
            for (position, agent) in app.config.agents.iter().enumerate() {
                for (number, brain) in
                    agent.brains().enumerate().filter(|(_, brain)| is_asked(&app.file, brain))
                {
                    // What is wrong with the brain is said when it is asked something.
                    let place = brain_place(position, number);
                    let Ok(model) = app.api_model(brain, &place, own_key(&app.file, brain)) else { continue };
                    let name = brain.model.clone();
                    let asked = tokio::spawn(async move { model.server_profile(&name).await });
                    running.push(((agent.id.clone(), number), asked));
                }
            }
            for (key, mut asked) in running {
                match tokio::time::timeout_at(end, &mut asked).await {
                    Ok(Ok(profile)) => {
                        self.known.lock().insert(key, profile);
                    }
                    // Those that answered by then are known.
                    Ok(Err(_)) | Err(_) => asked.abort(),
                }
            }
            over();
        };
        self.asked.get_or_init(|| ask).await;
    }
}

/// Returns true if the server of a model can tell what the app file does not set. A recording that replaces the model asks
/// no server.
fn is_asked(file: &AppFile, brain: &BrainConfig) -> bool {
    let is_replaced = brain.recording.is_some()
        && brain.api_key.is_none()
        && brain.api_key_command.is_empty()
        && brain.provider.key_variable().is_some()
        && own_key(file, brain).is_none();
    let is_other_server = brain.provider.is_local() || brain.base_url.is_some();
    let lacks_capability = brain.native_tool_use.is_none() || brain.images.is_none();
    !is_replaced
        && (brain.context_window.is_none() && (is_other_server || brain.provider.describes_models())
            || lacks_capability && is_other_server)
}
