//! One frame as text.

use super::draw::draw;
use super::screen::Screen;
use jiff::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::fmt::Write as _;
use std::io;

/// The frame, without colours, each line ended.
pub fn text(screen: &Screen, now: Timestamp, columns: u16, lines: u16) -> io::Result<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).map_err(io::Error::other)?;
    terminal.draw(|frame| draw(frame, screen, now)).map_err(io::Error::other)?;
    let buffer = terminal.backend().buffer();
    let mut out = String::new();
    for row in 0..lines {
        let mut line = String::new();
        let mut skip = 0;
        for column in 0..columns {
            // A wide character takes two cells, and the second holds a blank.
            let symbol = buffer[(column, row)].symbol();
            if skip == 0 {
                line.push_str(symbol);
                skip = unicode_width::UnicodeWidthStr::width(symbol).max(1);
            }
            skip -= 1;
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    Ok(out)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::commands::client::top::snapshot::Snapshot;
    use unicode_width::UnicodeWidthStr as _;

    /// What a daemon told once.
    pub fn recorded() -> Snapshot {
        let read = |text: &str| serde_json::from_str(text).expect("a document");
        let cluster = include_str!("../../../../tests/data/cluster.json");
        Snapshot {
            info: serde_json::from_str(include_str!("../../../../tests/data/info.json"))
                .expect("info"),
            cluster: serde_json::from_str(cluster).expect("a cluster"),
            tenants: read(include_str!("../../../../tests/data/tenants.json")),
            fairness: Some(
                serde_json::from_str(include_str!("../../../../tests/data/fairness.json"))
                    .expect("fairness"),
            ),
            jobs: serde_json::from_str(include_str!("../../../../tests/data/jobs.json"))
                .expect("jobs"),
        }
    }

    fn frame(columns: u16, lines: u16) -> String {
        let now: Timestamp = "2026-11-15T10:10:00Z".parse().expect("an instant");
        text(&Screen::new(recorded()), now, columns, lines).expect("a frame")
    }

    #[test]
    fn a_frame_has_all_its_parts() {
        let frame = frame(120, 32);
        for part in [
            "round 42",
            "cooperative",
            "rtx3090-0",
            "vision-lab",
            "Jobs",
            "running",
            "q quit",
            "balance",
        ] {
            assert!(frame.contains(part), "`{part}` is not in:\n{frame}");
        }
        assert!(!frame.contains('\u{1b}'), "{frame}");
    }

    #[test]
    fn a_gpu_that_its_job_has_not_used_for_long_is_seen() {
        let mut snapshot = recorded();
        let gpu = |utilisation, idle_s| oef_api::types::NodeGpu {
            utilisation: Some(utilisation),
            memory_used: Some(71 << 30),
            memory_total: Some(80 << 30),
            idle_s,
        };
        let nodes = &mut snapshot.cluster.nodes;
        nodes[0].gpus = vec![gpu(0.97, None), gpu(0.0, Some(599.0)), gpu(0.0, Some(7300.0))];
        let now: Timestamp = "2026-11-15T10:10:00Z".parse().expect("an instant");
        let frame = text(&Screen::new(snapshot), now, 120, 32).expect("a frame");
        for part in ["97%  71G", " 0%  71G", "idle 2h  71G", "how busy it is"] {
            assert!(frame.contains(part), "`{part}` is not in:\n{frame}");
        }
        assert!(!frame.contains("idle 9m"), "{frame}");
        assert!(!self::frame(120, 32).contains('%'), "nothing is shown where nothing is known");
    }

    #[test]
    fn frames_fit_any_screen() {
        for (columns, lines) in [(80, 24), (200, 60), (40, 10), (20, 5), (3, 2)] {
            let frame = frame(columns, lines);
            assert_eq!(frame.lines().count(), usize::from(lines));
            for line in frame.lines() {
                assert!(line.width() <= usize::from(columns), "{columns}: {line}");
            }
        }
    }
}
