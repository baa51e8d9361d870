//! Wire types, one file per noun.

mod access;
mod api_error;
mod cluster;
mod event;
mod fairness;
mod job;
mod job_change;
mod job_query;
mod job_submit;
mod live;
mod notification;
mod page;
mod round;
mod round_problem;
mod scenario;
mod settings;
mod tenant;
mod terminal;
mod token;
mod usage;
mod whatif;
mod workload;

pub use access::Access;
pub use api_error::ApiError;
pub use cluster::{
    Cluster, GpuRef, GpuTypeStatus, Node, NodeGpu, NodeHealth, NodePatch, NodeWindow,
};
pub use event::{Event, EventTopic};
pub use fairness::{DayFairness, EnvyEntry, Fairness, FairnessPoint, TenantFairness};
pub use job::{
    Ending, Exit, Job, JobState, Measured, Progress, ReasonData, RestartBudget, Run, StateChange,
    Why,
};
pub use job_change::{Blocked, Dependency, DependencyCondition, JobPatch};
pub use job_query::{JobsQuery, LogChunk, LogQuery, LogStream, SubmitQuery};
pub use job_submit::{JobBatch, JobSubmit, Probe, StopSignal, Submitted};
pub use live::{
    Curve, EnvyMatrix, EnvyQuery, JobCurve, LoginCode, Overview, RecentQuery, RecentRounds,
    RoundTick, Series, SeriesQuery, Span, TenantCurve, TenantLine, Timeline, TimelineNode,
    TimelineQuery,
};
pub use notification::{NewNotification, Notice, NoticeTry, Notification, NotificationCreate};
pub use page::{
    Groups, Jobs, Notifications, PageQuery, Rounds, Tenants, Tokens, Workloads, WorkloadsQuery,
};
pub use round::{
    Audit, Grant, LeftOut, Placement, Property, Round, RoundSummary, ShareEntry, SharesAge,
    SolverAnswer, SolverStatus,
};
pub use round_problem::{ProblemGpu, ProblemTenant, ProblemWorkload, RoundProblem};
pub use scenario::{
    Scenario, ScenarioAnswer, ScenarioEffect, ScenarioFigures, ScenarioTenant, ScenarioType,
};
pub use settings::{Info, Settings, SettingsPatch};
pub use tenant::{
    Group, GroupPut, JobOrder, Limits, PastUsage, Tenant, TenantCreate, TenantPatch, TenantWhy,
};
pub use terminal::{Shell, ShellCreate, Terminal, TerminalWritten};
pub use token::{NewToken, Role, Token, TokenCreate};
pub use usage::{Usage, UsageBy, UsageQuery, UsageRow};
pub use whatif::{ExpectedStart, TenantEffect, WhatIf, WhatIfAnswer, WhatIfChange};
pub use workload::{
    FigureSource, GangFigure, GangPut, GangStanding, GuardNote, Mismatch, Profile, Provenance,
    TypeMark, Workload, WorkloadPut,
};
