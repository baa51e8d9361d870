//! Labels as types, so that no two places spell one in two ways.

use crate::daemon::NoticeEnd;
use crate::invariants::Invariant;
use oef_api::types::JobState;
use oef_executor::checkpoints::TransferResult;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use std::fmt::{self, Write};

/// A job's state by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StateName(pub JobState);

impl EncodeLabelValue for StateName {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        encoder.write_str(self.0.name())
    }
}

/// An invariant by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InvariantName(pub Invariant);

impl EncodeLabelValue for InvariantName {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        encoder.write_str(self.0.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct InvariantLabels {
    pub name: InvariantName,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct NodeGpuLabels {
    pub node: String,
    pub gpu: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct EndLabels {
    pub state: StateName,
}

/// What became of a notice, by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NoticeName(pub NoticeEnd);

impl EncodeLabelValue for NoticeName {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        encoder.write_str(self.0.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct NoticeLabels {
    pub result: NoticeName,
}

/// How a transfer ended, by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ResultName(pub TransferResult);

impl EncodeLabelValue for ResultName {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        encoder.write_str(self.0.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TransferLabels {
    pub result: ResultName,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub route: String,
    pub method: String,
    pub status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TenantLabels {
    pub tenant: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TenantStateLabels {
    pub tenant: String,
    pub state: LiveState,
}

/// What a live job is doing, as far as its tenant's figures tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LiveState {
    Queued,
    Running,
}

impl EncodeLabelValue for LiveState {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        encoder.write_str(match self {
            LiveState::Queued => "queued",
            LiveState::Running => "running",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TenantTypeLabels {
    pub tenant: String,
    pub r#type: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct GpuLabels {
    pub r#type: String,
    pub state: GpuUse,
}

/// What a GPU is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum GpuUse {
    Busy,
    Idle,
    Down,
}

impl EncodeLabelValue for GpuUse {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        encoder.write_str(match self {
            GpuUse::Busy => "busy",
            GpuUse::Idle => "idle",
            GpuUse::Down => "down",
        })
    }
}
