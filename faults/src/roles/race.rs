//! `race`: two processes append to one session and expect the same tail. In every round exactly one
//! wins, and the other gets a conflict error.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use tertulia_session::{Entry, EntryId, EntryKind, Message, NewEntry, Speaker, SpeakerType};
use tertulia_store::{Append, NewSession, Range, SessionId, SessionStore, StoreError, StoreUrl};

use crate::error::FaultsError;
use crate::options::Options;
use crate::report::Report;
use crate::scratch::{Scratch, database, open};
use crate::tools;

const RACERS: [&str; 2] = ["a", "b"];
const SESSION: &str = "race";

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("race", arguments, &["rounds", "seed"])?;
    let mut report = Report::new("race", &mut options)?;
    let rounds = options.number("rounds", 10_000)?;
    let scratch = Scratch::on_disk()?;
    let file = database(scratch.path());
    let store = open(&file)?;
    let session = SESSION.parse::<SessionId>().map_err(StoreError::from)?;
    let made = store.create(&NewSession { id: Some(session.clone()) })?;
    let mut tail =
        made.tail.ok_or_else(|| FaultsError::unexpected("a session without a header"))?;
    let url = StoreUrl::Sqlite(file).to_string();
    let mut racers = RACERS.into_iter().map(|name| Racer::start(&url, name));
    let mut racers = racers.by_ref().collect::<Result<Vec<_>, _>>()?;
    let mut wins = [0; RACERS.len()];
    for round in 0..rounds {
        // They are started in alternating order; both write before either answer is read.
        if round % 2 == 1 {
            racers.reverse();
        }
        for racer in &mut racers {
            racer.ask(&format!("{round} {tail}"))?;
        }
        let mut won = Vec::new();
        for racer in &mut racers {
            match racer.answer()?.as_str() {
                "won" => won.push(racer.name),
                "beaten" => {}
                other => report.broken(format!("round {round}: {} said {other}", racer.name)),
            }
        }
        report.faults(1);
        let [winner] = won.as_slice() else {
            report.broken(format!("round {round}: {} won", won.len()));
            break;
        };
        tail = entry_id(winner, round);
        wins[usize::from(*winner != RACERS[0])] += 1;
    }
    racers.into_iter().try_for_each(Racer::end)?;
    check_log(&store, &session, rounds, &mut report)?;
    report.add("rounds won by the one", wins[0]);
    report.add("by the other", wins[1]);
    Ok(report.finish())
}

/// Checks that there is one entry for every round, each after the one before.
fn check_log(
    store: &SessionStore,
    session: &SessionId,
    rounds: u64,
    report: &mut Report,
) -> Result<(), FaultsError> {
    let log = store.load(session, &Range::All)?;
    report.claim(log.len() as u64 == rounds + 1, format!("{} entries are there", log.len()));
    let verified = store.verify(session)?;
    report.claim(verified.damage.is_none(), format!("{:?}", verified.damage));
    for (before, after) in log.iter().zip(log.iter().skip(1)) {
        let follows = after.entry.parent_id.as_ref() == Some(&before.entry.id);
        report.claim(follows, format!("{} does not follow", after.entry.id));
    }
    Ok(())
}

fn entry_id(racer: &str, round: u64) -> EntryId {
    EntryId::from(format!("{racer}{round}"))
}

/// Handle of a racing process.
struct Racer {
    name: &'static str,
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Racer {
    fn start(url: &str, name: &'static str) -> Result<Self, FaultsError> {
        let mut command = tools::own("racer")?;
        command.args(["--url", url, "--name", name]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(FaultsError::io("starting a racer"))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (questions, answers) = pipes.ok_or_else(|| FaultsError::unexpected("no pipes"))?;
        Ok(Self { name, child, questions, answers: BufReader::new(answers) })
    }

    fn ask(&mut self, question: &str) -> Result<(), FaultsError> {
        let asked = self.questions.write_all(format!("{question}\n").as_bytes());
        asked.map_err(FaultsError::io("asking a racer"))
    }

    fn answer(&mut self) -> Result<String, FaultsError> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(FaultsError::io("hearing a racer"))?;
        Ok(line.trim_end().to_owned())
    }

    /// It ends when its input ends.
    fn end(self) -> Result<(), FaultsError> {
        let Self { mut child, questions, .. } = self;
        drop(questions);
        child.wait().map(|_| ()).map_err(FaultsError::io("waiting for a racer"))
    }
}

/// The racing process: reads a round and a tail, appends, and answers.
pub(crate) fn race(arguments: &[String]) -> Result<bool, FaultsError> {
    let options = Options::parse("racer", arguments, &["url", "name"])?;
    let name = options.needed("name")?;
    let url = options.needed("url")?.parse::<StoreUrl>();
    let store = SessionStore::open(&url.map_err(|error| FaultsError::Usage(error.to_string()))?)?;
    let session = SESSION.parse::<SessionId>().map_err(StoreError::from)?;
    for line in std::io::stdin().lines() {
        let line = line.map_err(FaultsError::io("standard input"))?;
        let odd = || FaultsError::unexpected(format!("a racer was asked {line:?}"));
        let (round, tail) = line.split_once(' ').ok_or_else(odd)?;
        let round = round.parse().map_err(|_| odd())?;
        let entry = entry(name, round, tail);
        let append = Append::new([entry]).expecting(EntryId::from(tail));
        let answer = match store.append(&session, append) {
            Ok(appended) if appended.appended_count == 1 => "won".to_owned(),
            Ok(appended) => format!("{appended:?}"),
            Err(StoreError::SessionConcurrentWrite { .. }) => "beaten".to_owned(),
            Err(error) => error.to_string().replace('\n', " "),
        };
        println!("{answer}");
    }
    Ok(true)
}

fn entry(racer: &str, round: u64, tail: &str) -> Entry {
    let speaker = Speaker::new(racer, racer, SpeakerType::Human);
    let message = Message::said(speaker, format!("round {round}"));
    let entry = NewEntry::new(EntryKind::Message(message)).with_parent(EntryId::from(tail));
    entry.with_id(entry_id(racer, round))
}
