//! A bar over the experiments, where a terminal is watched.

use indicatif::{ProgressBar, ProgressStyle};
use oef_terminal::Printer;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(120);

/// How far the experiments are; gone when dropped.
#[derive(Debug)]
pub struct Bar {
    bar: Option<ProgressBar>,
}

impl Bar {
    /// A bar for so many experiments.
    pub fn new(printer: &Printer, experiments: usize) -> Self {
        let bar = printer.is_watched().then(|| {
            let bar = ProgressBar::new(experiments as u64);
            let template = "{bar:26.cyan} {pos}/{len} {elapsed:>4} {wide_msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(TICK);
            bar
        });
        Bar { bar }
    }

    /// Says what is being run.
    pub fn at(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_string());
        }
    }

    /// One experiment is done.
    pub fn done(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
