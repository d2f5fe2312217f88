//! A conversation goes from one agent to another and back.

use std::fs;

use tertulia_dialect::native::{NativeFormat, original_bytes};

use super::agents::{World, said_in};

fn begin(world: &mut World, turns: usize) -> std::path::PathBuf {
    let path = world.home.path().join("0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl");
    for turn in 0..turns {
        world.work(NativeFormat::Claude, &path, &format!("request {turn}"));
    }
    path
}

#[test]
fn what_two_agents_said_is_one_conversation_in_both() {
    let mut world = World::new();
    let claude = begin(&mut world, 2);
    world.import(&claude);
    let codex = world.hand_over(NativeFormat::Codex).unwrap();
    assert_eq!(said_in(&codex), world.branch());
    world.work(NativeFormat::Codex, &codex, "go on");
    let imported = world.import(&codex);
    assert_eq!((imported.is_new, imported.messages), (false, 2));
    let expected = [
        "request 0",
        "answer to request 0",
        "request 1",
        "answer to request 1",
        "go on",
        "answer to go on",
    ];
    assert_eq!(world.branch(), expected);
    assert_eq!(world.hand_over(NativeFormat::Claude), Some(claude.clone()));
    assert_eq!(said_in(&claude), expected);
    assert_eq!(world.import(&claude).messages, 0);
    assert_eq!(world.hand_over(NativeFormat::Codex), None);
}

#[test]
fn the_source_is_not_touched_by_a_handover() {
    let mut world = World::new();
    let claude = begin(&mut world, 3);
    let before = fs::read(&claude).unwrap();
    world.import(&claude);
    world.hand_over(NativeFormat::Codex).unwrap();
    assert_eq!(fs::read(&claude).unwrap(), before);
}

#[test]
fn an_untouched_session_comes_back_byte_for_byte() {
    let mut world = World::new();
    let claude = begin(&mut world, 3);
    let mut before = fs::read(&claude).unwrap();
    before.extend_from_slice(b"{\"type\":\"mood\",\"value\":[1, 2]}\r\n\nnot json\n");
    fs::write(&claude, &before).unwrap();
    world.import(&claude);
    assert_eq!(original_bytes(&world.entries(), "").unwrap(), before);
}

#[test]
fn a_session_that_grew_is_refused_until_it_is_imported() {
    let mut world = World::new();
    let claude = begin(&mut world, 1);
    world.import(&claude);
    let codex = world.hand_over(NativeFormat::Codex).unwrap();
    world.work(NativeFormat::Codex, &codex, "one more");
    world.work(NativeFormat::Claude, &claude, "meanwhile");
    world.import(&claude);
    world.import(&codex);
    assert_eq!(world.branch().len(), 6);
    world.hand_over(NativeFormat::Codex).unwrap();
    let said = said_in(&codex);
    assert_eq!(said.iter().filter(|text| *text == "meanwhile").count(), 1, "{said:?}");
    assert_eq!(said.iter().filter(|text| *text == "one more").count(), 1, "{said:?}");
}
