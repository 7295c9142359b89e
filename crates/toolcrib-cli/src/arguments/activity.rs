//! The line that a terminal shows while a command works.

use super::{Command, ModelsCommand, TasksCommand};

impl Command {
    /// Returns the text to show when the command takes longer than a moment. `None` for commands that show their progress
    /// themselves, or wait for a person or a client.
    pub(crate) fn activity(&self) -> Option<String> {
        let loading = |app: &std::path::Path| Some(format!("loading {}", app.display()));
        match self {
            Self::Validate(arguments) => Some(format!("checking {}", arguments.app.display())),
            Self::Load(_) => Some("loading the source".to_owned()),
            Self::Tools(arguments) => loading(&arguments.app),
            Self::Trust(arguments) => loading(&arguments.app),
            Self::Show(arguments) => loading(&arguments.app),
            Self::Enable(arguments) | Self::Disable(arguments) => loading(&arguments.app),
            Self::Profile(_) => Some("reading the profiles".to_owned()),
            Self::Why(arguments) => loading(&arguments.app),
            Self::Policy(_) => Some("testing the policy".to_owned()),
            Self::Plan(arguments) => loading(&arguments.app),
            Self::Lint(arguments) => Some(format!("comparing the tools of {}", arguments.app.display())),
            Self::Search(arguments) => Some(format!("searching {}", arguments.app.display())),
            Self::Call(arguments) => Some(format!("calling {}", arguments.name)),
            Self::Script(arguments) => Some(format!("running a script in {}", arguments.app.display())),
            Self::Trace(_) => Some("writing the timeline".to_owned()),
            Self::Registry(_) => Some("asking the registry".to_owned()),
            Self::Import(_) => Some("reading the configurations of clients".to_owned()),
            Self::Install(_) => Some("reading the configuration of the client".to_owned()),
            Self::Eval(_) => Some("measuring the search".to_owned()),
            Self::Doctor(_) => Some("checking what is here".to_owned()),
            Self::Models(arguments) if !matches!(arguments.command, ModelsCommand::Pull { .. }) => {
                Some("opening models".to_owned())
            }
            Self::Tasks(arguments) if !matches!(arguments.command, Some(TasksCommand::Tail)) => {
                loading(&arguments.app)
            }
            Self::Store(_) => Some("opening the store".to_owned()),
            Self::Sessions(arguments) => loading(&arguments.app),
            _ => None,
        }
    }
}
