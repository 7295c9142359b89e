//! The namespaces of modules and sources, each of which has one owner.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolcrib_port::ToolLoader;

use crate::sections::module_entry::ModuleConfig;

/// The owners of namespaces: the modules of an app, and its sources so far.
pub(super) struct NamespaceOwners<'a> {
    modules: &'a BTreeMap<String, ModuleConfig>,
    loaders: Vec<Arc<dyn ToolLoader>>,
}

impl<'a> NamespaceOwners<'a> {
    pub(super) fn new(modules: &'a BTreeMap<String, ModuleConfig>) -> Self {
        Self { modules, loaders: Vec::new() }
    }

    /// Adds a source. Returns an error message where its name or its namespace is that of another one.
    pub(super) fn add(&mut self, loader: &Arc<dyn ToolLoader>) -> Option<String> {
        let conflict = self.conflict(loader.as_ref());
        self.loaders.push(Arc::clone(loader));
        conflict
    }

    fn conflict(&self, loader: &dyn ToolLoader) -> Option<String> {
        let name = loader.source();
        if self.loaders.iter().any(|other| other.source() == name) {
            return Some(format!("duplicate `{name}`; give each a different namespace"));
        }
        let namespace = loader.exclusive_namespace()?;
        if self.modules.contains_key(namespace) {
            return Some(format!(
                "the namespace `{namespace}` is that of the module `{namespace}`; use another one"
            ));
        }
        let mut loaders = self.loaders.iter();
        let owner = loaders.find(|other| other.exclusive_namespace() == Some(namespace))?.source();
        Some(format!("the namespace `{namespace}` is that of `{owner}`; use another one"))
    }
}
