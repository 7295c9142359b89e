//! A sandboxed program that can be started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process;
use std::sync::Arc;

use super::container_client::StartedContainer;
#[cfg(target_os = "linux")]
use super::process_limit::ControlGroup;
use super::{Backend, Sandbox, container_client, start, unavailable};
use crate::Error;
use crate::process::Command;

/// The name of the folder for temporary files in a home directory.
const TEMPORARY: &str = "tmp";

/// Variables that lead to a home directory, and are not inherited.
const HOME_VARIABLES: [&str; 4] = ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];

/// A process that can be started, and becomes the program or starts it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) command: process::Command,
    /// The limits of the program, to be kept until it has ended.
    pub(crate) limit: Option<ResourceLimit>,
    /// True if the process and its descendants bear the mark of the program.
    pub(crate) is_marked: bool,
}

/// The holder of the limits of a started program. Dropping it removes them.
#[derive(Debug)]
pub(crate) enum ResourceLimit {
    /// A control group, which is removed after its processes were collected.
    #[cfg(target_os = "linux")]
    Group(#[expect(dead_code, reason = "it is kept, and removed by its drop")] ControlGroup),
    /// A container, which ends with the program.
    Container(Arc<StartedContainer>),
}

impl ResourceLimit {
    /// Returns the container, if the started process is the client of its engine.
    pub(crate) fn container(&self) -> Option<&Arc<StartedContainer>> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Group(_) => None,
            Self::Container(container) => Some(container),
        }
    }

    /// Ends the processes that are not descendants of this one, after the started process was collected.
    pub(crate) fn end(&self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Group(_) => {}
            Self::Container(container) => container.remove(),
        }
    }
}

impl Sandbox {
    /// Returns true if the program is one of an image.
    pub(crate) fn is_container(&self) -> bool {
        matches!(self.backend, Backend::Container(_))
    }

    /// Returns the process that starts a program, which is at a path and has these variables and this mark.
    pub(crate) fn prepare(
        &self,
        command: &Command,
        (path, mark): (&Path, &str),
        mut variables: BTreeMap<String, OsString>,
    ) -> Result<Prepared, Error> {
        if let Backend::Container(container) = &self.backend {
            return container_client::prepare(self, container, command, (path, mark), variables);
        }
        self.check()?;
        self.enter_home(command, &mut variables)?;
        start::prepare(self, command, path, &variables)
    }

    /// Creates the home directory, and names it in the variables.
    pub(super) fn enter_home(
        &self,
        command: &Command,
        variables: &mut BTreeMap<String, OsString>,
    ) -> Result<(), Error> {
        let temporary = self.home.join(TEMPORARY);
        create_private(&temporary).map_err(|error| {
            unavailable(format!("the home directory {} cannot be created: {error}", self.home.display()))
        })?;
        variables
            .retain(|name, _| command.env.contains_key(name) || !HOME_VARIABLES.contains(&name.as_str()));
        for (name, value) in [("HOME", &self.home), ("TMPDIR", &temporary)] {
            if !command.env.contains_key(name) {
                variables.insert(name.to_owned(), value.clone().into_os_string());
            }
        }
        Ok(())
    }
}

/// Creates a folder that only this user can open.
fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
