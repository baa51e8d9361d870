//! The options of the demonstration job.

use std::ffi::OsString;

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Args {
    /// Steps until all work is done.
    pub(super) steps: u64,
    /// Which row of the table of speeds.
    pub(super) model: String,
    /// How long a step takes on a GPU of speed 1.
    pub(super) step_ms: f64,
    /// Steps between checkpoints.
    pub(super) checkpoint_every: u64,
}

/// Longer steps would look like a job that hangs.
const MAX_STEP_MS: f64 = 3_600_000.0;

impl Args {
    pub(super) fn parse(args: &[OsString]) -> Result<Args, String> {
        let mut parsed =
            Args { steps: 100, model: "resnet50".into(), step_ms: 100.0, checkpoint_every: 10 };
        let mut rest = args.iter();
        while let Some(option) = rest.next() {
            let option = option.to_string_lossy();
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, value.to_string()),
                None => {
                    let value = rest.next().ok_or_else(|| format!("`{option}` needs a value"))?;
                    (option.as_ref(), value.to_string_lossy().into_owned())
                }
            };
            parsed.set(name, &value)?;
        }
        Ok(parsed)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let count = || {
            let number = value.parse::<u64>().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("`{name} {value}`: a whole number from 1 is needed"))
        };
        match name {
            "--steps" => self.steps = count()?,
            "--checkpoint-every" => self.checkpoint_every = count()?,
            "--model" => self.model = value.to_string(),
            "--step-ms" => {
                let length = value.parse::<f64>().ok();
                let length = length.filter(|length| (0.0..=MAX_STEP_MS).contains(length));
                self.step_ms = length.ok_or_else(|| {
                    format!("`{name} {value}`: milliseconds from 0 to {MAX_STEP_MS} are needed")
                })?;
            }
            _ => {
                return Err(format!(
                    "there is no option `{name}`; there are --steps, --model, --step-ms and \
                     --checkpoint-every"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options() {
        let args = parse("--steps 7 --model=lstm --step-ms 2.5 --checkpoint-every 3");
        let expected = Args { steps: 7, model: "lstm".into(), step_ms: 2.5, checkpoint_every: 3 };
        assert_eq!(args, Ok(expected));
        for (line, word) in [
            ("--steps", "needs a value"),
            ("--steps 0", "from 1"),
            ("--steps -3", "from 1"),
            ("--step-ms NaN", "milliseconds"),
            ("--speed 3", "no option `--speed`"),
        ] {
            let message = parse(line).expect_err(line);
            assert!(message.contains(word), "{message}");
        }
    }
}
