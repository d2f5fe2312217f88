//! The weaker mechanism: scans for descendants while the program runs, adopts orphans, and marks processes by a
//! variable. A process belongs to the turn if it is already known, if its parent belongs to the turn, if it shares a
//! session with such a process, or if it has the mark. Below a supervisor the parents are sufficient. Without one, a
//! process escapes if it clears its environment, starts a session and loses its parent between two scans.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::proc_table::{self, Identity, Row};
use super::registry;
use super::scope::MARK;
use super::supervisor;

/// Time between two scans while the program runs. A scan reads one line for each process on the machine. A mark needs
/// another read for each process, so marks are checked only at the end of the turn.
const REFRESH_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct Descendants {
    mark: Box<str>,
    /// The process that we started: the program itself, or its supervisor.
    main: Option<Identity>,
    is_supervised: bool,
    program: Option<Identity>,
    known: BTreeSet<Identity>,
    refreshed: Option<Instant>,
}

impl Descendants {
    pub(super) fn new(mark: &str, is_supervised: bool) -> Self {
        registry::sweep();
        // Orphans of our descendants become our children instead of those of process 1. With a
        // supervisor they become its children, and ours only if it is killed.
        #[cfg(target_os = "linux")]
        if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
            tracing::debug!(%error, "orphans go to the first process");
        }
        let (mark, known) = (mark.into(), BTreeSet::new());
        Self { mark, main: None, is_supervised, program: None, known, refreshed: None }
    }

    pub(super) fn track(&mut self, pid: u32) {
        // We have not waited for our child yet, so its id cannot be reused, even if it is dead.
        self.main = proc_table::row(pid).map(|row| row.identity);
        self.known.extend(self.main);
    }

    pub(super) fn track_program(&mut self, pid: u32) {
        self.program = proc_table::identify(pid);
    }

    pub(super) fn refresh(&mut self) {
        // Below a supervisor, no process need be remembered. The exception is a killed supervisor whose orphans
        // cannot be distinguished from our other children.
        if self.is_supervised && supervisor::owns_children() {
            return;
        }
        if self.refreshed.is_none_or(|refreshed| refreshed.elapsed() >= REFRESH_INTERVAL) {
            self.refresh_now(false);
        }
    }

    /// Returns all living processes except the program itself.
    pub(super) fn other_processes(&mut self) -> Vec<Identity> {
        let mut living = self.refresh_now(true);
        living.retain(|one| Some(*one) != self.main && Some(*one) != self.program);
        living
    }

    pub(super) fn kill(&mut self) -> usize {
        let mut living = self.refresh_now(true);
        // The supervisor is killed last, so that it adopts every orphan.
        living.retain(|identity| !self.is_supervised || Some(*identity) != self.main);
        for identity in &living {
            proc_table::signal(*identity, Signal::KILL);
        }
        living.len()
    }

    pub(super) fn reap(&mut self) {
        for identity in &self.known {
            if Some(*identity) != self.main {
                proc_table::reap(*identity);
            }
        }
    }

    /// Finds the living processes, remembers them, and reaps dead ones that are our children.
    fn refresh_now(&mut self, with_marks: bool) -> Vec<Identity> {
        let mut rows = proc_table::rows();
        let own_session = proc_table::row(std::process::id()).map_or(0, |row| row.session);
        let is_main = |row: &Row| Some(row.identity) == self.main && !row.is_zombie;
        let is_supervised = self.is_supervised && rows.iter().any(is_main);
        if self.is_supervised && !is_supervised {
            // The process table may lack short-lived orphans.
            let known: BTreeSet<_> = rows.iter().map(|row| row.identity).collect();
            let children = proc_table::own_children().into_iter();
            rows.extend(children.filter(|row| !known.contains(&row.identity)));
            // The supervisor was killed, so its children are ours now. If this program has other children of its own,
            // only processes that were seen before or have the mark belong to the turn.
            if supervisor::owns_children() {
                let adopted = rows.iter().filter(|row| is_adopted(row, own_session));
                self.known.extend(adopted.map(|row| row.identity));
            }
        }
        let is_marked = |row: &Row| {
            let mark = || proc_table::variable(row.identity.pid, MARK);
            with_marks && !is_supervised && !row.is_zombie && mark().as_deref() == Some(&*self.mark)
        };
        let found = belonging(&rows, &self.known, own_session, is_marked);
        self.known.extend(found.iter().copied());
        self.reap();
        let main = self.main;
        self.known.retain(|known| Some(*known) == main || found.contains(known));
        self.refreshed = Some(Instant::now());
        let is_living = |row: &&Row| !row.is_zombie && found.contains(&row.identity);
        rows.iter().filter(is_living).map(|row| row.identity).collect()
    }
}

/// Returns whether our child is an orphan of a killed supervisor: only such children are in other
/// sessions.
fn is_adopted(row: &Row, own_session: u32) -> bool {
    row.parent == std::process::id()
        && row.session != own_session
        && !registry::is_main(row.identity.pid)
}

fn belonging(
    rows: &[Row],
    known: &BTreeSet<Identity>,
    own_session: u32,
    is_marked: impl Fn(&Row) -> bool,
) -> BTreeSet<Identity> {
    let own = std::process::id();
    let mut found = BTreeSet::new();
    let mut open = Vec::new();
    let mut children: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
    let mut sessions: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.identity.pid != own) {
        children.entry(row.parent).or_default().push(*row);
        if row.session != 0 && row.session != own_session {
            sessions.entry(row.session).or_default().push(*row);
        }
        if known.contains(&row.identity) || is_marked(row) {
            found.insert(row.identity);
            open.push(*row);
        }
    }
    while let Some(member) = open.pop() {
        // Each list is used once, because the parents of later processes are among those already found.
        let born = children.remove(&member.identity.pid).unwrap_or_default();
        let in_same_session = sessions.remove(&member.session).unwrap_or_default();
        open.extend(
            born.into_iter().chain(in_same_session).filter(|row| found.insert(row.identity)),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, parent: u32, session: u32) -> Row {
        let identity = Identity { pid, started: u64::from(pid) };
        Row { identity, parent, session, is_zombie: false, is_stopped: false, resident_pages: 0 }
    }

    fn check(rows: &[Row], known: &[u32], marked: u32, expected: &[u32]) {
        let known = known.iter().map(|pid| Identity { pid: *pid, started: u64::from(*pid) });
        let found = belonging(rows, &known.collect(), 5, |row| row.identity.pid == marked);
        assert_eq!(found.iter().map(|identity| identity.pid).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn children_and_their_children_belong() {
        check(
            &[row(12, 11, 5), row(11, 10, 5), row(10, 1, 5), row(20, 1, 5)],
            &[10],
            0,
            &[10, 11, 12],
        );
    }

    #[test]
    fn an_orphan_in_a_member_s_session_belongs_and_one_in_ours_does_not() {
        check(&[row(10, 1, 10), row(30, 1, 10), row(40, 1, 5)], &[10], 0, &[10, 30]);
        check(&[row(10, 1, 5), row(40, 1, 5)], &[10], 0, &[10]);
    }

    #[test]
    fn the_mark_finds_what_left_its_parents() {
        check(&[row(50, 1, 50), row(51, 50, 51)], &[], 50, &[50, 51]);
    }

    #[test]
    fn a_reused_process_id_is_another_process() {
        let known = BTreeSet::from([Identity { pid: 10, started: 3 }]);
        assert!(belonging(&[row(10, 1, 10)], &known, 5, |_| false).is_empty());
    }
}
