//! One frame of the view.

use super::screen::Screen;
use crate::commands::client::cluster::{LONG_IDLE_S, busy, gibibytes};
use crate::output::jobs::{gpus, progress, time};
use jiff::Timestamp;
use oef_api::types::{JobState, Node, NodeGpu, NodeHealth, Tenant};
use oef_report::format::{figure, span};
use oef_terminal::bars::bar;
use oef_terminal::names::{cut, safe};
use oef_terminal::numbers::{counted, difference};
use oef_terminal::shown;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Table, TableState};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Told apart on light and dark grounds; beyond six tenants they come again, and the name says who it is.
const COLOURS: [Color; 6] =
    [Color::Cyan, Color::Magenta, Color::Yellow, Color::Green, Color::Blue, Color::Red];
const BAR_WIDTH: usize = 12;
/// Wide enough for a job's number and two letters of its tenant.
const GPU_WIDTH: usize = 9;
const NAME_WIDTH: usize = 22;

pub fn draw(frame: &mut Frame<'_>, screen: &Screen, now: Timestamp) {
    let area = frame.area();
    let nodes = u16::try_from(screen.snapshot.cluster.nodes.len()).unwrap_or(u16::MAX);
    let tenants = u16::try_from(screen.snapshot.tenants.len()).unwrap_or(u16::MAX);
    // The jobs get what is left, and at least a third.
    let third = area.height / 3;
    let [head, cluster, shares, jobs, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(nodes.saturating_add(2).min(third)),
        Constraint::Length(tenants.saturating_add(3).min(third)),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(headline(screen), head);
    draw_cluster(frame, screen, cluster);
    draw_tenants(frame, screen, shares);
    draw_jobs(frame, screen, now, jobs);
    frame.render_widget(footline(screen), foot);
    for cell in &mut frame.buffer_mut().content {
        if let Cow::Owned(plain) = shown(cell.symbol()) {
            cell.set_symbol(&plain);
        }
    }
}

/// A tenant's colour, the same in every part of the screen.
fn colour(screen: &Screen, tenant: &str) -> Color {
    let at = screen.snapshot.tenants.iter().position(|known| known.name == tenant);
    at.map_or(Color::Reset, |at| COLOURS[at % COLOURS.len()])
}

fn headline(screen: &Screen) -> Line<'static> {
    let snapshot = &screen.snapshot;
    let (mut all, mut idle) = (0, 0);
    for kind in &snapshot.cluster.types {
        all += kind.capacity;
        idle += kind.idle;
    }
    let running = snapshot.jobs.jobs.iter().filter(|job| job.state == JobState::Running).count();
    let queued = snapshot.jobs.jobs.iter().filter(|job| job.state == JobState::Queued).count();
    let more = if snapshot.jobs.next.is_some() { "+" } else { "" };
    let mechanism =
        snapshot.fairness.as_ref().map_or(String::new(), |f| format!(", {}", safe(&f.mechanism)));
    let text = format!(
        " oef {}: round {}{mechanism}, {}/{all} GPUs in use, {running} run, {queued}{more} wait, up {}",
        safe(&snapshot.info.version),
        snapshot.info.round,
        all.saturating_sub(idle),
        span(snapshot.info.up_s),
    );
    let mut spans = vec![Span::styled(text, Style::new().add_modifier(Modifier::BOLD))];
    if screen.paused {
        spans.push(Span::styled(
            "  PAUSED",
            Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
        ));
    }
    Line::from(spans)
}

fn draw_cluster(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let mut gpus = screen.snapshot.cluster.nodes.iter().flat_map(|node| &node.gpus);
    let title = match gpus.any(|gpu| *gpu != NodeGpu::default()) {
        true => " GPUs: job and tenant on each, how busy it is, and memory used ",
        false => " GPUs: job and tenant on each ",
    };
    let block = Block::new().borders(Borders::TOP).title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let owners: BTreeMap<u64, &str> =
        screen.jobs().iter().map(|job| (job.id, job.tenant.as_str())).collect();
    let nodes = &screen.snapshot.cluster.nodes;
    let height = usize::from(inner.height);
    let shown = if nodes.len() > height { height.saturating_sub(1) } else { nodes.len() };
    let mut lines: Vec<Line<'_>> =
        nodes.iter().take(shown).map(|node| node_line(screen, node, &owners)).collect();
    if shown < nodes.len() {
        lines.push(Line::from(format!("   and {}", counted(nodes.len() - shown, "more node"))));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

fn node_line(screen: &Screen, node: &Node, owners: &BTreeMap<u64, &str>) -> Line<'static> {
    let name = Style::new().add_modifier(Modifier::BOLD);
    let mut spans = vec![Span::styled(format!(" {:<14}", cut(&node.name, 14)), name)];
    if node.health == NodeHealth::Down {
        spans.push(Span::styled(" down", Style::new().fg(Color::Red)));
        return Line::from(spans);
    }
    let read = node.gpus.iter().any(|gpu| *gpu != NodeGpu::default());
    for (index, job) in node.jobs.iter().enumerate() {
        let (text, style) = match job {
            None => ("·".to_string(), Style::new().fg(Color::DarkGray)),
            // Whose it is is not for us to know.
            Some(0) => ("other".to_string(), Style::new().fg(Color::DarkGray)),
            Some(id) => match owners.get(id) {
                Some(tenant) => (format!("{id} {tenant}"), Style::new().fg(colour(screen, tenant))),
                None => (id.to_string(), Style::new()),
            },
        };
        spans.push(Span::styled(format!(" {:<GPU_WIDTH$}", cut(&text, GPU_WIDTH)), style));
        if let Some(gpu) = node.gpus.get(index).filter(|_| read) {
            spans.push(figures(gpu));
        }
    }
    Line::from(spans)
}

/// How busy a GPU is and the memory that is used; loud where its job has not used it for long.
fn figures(gpu: &NodeGpu) -> Span<'static> {
    let is_long = gpu.idle_s.is_some_and(|idle| idle >= LONG_IDLE_S);
    let memory = gpu.memory_used.map_or(String::new(), |used| format!("{}G", gibibytes(used)));
    let text = format!("{:>8} {memory:>4} ", busy(gpu));
    let loud = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
    Span::styled(text, if is_long { loud } else { Style::new() })
}

fn draw_tenants(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let snapshot = &screen.snapshot;
    let parts: BTreeMap<&str, (f64, f64)> = snapshot
        .fairness
        .iter()
        .flat_map(|fairness| &fairness.tenants)
        .map(|t| (t.tenant.as_str(), (t.promised, t.delivered)))
        .collect();
    let full = parts.values().map(|(a, b)| a.max(*b)).fold(0.0, f64::max);
    let rows = snapshot.tenants.iter().map(|tenant| {
        let style = Style::new().fg(colour(screen, &tenant.name));
        let (promised, delivered) = parts.get(tenant.name.as_str()).copied().unwrap_or((0.0, 0.0));
        Row::new([
            Cell::from(tenant_name(tenant)).style(style),
            Cell::from(figure(tenant.weight)),
            Cell::from(format!("{}/{}", tenant.running, tenant.queued)),
            Cell::from(format!("{} {promised:.2}", bar(promised, full, BAR_WIDTH))),
            Cell::from(format!("{} {delivered:.2}", bar(delivered, full, BAR_WIDTH))).style(style),
            Cell::from(difference(tenant.deficit.values().sum())),
        ])
    });
    let widths = [
        Constraint::Length(NAME_WIDTH as u16),
        Constraint::Length(7),
        Constraint::Length(9),
        Constraint::Length(BAR_WIDTH as u16 + 8),
        Constraint::Length(BAR_WIDTH as u16 + 8),
        Constraint::Length(8),
    ];
    let header = Row::new([" tenant", "weight", "run/wait", "promised", "now", "balance"]);
    let table = Table::new(rows, widths)
        .header(header.style(Style::new().add_modifier(Modifier::DIM)))
        .block(Block::new().borders(Borders::TOP).title(" Tenants "));
    frame.render_widget(table, area);
}

fn tenant_name(tenant: &Tenant) -> String {
    let mark = if tenant.suspended { "‖" } else { " " };
    format!("{mark}{}", cut(&tenant.name, NAME_WIDTH - 1))
}

fn draw_jobs(frame: &mut Frame<'_>, screen: &Screen, now: Timestamp, area: Rect) {
    let rows = screen.jobs().iter().map(|job| {
        Row::new([
            Cell::from(format!("{:>6}", job.id)),
            Cell::from(cut(&job.name, NAME_WIDTH)),
            Cell::from(cut(&job.tenant, 14)).style(Style::new().fg(colour(screen, &job.tenant))),
            Cell::from(job.state.name()).style(state_style(job.state)),
            Cell::from(gpus(job)),
            Cell::from(format!("{:>7}", time(job, now))),
            Cell::from(progress(job)),
            Cell::from(safe(&job.reason)),
        ])
    });
    let widths = [
        Constraint::Length(6),
        Constraint::Max(NAME_WIDTH as u16),
        Constraint::Max(14),
        Constraint::Length(9),
        Constraint::Max(14),
        Constraint::Length(7),
        Constraint::Max(14),
        Constraint::Fill(1),
    ];
    let header =
        Row::new(["    id", "name", "tenant", "state", "gpus", "   time", "steps", "reason"]);
    let table = Table::new(rows, widths)
        .header(header.style(Style::new().add_modifier(Modifier::DIM)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(Block::new().borders(Borders::TOP).title(" Jobs "));
    let mut state = TableState::new().with_selected(screen.position());
    frame.render_stateful_widget(table, area, &mut state);
}

fn state_style(state: JobState) -> Style {
    match state {
        JobState::Running => Style::new().fg(Color::Green),
        JobState::Queued => Style::new().fg(Color::Yellow),
        JobState::Failed | JobState::TimedOut => Style::new().fg(Color::Red),
        _ => Style::new().fg(Color::Cyan),
    }
}

fn footline(screen: &Screen) -> Line<'static> {
    let loud = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
    match (&screen.confirm, &screen.message) {
        (Some(job), _) => {
            Line::styled(format!(" cancel job {job}? y: yes, any other key: no"), loud)
        }
        (None, Some(message)) => Line::styled(format!(" {}", safe(message)), loud),
        (None, None) => Line::styled(
            " q quit   ↑↓ choose a job   c cancel it   p pause",
            Style::new().add_modifier(Modifier::DIM),
        ),
    }
}
