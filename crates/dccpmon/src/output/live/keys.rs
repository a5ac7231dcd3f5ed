//! The keys of the view.

use core::time::Duration;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use std::io;

/// The action of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// End the test with its summary.
    End,
    /// Freeze the view, or let it go on.
    Pause,
    /// Remember this time.
    Mark,
}

/// The keys that were pressed.
pub(super) struct Keys;

impl Keys {
    /// The next action, without waiting.
    pub(super) fn next() -> io::Result<Option<Action>> {
        while event::poll(Duration::ZERO)? {
            if let Event::Key(key) = event::read()?
                && let Some(action) = action_of(key)
            {
                return Ok(Some(action));
            }
        }
        Ok(None)
    }
}

fn action_of(key: KeyEvent) -> Option<Action> {
    if !key.is_press() {
        return None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Action::End),
        KeyCode::Char('q') | KeyCode::Esc => Some(Action::End),
        KeyCode::Char('p') => Some(Action::Pause),
        KeyCode::Char('m') => Some(Action::Mark),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_ends_as_q_does() {
        let plain = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(action_of(control), Some(Action::End));
        assert_eq!(action_of(plain('q')), Some(Action::End));
        assert_eq!(action_of(plain('m')), Some(Action::Mark));
        assert_eq!(action_of(plain('p')), Some(Action::Pause));
        assert_eq!(action_of(plain('c')), None);
    }
}
