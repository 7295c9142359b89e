//! The tools that a hook or a rule applies to.

use toolcrib_model::name::fits_glob;
use toolcrib_model::{Risk, Tool};

use crate::SettingError;

/// The maximum number of patterns of one list.
const MAX_TOOLS: usize = 256;

/// The maximum length of a pattern, in bytes.
const MAX_TOOL_BYTES: usize = 600;

/// The tools that a hook or a rule applies to, by name and risk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Globs of dotted names; all if empty.
    globs: Vec<String>,
    min_risk: Option<Risk>,
}

impl Selection {
    pub(crate) fn new(tools: &[String], min_risk: Option<Risk>) -> Result<Self, SettingError> {
        if tools.len() > MAX_TOOLS {
            let message = format!("there are {} patterns, and at most {MAX_TOOLS} are taken", tools.len());
            return Err(SettingError::new("/tools", message));
        }
        for (position, tool) in tools.iter().enumerate() {
            let is_named = tool.contains('*') || tool.contains('.') || tool.contains("::");
            if !is_named || tool.len() > MAX_TOOL_BYTES {
                let message =
                    format!("`{tool}` is not the name of a tool; write `namespace.name`, or a glob");
                return Err(SettingError::new(format!("/tools/{position}"), message));
            }
        }
        let globs = tools.iter().map(|tool| tool.replacen("::", ".", 1)).collect();
        Ok(Self { globs, min_risk })
    }

    /// Returns true for a tool that is meant. A shaped tool is also meant if its original is: another name or risk does
    /// not free it of a check.
    pub(crate) fn fits(&self, tool: &Tool) -> bool {
        let originals = tool.view().into_iter().flat_map(|view| &view.originals);
        let mut tools = [tool].into_iter().chain(originals.map(|original| original.tool.as_ref()));
        tools.any(|tool| self.fits_one(tool))
    }

    fn fits_one(&self, tool: &Tool) -> bool {
        let name = tool.name.dotted();
        let is_named = self.globs.is_empty() || self.globs.iter().any(|glob| fits_glob(glob, &name));
        is_named && self.min_risk.is_none_or(|least| tool.traits().risk >= least)
    }
}
