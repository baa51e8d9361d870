//! The state of the view, and what keys do to it.

use super::snapshot::Snapshot;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use oef_api::types::Job;

/// A page of the list, whatever the height of the screen.
const PAGE: usize = 10;

/// What a key asks for beyond the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Leave.
    Quit,
    /// Cancel this job.
    Cancel(u64),
    /// Look again.
    Refresh,
}

/// What is shown, and where the user is in it.
#[derive(Clone, Debug)]
pub struct Screen {
    /// What the daemon told last.
    pub snapshot: Snapshot,
    /// The chosen job, by its number, so that it stays chosen when the list moves.
    chosen: Option<u64>,
    /// Whether the picture stands still.
    pub paused: bool,
    /// The job that is cancelled if the user agrees.
    pub confirm: Option<u64>,
    /// What happened last.
    pub message: Option<String>,
}

impl Screen {
    /// A screen for this.
    pub fn new(snapshot: Snapshot) -> Screen {
        Screen { snapshot, chosen: None, paused: false, confirm: None, message: None }
    }

    /// The jobs, in the order of the list.
    pub fn jobs(&self) -> &[Job] {
        &self.snapshot.jobs.jobs
    }

    /// Where the chosen job is in the list.
    pub fn position(&self) -> Option<usize> {
        let chosen = self.chosen?;
        self.jobs().iter().position(|job| job.id == chosen)
    }

    /// What a key does.
    pub fn key(&mut self, key: KeyEvent) -> Option<Deed> {
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        if let Some(job) = self.confirm.take() {
            let agreed = matches!(key.code, KeyCode::Char('y' | 'Y'));
            self.message = (!agreed).then(|| format!("job {job} keeps running"));
            return agreed.then_some(Deed::Cancel(job));
        }
        self.message = None;
        match key.code {
            KeyCode::Char('c') if is_ctrl => return Some(Deed::Quit),
            KeyCode::Char('q') | KeyCode::Esc => return Some(Deed::Quit),
            KeyCode::Up | KeyCode::Char('k') => self.step(|at| at.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.step(|at| at + 1),
            KeyCode::PageUp => self.step(|at| at.saturating_sub(PAGE)),
            KeyCode::PageDown => self.step(|at| at + PAGE),
            KeyCode::Home => self.step(|_| 0),
            KeyCode::End => self.step(|_| usize::MAX),
            KeyCode::Char('p') => {
                self.paused = !self.paused;
                return (!self.paused).then_some(Deed::Refresh);
            }
            KeyCode::Char('c') => match self.position() {
                Some(at) => self.confirm = Some(self.jobs()[at].id),
                None => self.message = Some("choose a job first, with the arrows".into()),
            },
            _ => {}
        }
        None
    }

    fn step(&mut self, to: impl Fn(usize) -> usize) {
        let Some(last) = self.jobs().len().checked_sub(1) else { return };
        let at = match self.position() {
            Some(at) => to(at).min(last),
            None => 0,
        };
        self.chosen = Some(self.jobs()[at].id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::client::top::once::tests::recorded;

    fn press(screen: &mut Screen, codes: &[KeyCode]) -> Option<Deed> {
        codes
            .iter()
            .map(|&code| screen.key(KeyEvent::new(code, KeyModifiers::NONE)))
            .last()
            .flatten()
    }

    #[test]
    fn a_job_is_cancelled_only_after_a_yes() {
        use KeyCode::{Char, Down, Up};
        let mut screen = Screen::new(recorded());
        let first = screen.jobs()[0].id;
        assert_eq!(press(&mut screen, &[Char('c')]), None);
        assert!(screen.confirm.is_none() && screen.message.is_some());
        assert_eq!(press(&mut screen, &[Down, Char('c')]), None);
        assert_eq!(screen.confirm, Some(first));
        assert_eq!(press(&mut screen, &[Char('n')]), None);
        assert_eq!(press(&mut screen, &[Up, Char('c'), Char('y')]), Some(Deed::Cancel(first)));
        // While it asks, nothing else is a yes.
        assert_eq!(press(&mut screen, &[Char('c'), Char('q')]), None);
        assert_eq!(press(&mut screen, &[Char('q')]), Some(Deed::Quit));
    }

    #[test]
    fn the_choice_stays_within_the_list_and_with_its_job() {
        use KeyCode::{Char, Down, End, Home, PageDown, Up};
        let mut screen = Screen::new(recorded());
        press(&mut screen, &[Up, Up, Home]);
        assert_eq!(screen.position(), Some(0));
        press(&mut screen, &[End, PageDown, Down]);
        let last = screen.jobs().len() - 1;
        assert_eq!(screen.position(), Some(last));
        let chosen = screen.jobs()[last].id;
        screen.snapshot.jobs.jobs.remove(0);
        assert_eq!(screen.jobs()[screen.position().expect("chosen")].id, chosen);
        screen.snapshot.jobs.jobs.clear();
        assert_eq!(press(&mut screen, &[Down, Char('c')]), None);
        assert_eq!(screen.position(), None);
    }

    #[test]
    fn a_pause_ends_with_a_look() {
        let mut screen = Screen::new(recorded());
        assert_eq!(press(&mut screen, &[KeyCode::Char('p')]), None);
        assert!(screen.paused);
        assert_eq!(press(&mut screen, &[KeyCode::Char('p')]), Some(Deed::Refresh));
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(screen.key(ctrl_c), Some(Deed::Quit));
    }
}
