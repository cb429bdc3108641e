//! Of several locks that are alike, those that callers of a process release while others of it wait for one.

use crate::env::caught::wake;

use super::line::Line;
use super::{LineKey, Lines};

impl Lines {
    /// A caller of this process has sent the release of one of the locks. The caller with the turn asks for it now,
    /// without a pause.
    pub(crate) fn released(&self, line_key: &LineKey) {
        let head = {
            let mut state = self.state.lock();
            let waiters = state.lines.get_mut(line_key).map(Line::waiters);
            waiters.and_then(|waiters| {
                waiters.is_retry_wanted = true;
                waiters.head.take()
            })
        };
        if let Some(head) = head {
            wake(head);
        }
    }
}
