//! The context windows of models that the app file does not specify.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::App;
use crate::sections::agents::AgentConfig;

/// The total time to wait for servers to report their context windows.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The context windows that the servers of models reported.
#[derive(Default)]
pub struct ContextWindows {
    asked: OnceCell<()>,
    /// By the ids of the agents.
    known: Mutex<BTreeMap<String, u32>>,
}

impl ContextWindows {
    /// Returns the context window of an agent's model as known so far, in tokens.
    pub fn of(&self, agent: &AgentConfig) -> u32 {
        let set = agent.brain.context_window.map(NonZeroU32::get);
        set.or_else(|| self.known.lock().get(&agent.id).copied())
            .unwrap_or_else(|| agent.brain.provider.default_context_window())
    }

    /// Asks the servers of the models, once, and tells when that is over.
    pub async fn ask(&self, app: &App, over: impl FnOnce()) {
        let ask = async {
            for (position, agent) in app.config.agents.iter().enumerate() {
                let brain = &agent.brain;
                if brain.context_window.is_some() || !brain.provider.is_local() {
                    continue;
                }
                // What is wrong with the brain is said when it is asked something.
                let Ok(model) = app.api_model(brain, &format!("/agents/{position}/brain"), None) else {
                    continue;
                };
                if let Some(window) = model.context_window(&brain.model).await {
                    self.known.lock().insert(agent.id.clone(), window);
                }
            }
        };
        let ask = async {
            // Those that answered by then are known.
            let _late = tokio::time::timeout(MAX_WAIT, ask).await;
            over();
        };
        self.asked.get_or_init(|| ask).await;
    }
}
