//! Runs experiments; what several of them need is run once.

use super::finding::{Experiment, ExperimentError, Id};
use super::setup::Setup;
use super::three_days::ThreeDays;
use super::twenty::Twenty;
use super::{
    beyond, cheating, envy, equal_throughput, incentive, jct, profile_error, second_workload,
    stragglers, throughput, under_report,
};
use oef_core::Mechanism;

/// Runs experiments.
pub struct Lab<'a> {
    setup: &'a Setup,
    watch: &'a mut dyn FnMut(&str),
    twenty: Option<Twenty>,
    three_days: Option<ThreeDays>,
}

impl<'a> Lab<'a> {
    /// A lab. `watch` is told what it is at.
    pub fn new(setup: &'a Setup, watch: &'a mut dyn FnMut(&str)) -> Self {
        Lab { setup, watch, twenty: None, three_days: None }
    }

    /// Runs one experiment. Solver times (j) come from [`solver_time`](super::solver_time()).
    pub fn run(&mut self, id: Id) -> Result<Experiment, ExperimentError> {
        let setup = self.setup;
        (self.watch)(id.title());
        match id {
            Id::A => equal_throughput::run(setup),
            Id::B => cheating::run(setup),
            Id::C => incentive::run(setup),
            Id::D => second_workload::run(setup),
            Id::E => envy::run(setup),
            Id::F => Ok(throughput::experiment(self.twenty()?, Mechanism::Noncooperative)),
            Id::G => Ok(throughput::experiment(self.twenty()?, Mechanism::Cooperative)),
            Id::H => Ok(jct::experiment(self.three_days()?)),
            Id::I => {
                let (twenty, days) = self.both()?;
                Ok(stragglers::experiment(twenty, days))
            }
            Id::J => Err(ExperimentError::NeedsClock),
            Id::K => profile_error::run(setup),
            Id::L => under_report::run(setup),
            Id::M => {
                let (twenty, days) = self.both()?;
                Ok(beyond::experiment(twenty, days))
            }
        }
    }

    fn twenty(&mut self) -> Result<&Twenty, ExperimentError> {
        let known = self.twenty.take();
        let twenty = known.map_or_else(|| Twenty::run(self.setup, self.watch), Ok)?;
        Ok(self.twenty.insert(twenty))
    }

    fn three_days(&mut self) -> Result<&ThreeDays, ExperimentError> {
        let known = self.three_days.take();
        let days = known.map_or_else(|| ThreeDays::run(self.setup, self.watch), Ok)?;
        Ok(self.three_days.insert(days))
    }

    fn both(&mut self) -> Result<(&Twenty, &ThreeDays), ExperimentError> {
        let (setup, twenty, days) = (self.setup, self.twenty.take(), self.three_days.take());
        let twenty = twenty.map_or_else(|| Twenty::run(setup, self.watch), Ok)?;
        let days = days.map_or_else(|| ThreeDays::run(setup, self.watch), Ok)?;
        Ok((self.twenty.insert(twenty), self.three_days.insert(days)))
    }
}
