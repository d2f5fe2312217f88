//! Agents of the Agent Client Protocol that load the session of an earlier process: exactly the replay of what was said
//! is accepted, in whatever pieces it arrives.

use proptest::prelude::*;
use tertulia_dialect::stream::{
    AcpSession, AgentAsk, AgentClient, AgentPrompt, Exit, Limits, LoadedSession, NotLoaded,
};
use tertulia_session::json::Json;

const HELLO: &str =
    r#"{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}"#;

#[derive(Clone, Debug, PartialEq)]
enum Item {
    Answer(String),
    Call { id: u8, input: u8, output: String },
}

/// A prompt, and what the agent did.
type TurnItems = (String, Vec<Item>);

fn client_of(loaded: Option<LoadedSession<'_>>) -> AgentClient {
    AgentClient::acp(&AcpSession { cwd: "/p", model: None, loaded }, Limits::default())
}

/// Passes lines to the client. Returns what it sends.
fn push(client: &mut AgentClient, lines: &[String]) -> Vec<String> {
    let mut asks = Vec::new();
    let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
    client.push(bytes.as_bytes(), &mut Vec::new(), &mut asks);
    let sent = asks.into_iter().filter_map(|ask| match ask {
        AgentAsk::Send(line) => Some(line),
        AgentAsk::Permit(_) => None,
    });
    sent.collect()
}

fn update(fields: &str) -> String {
    format!(
        r#"{{"method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":{fields}}}}}}}"#
    )
}

/// Returns chunks of a text with at most this many characters each.
fn chunks(kind: &str, text: &str, size: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let pieces = chars.chunks(size).map(|piece| {
        let piece = Json::text(&piece.iter().collect::<String>());
        update(&format!(r#""{kind}","content":{{"type":"text","text":{}}}"#, piece.as_str()))
    });
    pieces.collect()
}

/// Returns updates of these items. Some agents report a call in one update when they replay it.
fn lines_of(items: &[Item], size: usize) -> Vec<String> {
    let lines = items.iter().flat_map(|item| match item {
        Item::Answer(text) => chunks("agent_message_chunk", text, size),
        Item::Call { id, input, output } => {
            let call = format!(r#","toolCallId":"c-{id}""#);
            let begun = format!(r#"{call},"rawInput":{{"n":{input},"all":true}}"#);
            let output = Json::text(output);
            let ended = format!(r#","status":"completed","rawOutput":{}"#, output.as_str());
            match size % 2 {
                0 => vec![
                    update(&format!(r#""tool_call","status":"pending"{begun}"#)),
                    update(&format!(r#""tool_call_update"{call}{ended}"#)),
                ],
                _ => vec![update(&format!(r#""tool_call"{ended}{begun}"#))],
            }
        }
    });
    lines.collect()
}

/// Runs the turns in one process, and returns the hash of what was said.
fn said(turns: &[TurnItems], size: usize) -> String {
    let mut client = client_of(None);
    for (number, (prompt, items)) in turns.iter().enumerate() {
        let prompt = AgentPrompt { message: prompt, ..AgentPrompt::default() };
        client.begin(&prompt, &mut Vec::new());
        if number == 0 {
            let opened = r#"{"id":2,"result":{"sessionId":"s"}}"#;
            push(&mut client, &[HELLO.to_owned(), opened.to_owned()]);
        }
        push(&mut client, &lines_of(items, size));
        let id = 4 + 4 * number;
        push(&mut client, &[format!(r#"{{"id":{id},"result":{{"stopReason":"end_turn"}}}}"#)]);
        assert!(client.is_ended());
        client.finish(Exit::Code(0), "", &mut Vec::new());
    }
    client.history().expect("a hash")
}

/// Loads a session with this hash, and replays these turns. Returns why it is not continued.
fn load(history: &str, turns: &[TurnItems], size: usize) -> Option<NotLoaded> {
    let mut client = client_of(Some(LoadedSession { session: "s", history, cost_usd: None }));
    client.begin(&AgentPrompt { message: "And now?", ..AgentPrompt::default() }, &mut Vec::new());
    let sent = push(&mut client, &[HELLO.to_owned()]);
    assert!(sent.concat().contains(r#""method":"session/load","params":{"sessionId":"s""#));
    for (prompt, items) in turns {
        push(&mut client, &chunks("user_message_chunk", prompt, size));
        push(&mut client, &lines_of(items, size));
    }
    let sent = push(&mut client, &[r#"{"id":2,"result":null}"#.to_owned()]).concat();
    assert_eq!(sent.contains("session/prompt"), client.not_loaded().is_none(), "{sent}");
    assert_eq!(client.is_prompted(), client.not_loaded().is_none());
    client.not_loaded().cloned()
}

fn item() -> impl Strategy<Value = Item> {
    let call = (any::<u8>(), ".{0,9}");
    prop_oneof![
        ".{1,30}".prop_map(Item::Answer),
        call.prop_map(|(input, output)| Item::Call { id: 0, input, output }),
    ]
}

fn turns() -> impl Strategy<Value = Vec<TurnItems>> {
    let items = (prop::collection::vec(item(), 0..6), ".{1,9}");
    let items = items.prop_map(|(mut items, last)| {
        items.push(Item::Answer(last));
        items
    });
    prop::collection::vec((".{1,30}", items), 1..5).prop_map(numbered)
}

/// Gives every call an id of its own, as agents do: a second call with the same id would be an update of the first.
fn numbered(mut turns: Vec<TurnItems>) -> Vec<TurnItems> {
    let calls = turns.iter_mut().flat_map(|(_, items)| items).filter_map(|item| match item {
        Item::Call { id, .. } => Some(id),
        Item::Answer(_) => None,
    });
    calls.zip(1..).for_each(|(id, number)| *id = number);
    turns
}

/// Changes the turns at one place.
fn change(turns: &mut Vec<TurnItems>, place: prop::sample::Index, what: u8) {
    let (first, last) = (turns.len() == 1, turns.len() - 1);
    let (prompt, items) = place.get(turns).clone();
    let turn = place.index(turns.len());
    let item = place.index(items.len());
    match what {
        0 => turns[turn].0 = format!("{prompt}."),
        1 => match &mut turns[turn].1[item] {
            Item::Answer(text) => text.insert(0, '.'),
            Item::Call { output, .. } => output.push('.'),
        },
        2 => match &mut turns[turn].1[item] {
            Item::Answer(text) => text.push('.'),
            Item::Call { input, .. } => *input ^= 1,
        },
        3 if !first => drop(turns.remove(last)),
        _ => turns.push(("Me too.".to_owned(), vec![Item::Answer("Yes.".to_owned())])),
    }
}

proptest! {
    #[test]
    fn the_replay_of_what_was_said_is_accepted_in_any_pieces(
        turns in turns(), live in 1_usize..9, replayed in 1_usize..9,
    ) {
        prop_assert_eq!(load(&said(&turns, live), &turns, replayed), None);
    }

    #[test]
    fn any_other_replay_is_not_continued(
        turns in turns(), place in any::<prop::sample::Index>(), what in 0_u8..5, size in 1_usize..9,
    ) {
        let mut others = turns.clone();
        change(&mut others, place, what);
        let reason = load(&said(&turns, size), &others, size);
        let is_longer = others.len() > turns.len();
        let expected =
            if is_longer { NotLoaded::Continued { messages: 2 } } else { NotLoaded::Differs };
        prop_assert_eq!(reason, Some(expected));
    }
}

#[test]
fn long_texts_have_the_same_hash_in_any_pieces() {
    let text = "0123456789é".repeat(20_000);
    let turns = vec![(text.clone(), vec![Item::Answer(text)])];
    assert_eq!(load(&said(&turns, 1000), &turns, 77_777), None);
}

#[test]
fn a_picture_cannot_be_compared() {
    let turns = vec![("Hello".to_owned(), vec![Item::Answer("Yes.".to_owned())])];
    let history = said(&turns, 9);
    let loaded = LoadedSession { session: "s", history: &history, cost_usd: None };
    let mut client = client_of(Some(loaded));
    client.begin(&AgentPrompt::default(), &mut Vec::new());
    push(&mut client, &[HELLO.to_owned()]);
    push(&mut client, &chunks("user_message_chunk", "Hello", 9));
    let picture = r#""agent_message_chunk","content":{"type":"image","data":"aa"}"#;
    push(&mut client, &[update(picture)]);
    push(&mut client, &chunks("agent_message_chunk", "Yes.", 9));
    push(&mut client, &[r#"{"id":2,"result":{}}"#.to_owned()]);
    assert_eq!(client.not_loaded(), Some(&NotLoaded::Differs));
}
