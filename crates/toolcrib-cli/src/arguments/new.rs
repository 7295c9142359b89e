//! The arguments of `new`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Args, Debug)]
pub(crate) struct New {
    #[command(subcommand)]
    pub(crate) command: NewCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NewCommand {
    /// A crate with a module of one tool, and its tests, in a folder of its name.
    Module {
        /// The name of the module, which is also that of the crate.
        name: String,
        /// The sources of Toolcrib: a folder, or the URL of their Git repository.
        #[arg(long, value_name = "FOLDER|URL")]
        toolcrib: String,
    },
    /// A module of programs: a folder with a manifest and a program of one tool.
    Exec {
        /// The name of the module and of the folder.
        name: String,
        /// The language of the program.
        #[arg(long, value_enum, default_value_t)]
        language: Language,
    },
    /// A file with one tool, which a command line runs.
    ToolFile {
        /// The namespace of the tool, and the name of the file.
        name: String,
    },
    /// A skill, in the folder `skills`.
    Skill {
        /// The name of the skill.
        name: String,
    },
}

/// The language of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Python 3, without packages.
    #[default]
    Python,
    /// Bash.
    Bash,
}
