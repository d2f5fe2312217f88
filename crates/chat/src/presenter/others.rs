//! What the chat shows of other processes in the session: answers of other people to a permission request, and the end
//! of the process that ran the session.

use super::Presenter;
use crate::style::{Line, Look};

impl Presenter {
    /// Records the answer of this person to the open permission request, so that a faster answer of somebody else is
    /// noticed. Returns the next request as lines.
    pub(crate) fn answer_permission(&mut self, choice: Option<&str>) -> Vec<Line> {
        if let Some(open) = self.permission() {
            let member = open.member.clone();
            self.answered.insert(member, choice.map(Box::from));
        }
        self.permission_answered()
    }

    /// Handles an answer in the log. Returns the line that says that somebody else has answered.
    pub(super) fn answered_in_log(&mut self, member: &str, choice: Option<&str>) -> Vec<Line> {
        let is_this = |one: &super::turns::OpenPermission| *one.member == *member;
        let open = self.permissions.iter().position(is_this);
        let was_shown = open.and_then(|open| self.permissions.remove(open)).is_some();
        let own = self.answered.remove(member);
        let is_other = own.is_some_and(|own| own.as_deref() != choice);
        if !was_shown && !is_other {
            return Vec::new();
        }
        let answer = choice.map_or("no".to_owned(), |choice| format!("\"{choice}\""));
        self.aside(&[Line::new(format!("(somebody else answered: {answer})"), Look::Dim)])
    }

    /// Nobody knows how a running turn continues, and nobody takes an answer.
    pub(super) fn host_lost(&mut self) -> Vec<Line> {
        let lines = self.flush();
        (self.running_turn, self.asked) = (None, None);
        self.others.clear();
        self.permissions.clear();
        self.answered.clear();
        lines
    }
}
