//! From arguments to what is shown.

use super::args::ReproduceArgs;
use super::{data, page, table, timing};
use crate::experiment::{Experiment, ExperimentError, Id, Lab, Setup, Size, solver_time};
use oef_terminal::document::Document;
use oef_terminal::progress::CountBar;
use oef_terminal::{Complaint, Exit, Failure, Printer, file};

/// How verdicts come about, in words; the same in the report and in JSON.
pub const RULES: [&str; 7] = [
    "Each figure is the median over several draws of models, job sizes and durations; the range is from the least to \
     the greatest draw.",
    "An effect that the paper prints holds when ours has the same sign and at least half of its size, and in part when \
     it has the same sign and at least a tenth of it. A larger effect holds, too.",
    "A direction without a figure holds from one per cent on, and in part below. A direction that more than a quarter \
     of the draws contradict holds at most in part.",
    "Throughputs are the same within 10 %, and in part within 25 %; comparable when they are no more than 5 % lower, and \
     in part 10 %; no envy and no loss against max-min mean none beyond a millionth, and in part 1 %.",
    "The deviation under profile errors holds up to one and a half times the paper's, and in part up to three times; \
     solver times are negligible up to 1 % of a round, and in part up to 10 %.",
    "An experiment holds when all figures that count hold, does not when none does, and holds in part otherwise. Figures \
     for comparison do not count.",
    "What counts is the paper's system as it describes it: its rounding for all, its placement for OEF only. How our own \
     rounding and placement change a figure stands beside it.",
];

/// Runs the command.
pub fn run(args: &ReproduceArgs, printer: &Printer) -> Result<Exit, Failure> {
    args.report.as_deref().map_or(Ok(()), file::check_place)?;
    let found = data::read(args.data.as_deref(), printer)?;
    let setup = Setup {
        seed: args.seed,
        size: if args.quick { Size::Quick } else { Size::Full },
        tables: found.tables,
        trace: found.trace,
    };
    let mut ids = if args.only.is_empty() { Id::ALL.to_vec() } else { args.only.clone() };
    ids.sort();
    ids.dedup();
    let experiments = run_all(&ids, &setup, args, printer)?;
    // A file that cannot be written is no reason to lose the result.
    let written = args.report.as_deref().map_or(Ok(()), |path| {
        file::write(path, &page::render(&experiments, args, &found.names))?;
        printer.note(&format!("the report is in {}", path.display()));
        Ok(())
    });
    if args.json {
        let (seed, quick, data) = (args.seed, args.quick, &found.names[..]);
        let experiments = &experiments[..];
        let rules = RULES;
        let document = Document::whole().with("seed", seed).with("quick", quick).with("data", data);
        printer.json(&document.with("rules", rules).with("experiments", experiments))?;
    } else {
        printer.result(&table::render(&experiments))?;
    }
    written.map(|()| Exit::Done)
}

fn run_all(
    ids: &[Id],
    setup: &Setup,
    args: &ReproduceArgs,
    printer: &Printer,
) -> Result<Vec<Experiment>, Failure> {
    let bar = CountBar::new(printer, ids.len() as u64, "");
    let mut watch = |what: &str| bar.say(what);
    let mut lab = Lab::new(setup, &mut watch);
    let mut experiments = Vec::new();
    for &id in ids {
        bar.set(experiments.len() as u64);
        experiments.push(match id {
            Id::J => {
                bar.say(id.title());
                solver_time(&timing::measure(args.quick, args.seed)?)
            }
            _ => lab.run(id).map_err(failure)?,
        });
    }
    Ok(experiments)
}

/// All inputs are ours or were checked: what goes wrong here is a limit, not the user's mistake.
fn failure(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::Solve(error) => error.into(),
        other => Failure::limit(Complaint::new(other.to_string())),
    }
}
