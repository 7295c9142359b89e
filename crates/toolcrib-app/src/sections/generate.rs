//! `generate`: data generation.

use toolcrib_datagen::GenerateSettings;
use toolcrib_document::Error;

use super::agents::AgentConfig;
use super::values::unknown;
use crate::AppFile;

/// Checks the section. Opens nothing.
pub(crate) fn check(
    section: Option<&GenerateSettings>,
    agents: &[AgentConfig],
    file: &AppFile,
    errors: &mut Vec<Error>,
) {
    let Some(section) = section else { return };
    if let Some((key, message)) = section.problem() {
        errors.push(file.error_at(&format!("/generate/{key}"), message));
    }
    let of_stages = section.stages.iter().enumerate();
    let of_stages = of_stages.map(|(at, stage)| (format!("stages/{at}/model"), stage.model.as_deref()));
    let models = [("model".to_owned(), section.model.as_deref())].into_iter().chain(of_stages);
    for (place, name) in models.filter_map(|(place, name)| Some((place, name?))) {
        if !agents.iter().any(|agent| agent.id == name) {
            let ids: Vec<_> = agents.iter().map(|agent| agent.id.as_str()).collect();
            errors.push(file.error_at(&format!("/generate/{place}"), unknown("agent", name, &ids)));
        }
    }
}
