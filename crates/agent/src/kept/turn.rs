//! One turn of an agent that keeps its session: checks the session, runs the turn in the process that is kept or in a
//! new one, and records the state in which the turn left the session.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tertulia_dialect::stream::{AgentPrompt, ErrorClass, NotLoaded, StreamEvent};

use super::method::{Method, Seen, StartLive, Store};
use super::pool::{Claim, KeptProcess, Pool};
use super::{Now, compare};
use crate::agents::acp;
use crate::memory::{Settings, export, program_identity, transcript};
use crate::process::{self, CommandLine, Stop};
use crate::{
    Drift, Ended, Job, Listener, NativeHead, PermissionAnswer, PermissionRequest, Totals,
    TurnReport, clock, sent_prompt,
};

/// Time that an agent has to write an answered turn into its session. Claude Code and Codex write it before they
/// report the answer.
const WRITE_WAIT: Duration = Duration::from_secs(5);
/// The same for a failed turn, whose process has ended.
const FAILED_WAIT: Duration = Duration::from_millis(100);

/// Runs a turn. Fails if the session cannot be used; then nothing was sent.
pub(super) fn run(
    pool: &Arc<Pool>,
    member: &str,
    job: Job<'_>,
    listener: &mut dyn Listener,
) -> Result<TurnReport, Drift> {
    let method = Method::of(job.spec).map_err(|reason| Drift::Unsupported { reason })?;
    let claim = pool.claim(member)?;
    let mut idle = claim.take();
    if let Some(head) = job.request.memory.head() {
        let process = idle.as_mut().and_then(KeptProcess::living_id);
        let is_elsewhere = head.process.is_some() && head.process != process;
        let now = Now { spec: job.spec, system: job.request.system, process };
        if let Err(drift) = compare(&method, &now, head, (pool.seen(), Some(job.cancel))) {
            close(idle);
            return Err(drift);
        }
        if is_elsewhere {
            close(idle.take());
        }
    } else {
        close(idle.take());
    }
    let turn = KeptTurn { job, claim: &claim, seen: pool.seen() };
    match method {
        Method::Live { start, store } => turn.run_live(idle, Some(start), Some(store), listener),
        Method::Acp => turn.run_live(idle, None, None, listener),
        Method::Resumed { store } => {
            close(idle);
            turn.run_resumed(&method, store, listener)
        }
    }
}

fn close(process: Option<KeptProcess>) {
    if let Some(process) = process {
        process.close();
    }
}

struct KeptTurn<'a> {
    job: Job<'a>,
    claim: &'a Claim<'a>,
    seen: &'a Seen,
}

impl KeptTurn<'_> {
    fn run_live(
        &self,
        mut idle: Option<KeptProcess>,
        start: Option<StartLive>,
        store: Option<Store>,
        listener: &mut dyn Listener,
    ) -> Result<TurnReport, Drift> {
        let job = self.job;
        let (context, message) = self.texts();
        let id = unique_id(job.request.turn);
        let prompt = AgentPrompt { id: &id, context: &context, message: &message };
        let listener: &mut dyn Listener = &mut FedOnce { listener, is_fed: false };
        loop {
            let fitting = idle.take().and_then(|mut process| {
                if process.fits(job.spec) {
                    return Some(process);
                }
                process.close();
                None
            });
            let is_reused = fitting.is_some();
            let mut process = match fitting {
                Some(process) => process,
                None => match self.start(start)? {
                    Ok(process) => process,
                    Err(report) => return Ok(report),
                },
            };
            let stop = process.agent.turn(&prompt, job, listener);
            let is_sent = process.agent.client().is_confirmed()
                || matches!(stop, Stop::Ended(..))
                || self.is_recorded(&process, store);
            if is_sent {
                return Ok(self.finish(process, stop, store, listener));
            }
            let not_loaded = process.agent.client().not_loaded().map(drift_of);
            let report = process.agent.end(stop, job, listener);
            if let Some(drift) = not_loaded {
                return Err(drift);
            }
            if !is_reused {
                return self.not_opened(report);
            }
            // The idle process had ended, and nothing was sent. A new process continues its session.
        }
    }

    /// Starts a process, which continues the session of the head.
    fn start(&self, start: Option<StartLive>) -> Result<Result<KeptProcess, TurnReport>, Drift> {
        let job = self.job;
        let head = job.request.memory.head();
        let started = match start {
            Some(start) => start(job, head).map_err(Into::into),
            None if head.is_some_and(|head| !head.can_load()) => return Err(Drift::ProcessEnded),
            None => acp::start(job, head),
        };
        Ok(match started {
            Ok(agent) => {
                Ok(KeptProcess { agent, spec: job.spec.clone(), id: unique_id(job.request.turn) })
            }
            Err(error) => Err(clock::not_started(error, Ended::ByItself)),
        })
    }

    /// Returns the context and the message. Only Codex gets them separately; for the others, they are one text, because
    /// their prompts may need escapes.
    fn texts(&self) -> (String, String) {
        let Job { spec, request, .. } = self.job;
        let is_split = spec.kind.definition().cli.as_ref().is_some_and(|cli| cli.takes_context);
        let split = request.prompt.split_at_checked(request.message_start);
        match split.filter(|(_, message)| is_split && !message.trim().is_empty()) {
            Some((context, message)) => (context.to_owned(), message.to_owned()),
            None => (String::new(), sent_prompt(spec, request)),
        }
    }

    /// Returns whether the prompt may be in the stored session, although the process did not confirm it.
    fn is_recorded(&self, process: &KeptProcess, store: Option<Store>) -> bool {
        let Some(Store::File(file)) = store else { return process.agent.client().is_prompted() };
        let head = self.job.request.memory.head();
        let (client, command) = (process.agent.client(), &process.agent.command);
        let session = client.session().or(head.map(|head| &*head.session));
        let named = client.session_path().map(PathBuf::from);
        let found = || (file.find)(&command.environment, session?);
        let Some(path) = named.or_else(found) else { return false };
        match transcript::scan(file.format, &path, head) {
            Ok(scan) => scan.has_turn(client.trace(), false),
            Err(Drift::Missing { .. }) => false,
            Err(_) => true,
        }
    }

    fn finish(
        &self,
        mut process: KeptProcess,
        stop: Stop,
        store: Option<Store>,
        listener: &mut dyn Listener,
    ) -> TurnReport {
        let is_answered = matches!(stop, Stop::Answered);
        let mut report = match stop {
            Stop::Answered => process.agent.report(listener),
            stop => process.agent.end(stop, self.job, listener),
        };
        let client = process.agent.client();
        let ended = SessionState {
            session: client.session().map(Into::into),
            path: client.session_path().map(Into::into),
            trace: client.trace().map(Into::into),
            is_compacted: client.is_compacted(),
            totals: client.totals(),
            history: client.history().map(Into::into),
            process: store.is_none().then(|| process.id.clone()),
        };
        let is_good = is_answered && report.output.error.is_none();
        // Without a trace, the context may be in the session, but not the message.
        if store.is_none() || ended.trace.is_some() {
            report.native = self.head(&process.agent.command, store, ended, is_good);
        }
        if is_good && report.native.is_some() && process.agent.is_alive() {
            self.claim.keep(process);
        } else if is_answered {
            process.close();
        }
        report
    }

    fn run_resumed(
        &self,
        method: &Method,
        store: Store,
        listener: &mut dyn Listener,
    ) -> Result<TurnReport, Drift> {
        let command = method.command(self.job.spec)?;
        let mut report = process::run(self.job, listener);
        let head = self.job.request.memory.head();
        let output = &report.output;
        let is_good = output.error.is_none();
        let is_silent = output.lines.known == 0 && report.ended == Ended::ByItself;
        let ended =
            SessionState { session: output.native_session_id.clone(), ..SessionState::default() };
        let is_other = head.is_some_and(|head| ended.session.as_ref() != Some(&head.session));
        report.native = match is_other {
            true => None,
            false => self.head(&command, Some(store), ended, is_good),
        };
        if head.is_some() && !is_good && is_silent && report.native.is_none() {
            return self.not_opened(report);
        }
        Ok(report)
    }

    /// Returns the report of a turn whose agent failed before anything was sent, or the reason to start it another way.
    /// A problem that another start would have as well, such as a missing sign-in, is the result of the turn.
    fn not_opened(&self, report: TurnReport) -> Result<TurnReport, Drift> {
        let Some(error) = &report.output.error else { return Ok(report) };
        if matches!(
            error.class,
            ErrorClass::Cancelled
                | ErrorClass::Limit
                | ErrorClass::Auth
                | ErrorClass::Network
                | ErrorClass::Quota
        ) {
            return Ok(report);
        }
        let reason = error.message.clone();
        // Codex says the first, Claude Code the second.
        let is_locked =
            ["active writer", "already in use"].iter().any(|word| reason.contains(word));
        Err(match self.job.request.memory.head() {
            Some(_) if is_locked => Drift::Busy,
            Some(_) => Drift::Refused { reason },
            None => Drift::NotBegun { reason },
        })
    }

    /// Returns the state of the session after the turn; `None` if it is unknown, or if the session does not contain the
    /// prompt.
    fn head(
        &self,
        command: &CommandLine,
        store: Option<Store>,
        ended: SessionState,
        is_answered: bool,
    ) -> Option<NativeHead> {
        let Job { spec, request, .. } = self.job;
        let session = ended.session?;
        let before = request.memory.head().filter(|head| head.session == session);
        let mut head = NativeHead {
            agent: spec.kind.definition().word.into(),
            session,
            path: None,
            bytes: 0,
            hash: "".into(),
            messages: before.map_or(0, |head| head.messages),
            last_record: before.and_then(|head| head.last_record.clone()),
            is_compacted: ended.is_compacted,
            program: program_identity(&command.program),
            settings: Settings::new(spec, request.system),
            process: ended.process,
            totals: ended.totals,
        };
        let wait = if is_answered { WRITE_WAIT } else { FAILED_WAIT };
        match store {
            // Without a transcript, only an answered turn is known to be in the session.
            None if !is_answered => return None,
            None => {
                head.messages += 2;
                head.hash = ended.history.unwrap_or_default();
            }
            Some(Store::File(file)) => {
                let path =
                    ended.path.or_else(|| (file.find)(&command.environment, &head.session))?;
                let trace = ended.trace.as_deref();
                let scan =
                    transcript::scan_turn(file.format, &path, before, trace, is_answered, wait);
                let scan = scan.inspect_err(|drift| tracing::debug!(%drift, "no head")).ok()?;
                (head.bytes, head.hash) = (scan.bytes, scan.hash);
                head.messages += scan.tail.messages;
                head.last_record = scan.tail.last_record;
                head.is_compacted |= scan.tail.is_compacted;
                head.path = Some(path);
            }
            Some(Store::Export(store)) => {
                // The state of before, because somebody may write while the session is printed.
                let (state, cancel) = (store.state(command), self.job.cancel);
                let is_cancelled = cancel.is_cancelled();
                let print = || (store.print)(command, &head.session, cancel).ok();
                let document = (!is_cancelled).then(print).flatten()?;
                export::record(&document, before, &mut head)?;
                self.seen.note(&head, state);
            }
        }
        Some(head)
    }
}

/// Reports only once that the prompt is written, although a second process may get it.
struct FedOnce<'a> {
    listener: &'a mut dyn Listener,
    is_fed: bool,
}

impl Listener for FedOnce<'_> {
    fn fed(&mut self) {
        if !std::mem::replace(&mut self.is_fed, true) {
            self.listener.fed();
        }
    }

    fn event(&mut self, event: StreamEvent) {
        self.listener.event(event);
    }

    fn permit(&mut self, request: &PermissionRequest) -> PermissionAnswer {
        self.listener.permit(request)
    }
}

#[derive(Default)]
struct SessionState {
    session: Option<Box<str>>,
    path: Option<PathBuf>,
    trace: Option<Box<str>>,
    is_compacted: bool,
    totals: Totals,
    history: Option<Box<str>>,
    process: Option<Box<str>>,
}

fn drift_of(reason: &NotLoaded) -> Drift {
    match reason {
        NotLoaded::NotOffered => Drift::ProcessEnded,
        NotLoaded::Continued { messages } => Drift::Continued { messages: *messages },
        NotLoaded::Differs => {
            let reason = "what the agent replays is not what was said in it".into();
            Drift::Unreadable { path: None, reason }
        }
    }
}

/// Returns a text in the form of a random UUID. No two calls return the same one, in this process or another.
fn unique_id(turn: &str) -> Box<str> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let seed = format!("{turn} {} {number} {time}", std::process::id());
    let hex = blake3::hash(seed.as_bytes()).to_hex();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let (first, second, third) = (part(0, 8), part(8, 12), part(13, 16));
    format!("{first}-{second}-4{third}-8{}-{}", part(17, 20), part(20, 32)).into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_uuids_and_never_repeat() {
        let ids: BTreeSet<_> = (0..1000).map(|_| unique_id("t")).collect();
        assert_eq!(ids.len(), 1000);
        for id in ids {
            let lengths: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        }
    }
}
