//! Figures about checkpoints that are brought from host to host.

use super::{ByName, by_name, seconds};
use oef_executor::checkpoints::{Transfer, TransferResult};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

#[derive(Debug)]
pub(super) struct TransferFigures {
    ended: ByName,
    bytes: Counter,
    took: Histogram,
}

impl TransferFigures {
    /// All of them, at zero.
    pub fn register(registry: &mut Registry) -> Self {
        let help = "Checkpoints that were to be brought from another host, by what became of it";
        let results = TransferResult::ALL.map(TransferResult::name);
        let ended = by_name(registry, "checkpoint_transfers", help, "result", results);
        let bytes = Counter::default();
        let help = "What came over the line of checkpoints that came whole";
        registry.register_with_unit("checkpoint_transfer", help, Unit::Bytes, bytes.clone());
        let help = "Bringing a checkpoint, all tries together, while its job holds its GPUs";
        // From an eighth of a second to more than the hour that it may take by default.
        let buckets = exponential_buckets(0.125, 3.0, 11).collect();
        TransferFigures {
            ended,
            bytes,
            took: seconds(registry, "checkpoint_transfer", help, buckets),
        }
    }

    pub fn count(&self, transfer: &Transfer) {
        self.ended.get_or_create(&[("result", transfer.result.name())]).inc();
        self.bytes.inc_by(transfer.bytes);
        self.took.observe(transfer.took.seconds());
    }
}
