//! Jobs in Python that are started by forking a process which has their imports done: what such a job looks like.
//!
//! The process is a *launcher*, `python -m oef.launcher`; beside it stands its client, which the worker becomes.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Modules to import; more is a list of everything that is installed.
const MODULES_MAX: usize = 32;

/// A module's name with its dots.
const MODULE_BYTES: usize = 200;

/// How a worker finds its launcher: written before the runner starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Warm {
    /// A launcher is there.
    Launcher {
        /// Where it listens.
        socket: PathBuf,
        /// The program that asks it, in Python.
        client: PathBuf,
    },
    /// None can be, and why.
    Plain(String),
}

impl Warm {
    /// The command as a worker executes it, with a word for its error stream if it is the plain one.
    pub(crate) fn command(self, command: &[String]) -> (Vec<String>, Option<String>) {
        let plain = |why| (command.to_vec(), Some(why));
        match self {
            Warm::Plain(why) => plain(why),
            Warm::Launcher { client, .. } if !client.exists() => {
                plain(format!("`{}` is not there any more", client.display()))
            }
            Warm::Launcher { socket, client } => match interpreter_words(command) {
                None => plain("its command is not a script in Python".to_string()),
                Some(words) => {
                    let mut warm = command[..words].to_vec();
                    let text = |path: PathBuf| path.display().to_string();
                    warm.extend([text(client), "--socket".to_string(), text(socket)]);
                    warm.extend_from_slice(&command[words..]);
                    (warm, None)
                }
            },
        }
    }
}

/// What is wrong with a job that wants these modules imported before it starts; nothing if it can be done.
pub fn warm_problem(command: &[String], modules: &[String]) -> Option<String> {
    if modules.is_empty() {
        return None;
    }
    if modules.len() > MODULES_MAX {
        return Some(format!(
            "{} modules are more than the {MODULES_MAX} of a launcher",
            modules.len()
        ));
    }
    if let Some(odd) = modules.iter().find(|module| !is_module(module)) {
        return Some(format!("`{}` is not the name of a Python module", odd.escape_debug()));
    }
    if interpreter_words(command).is_none() {
        let example = "python train.py";
        return Some(format!(
            "only a command that is Python with a script or a module can start warm, such as `{example}`"
        ));
    }
    None
}

fn is_module(name: &str) -> bool {
    let is_word = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    name.len() <= MODULE_BYTES && name.split('.').all(is_word)
}

/// How many words of a command are the interpreter and its options, if a script or a module follows them.
pub(crate) fn interpreter_words(command: &[String]) -> Option<usize> {
    let name = Path::new(command.first()?).file_name()?.to_str()?;
    let version = name.strip_prefix("python")?;
    if !version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == 't') {
        return None;
    }
    let mut at = 1;
    loop {
        let word = command.get(at)?.as_str();
        match word {
            "-m" => return command.get(at + 1).map(|_| at),
            "-W" | "-X" => at += 2,
            _ if word.starts_with("-W") || word.starts_with("-X") => at += 1,
            _ if !word.starts_with('-') => return Some(at),
            _ if word.len() > 1 && word[1..].chars().all(|c| "bBdEiIOPqsSuv".contains(c)) => {
                at += 1
            }
            // A text, the standard input, or a question.
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn commands_that_are_a_script_in_python() {
        let cases = [
            ("python train.py --lr 1", Some(1)),
            ("/usr/bin/python3.11 -u -OO train.py", Some(3)),
            ("python3.13t -W error -X dev -Wd -m train x", Some(6)),
            ("python -uB x", Some(2)),
            ("python", None),
            ("python -u", None),
            ("python -m", None),
            ("python -c pass", None),
            ("python -", None),
            ("python --version", None),
            ("torchrun train.py", None),
            ("python-config x", None),
            ("bash train.sh", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(interpreter_words(&words(text)), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_start_warm_is_told() {
        let check = |command: &str, modules: &str| warm_problem(&words(command), &words(modules));
        assert_eq!(check("bash x.sh", ""), None);
        assert_eq!(check("python x.py", "torch torch.nn _a1"), None);
        let cases = [
            ("bash x.sh", "torch", "only a command that is Python"),
            ("python x.py", "torch,os", "`torch,os` is not the name"),
            ("python x.py", "1a", "`1a` is not the name"),
            ("python x.py", "a..b", "`a..b` is not the name"),
        ];
        for (command, modules, said) in cases {
            assert!(check(command, modules).is_some_and(|why| why.contains(said)), "{modules}");
        }
        assert!(check("python x.py", &"m ".repeat(33)).is_some());
    }

    #[test]
    fn the_client_stands_where_the_script_was() {
        let client = std::env::current_exe().expect("a file that is there");
        let warm = Warm::Launcher { socket: "/state/warm/1/socket".into(), client: client.clone() };
        let (command, word) = warm.command(&words("python -u train.py x"));
        let client = client.display().to_string();
        let expected =
            ["python", "-u", &client, "--socket", "/state/warm/1/socket", "train.py", "x"];
        assert_eq!((command, word), (expected.map(str::to_string).to_vec(), None));
        let gone = Warm::Launcher { socket: "/s".into(), client: "/nowhere/warm.py".into() };
        let (command, word) = gone.command(&words("python x.py"));
        assert_eq!(command, words("python x.py"));
        assert!(word.is_some_and(|word| word.contains("/nowhere/warm.py")));
    }
}
