//! What a link or a page may tell.

use clap::{Args, ValueEnum};
use perftab_core::{Disclosure, Privacy, Rename};

/// What a link or a page may tell beyond its default, and less.
#[derive(Debug, Clone, Default, Args)]
pub struct PrivacyArgs {
    /// Also include folders, command-line, host, source, assembly; or all
    #[arg(long, value_name = "PART,…", value_delimiter = ',', hide_possible_values = true)]
    pub include: Vec<Part>,
    /// Omit functions, own-functions, dsos, processes, files, …
    #[arg(long, value_name = "PART,…", value_delimiter = ',', hide_possible_values = true)]
    pub hide: Vec<Part>,
    /// Replace matches in all texts with TEXT, or with hidden-N
    #[arg(long, value_name = "REGEX[=TEXT]")]
    pub rename: Vec<Rename>,
}

/// What can be told or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// All that there is.
    All,
    /// Names of functions.
    Functions,
    /// Those outside the system's libraries and the kernel.
    OwnFunctions,
    /// File names of DSOs.
    Dsos,
    /// Folders, wherever they stand.
    Folders,
    /// Identities.
    BuildIds,
    /// Source files and lines.
    Files,
    /// Names of processes and threads.
    Processes,
    /// The recorder's arguments.
    CommandLine,
    /// Host name, kernel, architecture.
    Host,
    /// When it was.
    Clock,
    /// What stands at hot lines, from source files of this machine.
    Source,
    /// Hot instructions as text, from the binaries.
    Assembly,
    /// Of code without a name, and of instructions in hot functions.
    Addresses,
    /// What they say.
    Warnings,
}

impl PrivacyArgs {
    /// True if nothing was chosen.
    pub fn is_default(&self) -> bool {
        self.include.is_empty() && self.hide.is_empty() && self.rename.is_empty()
    }

    /// What is hidden is, whatever is told.
    pub fn privacy(&self) -> Privacy {
        let mut privacy = Privacy { renames: self.rename.clone(), ..Privacy::default() };
        for (parts, tell) in
            [(&self.include, Disclosure::Included), (&self.hide, Disclosure::LeftOut)]
        {
            for part in parts {
                choose(&mut privacy, *part, tell);
            }
        }
        privacy
    }
}

fn choose(privacy: &mut Privacy, part: Part, tell: Disclosure) {
    let chosen = match part {
        Part::All => return privacy.parts_mut().into_iter().for_each(|part| *part = tell),
        Part::Functions => {
            privacy.own_functions = tell;
            &mut privacy.system_functions
        }
        Part::OwnFunctions => &mut privacy.own_functions,
        Part::Dsos => &mut privacy.dsos,
        Part::Folders => &mut privacy.folders,
        Part::BuildIds => &mut privacy.build_ids,
        Part::Files => &mut privacy.files,
        Part::Processes => &mut privacy.processes,
        Part::CommandLine => &mut privacy.command_line,
        Part::Host => &mut privacy.host,
        Part::Clock => &mut privacy.clock,
        Part::Source => &mut privacy.source,
        Part::Assembly => &mut privacy.assembly,
        Part::Addresses => &mut privacy.addresses,
        Part::Warnings => &mut privacy.warnings,
    };
    *chosen = tell;
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        privacy: PrivacyArgs,
    }

    fn privacy(arguments: &[&str]) -> Result<Privacy, String> {
        let arguments = ["x"].iter().chain(arguments);
        let parsed = Command::try_parse_from(arguments).map_err(|error| error.to_string())?;
        Ok(parsed.privacy.privacy())
    }

    #[test]
    fn parts_are_told_and_hidden() {
        assert_eq!(privacy(&[]), Ok(Privacy::default()));
        assert_eq!(privacy(&["--include", "all"]), Ok(Privacy::everything()));
        let some =
            privacy(&["--include", "folders,host", "--hide", "own-functions", "--hide=host"]);
        let (told, left_out) = (Disclosure::Included, Disclosure::LeftOut);
        let is = Privacy { folders: told, own_functions: left_out, ..Privacy::default() };
        assert_eq!(some, Ok(is));
        assert!(privacy(&["--hide", "secrets"]).is_err());
    }

    #[test]
    fn a_pattern_that_cannot_be_says_why() {
        assert_eq!(privacy(&["--rename", "a=b", "--rename=c"]).map(|it| it.renames.len()), Ok(2));
        let why = privacy(&["--rename", "a*"]).expect_err("it matches everywhere");
        assert!(why.contains("matches the empty text"), "{why}");
    }
}
