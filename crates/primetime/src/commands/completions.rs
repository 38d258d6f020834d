//! `primetime completions` and `primetime manual`: what a shell and `man` know of the command, from its own
//! arguments.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;

/// The arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Use them in bash: source <(primetime completions bash)
Install them:     primetime completions bash > /usr/share/bash-completion/completions/primetime")]
pub(crate) struct Completions {
    /// The shell that asks
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// The arguments of `manual`.
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// An existing directory, such as /usr/local/share/man/man1; pages of the same names are replaced
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes the completions to standard output.
pub(crate) fn completions(arguments: &Completions, mut command: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "primetime", &mut script);
    std::io::stdout().write_all(&script).map_err(|error| {
        Failure::set_up(format_args!("cannot write the completions: {error}; name another place for them"))
    })
}

/// Writes a page for the command and each of its subcommands.
pub(crate) fn manual(arguments: &Manual, command: clap::Command) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let failed = |error: std::io::Error| {
        Failure::set_up(format_args!(
            "cannot write the manual to {}: {error}; name an existing directory that you may write",
            directory.display()
        ))
    };
    // Not every step of the generator says which directory is missing.
    fs::read_dir(directory).map_err(failed)?;
    clap_mangen::generate_to(command, directory).map_err(failed)
}
