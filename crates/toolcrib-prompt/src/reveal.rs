//! Tools that are offered after their schemas were read, or after a search found them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use toolcrib_model::JsonObject;
use toolcrib_model::tool::DiscoveryStep;

use crate::injection::Reveal;
use crate::{Injection, OfferedTool, Plan};

/// The tools that are offered after a call has read their schemas, with [`Reveal::Append`], or after a search found
/// them, in native mode.
///
/// ```
/// # use toolcrib_model::{QualifiedName, Tool};
/// # use toolcrib_prompt::{InjectionMode, InjectionSettings, Plan, WireNames};
/// # use toolcrib_prompt::injection::Reveal;
/// # let look = Tool::new(QualifiedName::new("own", "look")?).with_metadata("discovery", true);
/// # let look = look.with_metadata("discovery_step", "inspect");
/// # let tools = [look, Tool::new(QualifiedName::new("shop", "price")?)];
/// # let mut settings = InjectionSettings::default();
/// # (settings.mode, settings.reveal) = (InjectionMode::Discovery, Reveal::Append);
/// # let plan = Plan::new(&tools, &settings, &WireNames::new(&tools, "own", &[]))?;
/// let arguments = serde_json::json!({"name": "shop.price"});
/// let reveals = plan.reveals();
/// let mut found = reveals.by_call("look", arguments.as_object().unwrap());
/// assert_eq!(found.next().unwrap().wire_name, "shop__price");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reveals {
    /// The wire names of the tools that read schemas.
    readers: BTreeSet<String>,
    tools: Vec<OfferedTool>,
    /// The indexes of the tools, by each spelling of their names.
    spellings: BTreeMap<String, Vec<usize>>,
}

impl Plan {
    /// Returns the tools that this plan offers later; none unless its mode is native or it appends them.
    pub fn reveals(&self) -> Reveals {
        let mut reveals = Reveals::default();
        if self.mode != Injection::Native && self.reveal == Reveal::Execute {
            return reveals;
        }
        let readers = self.offered.iter().filter(|tool| tool.step == Some(DiscoveryStep::Inspect));
        reveals.readers = readers.map(|tool| tool.wire_name.clone()).collect();
        for tool in self.findable() {
            let place = reveals.tools.len();
            for spelling in [tool.name.dotted(), tool.name.to_string(), tool.wire_name.clone()] {
                reveals.spellings.entry(spelling).or_default().push(place);
            }
            reveals.tools.push(tool.clone());
        }
        reveals
    }
}

impl Reveals {
    /// Returns the tools that this call asks for, with their overloads.
    pub fn by_call(&self, wire_name: &str, arguments: &JsonObject) -> impl Iterator<Item = &OfferedTool> {
        let is_reader = self.readers.contains(wire_name);
        let named = arguments.values().filter_map(Value::as_str).filter(move |_| is_reader);
        named.flat_map(|name| self.named(name))
    }

    /// Returns the tool with this name in any spelling, and its overloads.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &OfferedTool> {
        let places = self.spellings.get(name.trim()).into_iter().flatten();
        places.filter_map(|place| self.tools.get(*place))
    }
}
