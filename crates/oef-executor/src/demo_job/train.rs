//! The loop of the demonstration job.

use super::args::Args;
use super::checkpoint::{Checkpoint, Event, Lines};
use super::speeds::speed;
use crate::launch::StopSignal;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// "I saved my work and want to go on later."
const SAVED: u8 = 75;

/// How soon a job in the middle of a long step notices that it should stop.
const SLICE: Duration = Duration::from_millis(20);

/// Runs the demonstration job: `--steps N --model NAME --step-ms X --checkpoint-every K`, each with a
/// default. Outside of OEF it runs in the current folder.
pub fn run(args: &[OsString]) -> ExitCode {
    let trained = match Args::parse(args) {
        Ok(args) => Job::new(args).and_then(|mut job| job.train()),
        Err(message) => Err(io::Error::other(message)),
    };
    match trained {
        Ok(Done::All) => ExitCode::SUCCESS,
        Ok(Done::Saved) => ExitCode::from(SAVED),
        Err(error) => {
            let _ = writeln!(io::stderr(), "demo job: {error}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    All,
    Saved,
}

/// A line of the progress file.
#[derive(Debug, Serialize)]
struct Progress {
    step: u64,
    throughput: f64,
    loss: f64,
    checkpoint: u64,
}

struct Job {
    args: Args,
    folder: PathBuf,
    is_first: bool,
    id: String,
    generation: String,
    step_time: Duration,
    stop: Arc<AtomicBool>,
    progress: Option<Lines>,
    /// Only the first worker leaves traces and checkpoints: they are the gang's.
    trace: Option<Lines>,
    saved: u64,
}

impl Job {
    fn new(args: Args) -> io::Result<Job> {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let stop = Arc::new(AtomicBool::new(false));
        let signal = StopSignal::from_name(&variable("OEF_STOP_SIGNAL")).unwrap_or_default();
        signal_hook::flag::register(number(signal), Arc::clone(&stop))?;
        let folder = match std::env::var_os("OEF_CHECKPOINT_DIR") {
            Some(folder) => PathBuf::from(folder),
            None => std::env::current_dir()?,
        };
        let is_first = matches!(variable("RANK").as_str(), "" | "0");
        let gpu_type = variable("OEF_GPU_TYPE");
        let seconds = args.step_ms / 1000.0 / speed(&args.model, &gpu_type);
        let progress = std::env::var_os("OEF_PROGRESS_FILE").map(PathBuf::from);
        let trace = is_first.then(|| Lines::open(&folder.join("trace.jsonl"))).transpose()?;
        Ok(Job {
            args,
            is_first,
            id: variable("OEF_JOB_ID"),
            generation: variable("OEF_GENERATION"),
            step_time: Duration::from_secs_f64(seconds),
            stop,
            progress: progress.map(|path| Lines::open(&path)).transpose()?,
            trace,
            saved: 0,
            folder,
        })
    }

    fn train(&mut self) -> io::Result<Done> {
        let mut now = Checkpoint::load(&self.folder)?;
        self.saved = now.step;
        self.leave("start", now.step)?;
        writeln!(
            io::stdout(),
            "{} from step {} of {}",
            self.args.model,
            now.step,
            self.args.steps
        )?;
        let begun = (Instant::now(), now.step);
        while now.step < self.args.steps {
            if !self.one_step() {
                self.save(now)?;
                self.leave("end", now.step)?;
                writeln!(io::stdout(), "told to stop; saved step {}", now.step)?;
                return Ok(Done::Saved);
            }
            now = Checkpoint { step: now.step + 1, loss: learn(now.loss, now.step) };
            self.leave("step", now.step)?;
            if now.step.is_multiple_of(self.args.checkpoint_every) {
                self.save(now)?;
            }
            self.tell(now, begun)?;
        }
        self.save(now)?;
        self.leave("end", now.step)?;
        writeln!(io::stdout(), "done after {} steps; loss {:.4}", now.step, now.loss)?;
        Ok(Done::All)
    }

    /// One step's time; false if it was told to stop meanwhile.
    fn one_step(&self) -> bool {
        let end = Instant::now() + self.step_time;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            sleep(left.min(SLICE));
        }
    }

    fn save(&mut self, now: Checkpoint) -> io::Result<()> {
        if self.is_first {
            now.save(&self.folder)?;
            self.leave("checkpoint", now.step)?;
        }
        self.saved = now.step;
        Ok(())
    }

    fn tell(&mut self, now: Checkpoint, begun: (Instant, u64)) -> io::Result<()> {
        let seconds = begun.0.elapsed().as_secs_f64().max(1e-9);
        let throughput = (now.step - begun.1) as f64 / seconds;
        let checkpoint = self.saved;
        let line = Progress { step: now.step, throughput, loss: now.loss, checkpoint };
        self.progress.as_mut().map_or(Ok(()), |progress| progress.append(&line))
    }

    fn leave(&mut self, event: &'static str, step: u64) -> io::Result<()> {
        let event = Event::new(event, &self.id, &self.generation, step);
        self.trace.as_mut().map_or(Ok(()), |trace| trace.append(&event))
    }
}

/// A little arithmetic that makes the loss fall, fast at first, and not quite evenly.
fn learn(loss: f64, step: u64) -> f64 {
    let noise = ((step.wrapping_mul(2_654_435_761) >> 7) % 1000) as f64 / 1000.0;
    loss * (1.0 - 0.01 * noise) + 0.0005
}

fn number(signal: StopSignal) -> i32 {
    match signal {
        StopSignal::Term => SIGTERM,
        StopSignal::Int => SIGINT,
        StopSignal::Usr1 => SIGUSR1,
        StopSignal::Usr2 => SIGUSR2,
    }
}
