//! Members whose agents keep their own sessions: what each prompt contains, what the log records, and when a new
//! session begins. The agent is a shell script with the files of pi.

#![expect(clippy::disallowed_methods, reason = "agents are programs, and leave files")]

use std::path::{Path, PathBuf};

use tertulia_agent::{AgentKind, agents};
use tertulia_session::{Entry, FreshStart, MemoryMode, Turn, TurnMemory, TurnState};
use tertulia_store::{SessionId, SessionStore};
use tertulia_team::{Driver, Team, TeamMember, earlier_turns, sent_prompt};

use crate::driver::{Heard, scripted, spec, team};

pub(crate) struct Talk {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: SessionStore,
    driver: Option<Driver>,
    pub(crate) session: SessionId,
}

/// Returns a member that is the script, with its sessions in this folder.
fn pi(name: &str, folder: &Path) -> TeamMember {
    let mut spec = spec(AgentKind::Cli(agents::PI));
    let script = folder.join("pi.sh");
    std::fs::write(&script, include_str!("fake_pi.sh")).unwrap();
    spec.program = Some("/bin/sh".into());
    spec.args = vec![script.to_str().unwrap().into()];
    spec.env.insert("PI_CODING_AGENT_SESSION_DIR".into(), folder.to_str().unwrap().into());
    TeamMember::agent(name, spec)
}

pub(crate) fn members(folder: &Path) -> Team {
    team(vec![pi("max", folder), scripted("eva", &["Eva says yes. @ann"])])
}

impl Talk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::memory();
        let driver = Driver::begin(&store, None, members(folder.path()), false).unwrap();
        let session = driver.session().clone();
        Self { folder, store, driver: Some(driver), session }
    }

    pub(crate) fn driver(&mut self) -> &mut Driver {
        self.driver.as_mut().unwrap()
    }

    pub(crate) fn say(&mut self, text: &str) -> &mut Self {
        let mut heard = Heard::default();
        self.driver().say(None, text, &mut heard).unwrap();
        self.driver().run(&mut heard).unwrap();
        self
    }

    /// Opens the session again with this team, as another process does.
    fn reopen(&mut self, change: impl FnOnce(&mut TeamMember)) -> &mut Self {
        self.driver = None;
        let mut max = pi("max", self.folder.path());
        change(&mut max);
        let team = team(vec![max, scripted("eva", &["Eva says yes. @ann"])]);
        let opened = Driver::reopen(&self.store, &self.session, team, false, &mut Heard::default());
        self.driver = Some(opened.unwrap().driver);
        self
    }

    /// Returns the prompts of each session of the agent, in order.
    pub(crate) fn prompts(&self) -> Vec<Vec<String>> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "prompt"));
        paths.sort_by_key(|path| std::fs::metadata(path).unwrap().modified().unwrap());
        let mut sessions: Vec<(String, Vec<String>)> = Vec::new();
        for path in paths {
            let name = path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
            let prompt = std::fs::read_to_string(&path).unwrap();
            match sessions.iter_mut().find(|(session, _)| session == name) {
                Some((_, prompts)) => prompts.push(prompt),
                None => sessions.push((name.to_owned(), vec![prompt])),
            }
        }
        sessions.into_iter().map(|(_, prompts)| prompts).collect()
    }

    pub(crate) fn turns(&mut self, state: TurnState) -> Vec<Turn> {
        let turns = self.driver().entries().iter().filter_map(Entry::turn);
        turns.filter(|turn| turn.state == state && *turn.member == *"max").cloned().collect()
    }

    pub(crate) fn memories(&mut self) -> Vec<TurnMemory> {
        let turns = self.turns(TurnState::Started);
        turns.into_iter().map(|turn| *turn.memory.unwrap()).collect()
    }

    pub(crate) fn reasons(&mut self) -> Vec<Option<FreshStart>> {
        self.memories().into_iter().map(|memory| memory.fresh_start).collect()
    }
}

#[test]
fn an_agent_with_a_memory_gets_only_what_is_new() {
    let mut talk = Talk::new();
    talk.say("Hello @max").say("What do you say, @eva?").say("And now, @max?");
    let prompts = talk.prompts();
    assert_eq!(prompts.len(), 1, "one session of the agent: {prompts:#?}");
    let [first, second] = prompts[0].as_slice() else { panic!("{prompts:#?}") };
    assert!(first.contains("Hello @max") && first.contains("[MESSAGE from ann]"), "{first}");
    assert_eq!(
        second,
        "[CONTEXT]\n- ann -> eva: What do you say, @eva?\n- eva -> ann: Eva says yes. @ann\n\n\
         [MESSAGE from ann]\n  And now, @max?"
    );
    let memories = talk.memories();
    assert_eq!(memories.iter().map(TurnMemory::continues).collect::<Vec<_>>(), [false, true]);
    assert!(memories[0].settings.is_some() && memories[0].first.is_some(), "{memories:#?}");
    let done = talk.turns(TurnState::Done);
    assert!(done.iter().all(|turn| turn.native_head.is_some()), "{done:#?}");
    assert_eq!(done[0].native_session_id, done[1].native_session_id);
}

#[test]
fn a_delta_is_recorded_and_shown_with_what_the_agent_had() {
    let mut talk = Talk::new();
    talk.say("Hello @max").say("[TEAM_TASK: Find it] Go on, @max.").say("And @max?");
    let entries = talk.driver().entries().to_vec();
    let turns: Vec<&Entry> = entries
        .iter()
        .filter(|entry| {
            entry
                .turn()
                .is_some_and(|turn| turn.state == TurnState::Started && *turn.member == *"max")
        })
        .collect();
    let prompts = talk.prompts().remove(0);
    for (turn, prompt) in turns.iter().zip(&prompts) {
        let sent = sent_prompt(&entries, &turn.id).unwrap();
        assert_eq!(sent.text, *prompt);
        assert!(sent.redacted.is_empty());
    }
    assert!(prompts[1].starts_with("[TEAM_TASK]\n  Find it\n\n"), "{}", prompts[1]);
    assert!(!prompts[2].contains("Find it"), "{}", prompts[2]);
    let sent = sent_prompt(&entries, &turns[2].id).unwrap();
    let earlier = earlier_turns(&entries, &sent);
    assert_eq!(earlier.len(), 2, "{earlier:#?}");
    assert_eq!(earlier[1].prompt_bytes, prompts[1].len());
    assert!(earlier.iter().all(|turn| turn.answer.is_some() && !turn.quoted.is_empty()));
    assert_eq!(earlier_turns(&entries, &sent_prompt(&entries, &turns[0].id).unwrap()), []);
}

#[test]
fn another_process_continues_the_session_of_the_agent() {
    let mut talk = Talk::new();
    talk.say("Hello @max").reopen(|_| {}).say("And now, @max?");
    assert_eq!(talk.prompts().len(), 1);
    assert_eq!(talk.reasons(), [None, None]);
}

#[test]
fn a_failed_turn_whose_prompt_the_agent_has_is_not_repeated() {
    let mut talk = Talk::new();
    talk.say("Hello @max").say("Please [FAIL] @max").say("And now, @max?");
    let prompts = talk.prompts();
    let tokens = prompts.last().unwrap().concat();
    assert_eq!(tokens.matches("Please [FAIL]").count(), 1, "{prompts:#?}");
    let failed = talk.turns(TurnState::Failed).remove(0);
    let reasons = talk.reasons();
    match failed.native_head {
        Some(_) => assert_eq!(reasons, [None, None, None]),
        None => assert!(matches!(reasons[2], Some(FreshStart::TurnEnded { .. })), "{reasons:?}"),
    }
}

#[test]
fn a_redacted_message_is_in_no_session_that_is_continued() {
    let mut talk = Talk::new();
    talk.say("The key is ab12 @max").say("And now, @max?");
    let secret = talk
        .driver()
        .entries()
        .iter()
        .find(|entry| entry.message().is_some_and(|message| message.text().contains("ab12")));
    let secret = secret.unwrap().id.clone();
    talk.store.redact(&talk.session, &secret, None).unwrap();
    talk.say("Go on, @max.").say("And on, @max.");
    let prompts = talk.prompts();
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert!(!prompts[1].concat().contains("ab12"), "{prompts:#?}");
    let reasons = talk.reasons();
    assert_eq!(reasons[2], Some(FreshStart::Redacted { entry: secret }));
    assert_eq!(reasons[3], None);
}

#[test]
fn a_changed_setting_begins_a_new_session() {
    let mut talk = Talk::new();
    talk.say("Hello @max").reopen(|max| max.instruction = Some("Be brief.".to_owned()));
    talk.say("And now, @max?");
    let prompts = talk.prompts();
    assert_eq!(prompts.len(), 2);
    assert!(prompts[1][0].contains("Hello @max"), "{prompts:#?}");
    let what = "instructions".into();
    assert_eq!(talk.reasons()[1], Some(FreshStart::SettingsChanged { what }));
}

#[test]
fn a_session_that_somebody_changed_begins_anew() {
    let mut talk = Talk::new();
    talk.say("Hello @max");
    let files = std::fs::read_dir(talk.folder.path()).unwrap();
    let mut paths = files.map(|file| file.unwrap().path());
    let path = paths.find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let text = std::fs::read_to_string(&path).unwrap().replace("prompt 1", "prompt 2");
    std::fs::write(&path, text).unwrap();
    talk.say("And now, @max?");
    assert_eq!(talk.prompts().len(), 2);
    let reason = talk.reasons().remove(1).unwrap();
    assert!(
        matches!(&reason, FreshStart::Drifted { class, .. } if **class == *"edited"),
        "{reason:?}"
    );
}

#[test]
fn a_session_that_was_compacted_in_its_first_turn_begins_anew() {
    let mut talk = Talk::new();
    talk.say("Hello [COMPACT] @max").say("And now, @max?");
    assert_eq!(talk.prompts().len(), 2);
    let reason = talk.reasons().remove(1).unwrap();
    assert!(
        matches!(&reason, FreshStart::Drifted { class, .. } if **class == *"compacted"),
        "{reason:?}"
    );
}

#[test]
fn new_messages_that_do_not_fit_beside_a_large_message_are_not_lost() {
    // The message is cut, or it fits and leaves no room.
    for (words, others) in [(1_700, 2), (900, 8)] {
        let mut talk = Talk::new();
        talk.reopen(|max| max.budget_bytes = 4_096).say("Hello @max");
        for number in 0..others {
            talk.say(&format!("We decided: gateway_{number} has port 4{number:03}. @eva"));
        }
        talk.say(&format!("{}@max", "why ".repeat(words)));
        talk.say("Which ports have gateway_0 and gateway_1, @max?");
        let prompts = talk.prompts();
        assert_eq!(talk.reasons()[1], Some(FreshStart::Overflow), "{prompts:#?}");
        let last = prompts.last().unwrap().concat();
        for name in ["gateway_0 has port 4000", "gateway_1 has port 4001"] {
            assert!(last.contains(name), "{name} {prompts:#?}");
        }
    }
}

#[test]
fn without_a_memory_every_prompt_is_whole() {
    let mut talk = Talk::new();
    talk.reopen(|max| max.memory = MemoryMode::Fresh);
    talk.say("Hello @max").say("And now, @max?");
    let prompts = talk.prompts();
    assert_eq!(prompts.len(), 2);
    assert!(prompts[1][0].contains("Hello @max"), "{prompts:#?}");
    let turns = talk.turns(TurnState::Started);
    assert!(turns.iter().all(|turn| turn.memory.is_none()), "{turns:#?}");
}

#[test]
fn an_agent_that_does_not_open_its_session_gets_the_whole_prompt_in_the_same_turn() {
    let mut talk = Talk::new();
    talk.say("Hello @max");
    std::fs::write(talk.folder.path().join("lost"), "").unwrap();
    talk.say("And now, @max?").say("And then, @max?");
    let prompts = talk.prompts();
    assert_eq!(prompts.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1], "{prompts:#?}");
    assert!(prompts[1][0].contains("Hello @max"), "{prompts:#?}");
    let entries = talk.driver().entries().to_vec();
    let second = talk.turns(TurnState::Done).remove(1).turn_id.unwrap();
    let sent = sent_prompt(&entries, &second).unwrap();
    assert_eq!(sent.text, prompts[1][0]);
    let reason = sent.restarted.unwrap();
    assert!(
        matches!(&reason, FreshStart::Drifted { class, .. } if **class == *"refused"),
        "{reason:?}"
    );
}
