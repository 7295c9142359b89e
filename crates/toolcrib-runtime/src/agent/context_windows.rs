//! The context windows of models that the app file does not specify.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use toolcrib_app::sections::agents::AgentConfig;

use crate::services::AppServices;

/// The total time to wait for servers to report their context windows.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The context windows that servers reported.
#[derive(Default)]
pub(crate) struct ContextWindows {
    asked: OnceCell<()>,
    /// By the ids of the agents.
    known: Mutex<BTreeMap<String, u32>>,
}

impl AppServices {
    /// Returns the context window of an agent's model as known so far, in tokens.
    pub(crate) fn context_window(&self, agent: &AgentConfig) -> u32 {
        let known = self.windows.known.lock().unwrap_or_else(PoisonError::into_inner);
        let set = agent.brain.context_window.map(NonZeroU32::get);
        set.or_else(|| known.get(&agent.id).copied())
            .unwrap_or_else(|| agent.brain.provider.default_context_window())
    }

    /// See [`Runtime::ask_context_windows`](crate::Runtime::ask_context_windows).
    pub(crate) async fn ask_context_windows(&self) {
        let ask = async {
            for (position, agent) in self.app.config.agents.iter().enumerate() {
                let brain = &agent.brain;
                if brain.context_window.is_some() || !brain.provider.is_local() {
                    continue;
                }
                // What is wrong with the brain is said when it is asked something.
                let Ok(model) = self.open_ai(brain, &format!("/agents/{position}/brain"), None) else {
                    continue;
                };
                if let Some(window) = model.context_window(&brain.model).await {
                    let mut known = self.windows.known.lock().unwrap_or_else(PoisonError::into_inner);
                    known.insert(agent.id.clone(), window);
                }
            }
        };
        let ask = async {
            // Those that answered by then are known.
            let _late = tokio::time::timeout(MAX_WAIT, ask).await;
            self.setups.forget();
        };
        self.windows.asked.get_or_init(|| ask).await;
    }
}
