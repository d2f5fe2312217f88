//! Generators of any memory of an agent, and of any reason for a new session.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tertulia_session::json::Json;
use tertulia_session::{FreshStart, MemoryMode, TurnMemory, TurnState};

use super::entries::{id, object_json};
use super::{boxed, fields, json_string};

pub(super) fn memory() -> impl Strategy<Value = Box<TurnMemory>> {
    let ids = (option::of(id()), option::of(id()), option::of(id()));
    let texts = (option::of(boxed()), option::of(object_json()));
    (select(&MemoryMode::ALL), ids, texts, option::of(fresh_start()), fields()).prop_map(
        |(mode, (delivered, first, until), (session, settings), fresh_start, unknown)| {
            Box::new(TurnMemory {
                mode,
                delivered,
                first,
                session,
                settings,
                fresh_start,
                until,
                unknown,
            })
        },
    )
}

fn fresh_start() -> impl Strategy<Value = FreshStart> {
    let other = json_string().prop_map(|value| {
        FreshStart::Other(Json::parse(&format!(r#"{{"kind":"y","a":{value}}}"#)).unwrap())
    });
    prop_oneof![
        id().prop_map(|entry| FreshStart::Redacted { entry }),
        id().prop_map(|entry| FreshStart::Branched { entry }),
        boxed().prop_map(|what| FreshStart::SettingsChanged { what }),
        id().prop_map(|entry| FreshStart::Summarized { entry }),
        id().prop_map(|entry| FreshStart::NativeUsed { entry }),
        (id(), select(&TurnState::ALL))
            .prop_map(|(turn, state)| FreshStart::TurnEnded { turn, state }),
        (boxed(), boxed()).prop_map(|(class, message)| FreshStart::Drifted { class, message }),
        boxed().prop_map(|session| FreshStart::OtherSession { session }),
        boxed().prop_map(|member| FreshStart::Shared { member }),
        Just(FreshStart::Overflow),
        Just(FreshStart::Unreadable),
        other,
    ]
}
