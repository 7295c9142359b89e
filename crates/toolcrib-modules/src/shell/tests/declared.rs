//! What the tools say of themselves.

use toolcrib_model::Risk;

use super::Place;
use crate::tests::declared;

/// The tools, their risks, and words of somebody who wants each.
const TOOLS: &[(&str, Risk, &str)] = &[
    ("run", Risk::High, "exécuter une commande"),
    ("script", Risk::High, "exécuter un script"),
    ("which", Risk::Low, "programme installé"),
    ("env", Risk::Low, "variables d'environnement"),
    ("background_run", Risk::High, "lancer en tâche de fond"),
    ("task_status", Risk::Low, "état d'une tâche"),
    ("task_list", Risk::Low, "lister les tâches"),
    ("task_stop", Risk::Medium, "arrêter une tâche"),
];

#[tokio::test]
async fn each_tool_says_its_risk_and_what_it_changes_and_is_found_in_french() {
    for tool in declared(&Place::with_scripts().module, TOOLS).await {
        assert_eq!(tool.output_parameters["type"], "object", "{}", tool.name);
    }
}
