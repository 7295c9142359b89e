//! Declarations of tools for models that write scripts.

use toolcrib_schema::typescript::{Declared, declarations};

use crate::offered_tool::{MAX_PARAMETERS_BYTES, Role};
use crate::sanitize::defuse_json;
use crate::system_prompt::tools::MAX_TOOLS_SECTION_CHARS;
use crate::{Injection, OfferedTool, Plan};

/// The minimum bytes of a tool if there are many.
const MIN_DECLARATION_BYTES: usize = 200;

/// The end of a block of code, and the same in a string.
const FENCE: &str = "```";
const ESCAPED_FENCE: &str = r"\u0060\u0060\u0060";

impl Plan {
    /// Returns the offered tools as one block of declarations in TypeScript, without hidden characters and call markers:
    /// those that a script can call, which excludes the tools of the runtime. Empty unless the mode is direct and the
    /// model can run scripts.
    pub fn declarations(&self) -> String {
        if self.mode != Injection::Direct || !self.scripts {
            return String::new();
        }
        let tools = self.offered.iter().filter(|tool| tool.role != Role::Discovery && !tool.is_runtime);
        let declared: Vec<Declared<'_>> = tools.map(OfferedTool::declared).collect();
        let room = MAX_TOOLS_SECTION_CHARS / declared.len().max(1);
        let room = room.clamp(MIN_DECLARATION_BYTES, MAX_PARAMETERS_BYTES);
        // Names and values are in strings, where an escape is the same value. The rest are comments.
        defuse_json(&declarations(&declared, room).text).replace(FENCE, ESCAPED_FENCE)
    }
}
