//! Generators of any entry that a reader can return, logs that are trees, and JSON that is nearly an entry.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tertulia_session::json::Json;
use tertulia_session::{
    AskRound, BranchSummary, CacheMiss, Cause, CompactionSummary, ContextCut, CutStrategy, Entry,
    EntryId, EntryKind, Intent, Message, ModelChange, NativeDirection, NativeRecord, NativeSession,
    NewEntry, OtherEntry, Purged, QueueRule, Recall, RecordHash, Redaction, Role, RouteSource,
    RuntimeInit, Salt, SessionHeader, SessionSetting, Setting, SpendingLimit, SystemPromptOverride,
    TeamTask, ThinkingLevelChange, Turn, TurnActivity, TurnEvent, TurnState, Usage, Usd,
};

use super::memory::memory;
use super::{any_json, boxed, fields, json, json_string, message, object, text, timestamp};

/// The types with a special payload, and two without.
const TYPES: [&str; 21] = [
    "session_header",
    "purged",
    "message",
    "model_change",
    "thinking_level_change",
    "runtime_init",
    "system_prompt_override",
    "team_task",
    "compaction_summary",
    "context_cut",
    "branch_summary",
    "recall",
    "redaction",
    "turn",
    "turn_event",
    "session_setting",
    "native_record",
    "native_session",
    "usage",
    "custom",
    "surprise",
];

/// Names of fields of some type of entry.
const NAMES: &str = "version role parts content speaker routing model level data systemPrompt task \
     summary firstKeptEntryId coveredFromId coveredToId coveredCount tokensBefore tokensAfter \
     strategy elidedIds keptIds refused scalePermille olderCount reason sourceSessionId sourceEntryId sourceIds replaces targetId member state cause \
     inputTokens outputTokens costUsd timestamp runId meta parentId x kind turnId agent table turn \
     toolCallId toolName arguments text message count path title turns recordType direction records bytes hash lastRecordId receipt memory nativeHead mode deliveredId freshStart untilId ask members judge reactions quorum graceSeconds seed round";

pub(super) fn id() -> impl Strategy<Value = EntryId> {
    text().prop_map(EntryId::from)
}

pub(super) fn object_json() -> impl Strategy<Value = Json> {
    json().prop_map(|value| Json::parse(&format!("{{\"a\":{value}}}")).unwrap())
}

fn entry_message() -> impl Strategy<Value = Message> {
    (message(), any::<bool>()).prop_map(|(mut message, speaks)| {
        if !speaks {
            message.speaker = None;
            message.role = message.role.or(Some(Role::User));
        }
        message
    })
}

fn changes() -> impl Strategy<Value = EntryKind> {
    let header = fields().prop_map(|unknown| SessionHeader { unknown, ..SessionHeader::default() });
    prop_oneof![
        header.prop_map(EntryKind::SessionHeader),
        (boxed(), fields())
            .prop_map(|(model, unknown)| EntryKind::ModelChange(ModelChange { model, unknown })),
        (boxed(), fields()).prop_map(|(level, unknown)| {
            EntryKind::ThinkingLevelChange(ThinkingLevelChange { level, unknown })
        }),
        (object_json(), fields())
            .prop_map(|(data, unknown)| EntryKind::RuntimeInit(RuntimeInit { data, unknown })),
        (boxed(), fields()).prop_map(|(system_prompt, unknown)| {
            EntryKind::SystemPromptOverride(SystemPromptOverride { system_prompt, unknown })
        }),
        (option::of(boxed()), fields())
            .prop_map(|(task, unknown)| EntryKind::TeamTask(TeamTask { task, unknown })),
    ]
}

fn compaction_summary() -> impl Strategy<Value = EntryKind> {
    let ids = (id(), option::of(id()), option::of(id()));
    let counts = [(); 5].map(|()| option::of(any::<u64>()));
    let texts = [(); 6].map(|()| option::of(boxed()));
    let kept = option::of(vec(id(), 0..3));
    (boxed(), (ids, kept), counts, texts, fields()).prop_map(
        |(summary, ids, counts, texts, unknown)| {
            let (ids, kept_ids) = ids;
            let [covered_count, tokens_before, tokens_after, scale_permille, older_count] = counts;
            let [covered_hash, strategy, author, refused, reason, member] = texts;
            EntryKind::CompactionSummary(Box::new(CompactionSummary {
                summary,
                first_kept_entry_id: ids.0,
                covered_from_id: ids.1,
                covered_to_id: ids.2,
                covered_count,
                covered_hash,
                tokens_before,
                tokens_after,
                strategy,
                author,
                kept_ids,
                refused,
                scale_permille,
                reason,
                older_count,
                member,
                unknown,
            }))
        },
    )
}

fn context_cut() -> impl Strategy<Value = EntryKind> {
    let strategy = select(vec![CutStrategy::Elide, CutStrategy::Drop]);
    let ids = (option::of(id()), option::of(vec(id(), 0..3)), option::of(vec(id(), 0..3)));
    (strategy, ids, any::<(u64, u64, Option<u64>)>(), (boxed(), option::of(boxed())), fields())
        .prop_map(
            |(
                strategy,
                (first_kept_entry_id, elided_ids, kept_ids),
                tokens,
                (reason, member),
                unknown,
            )| {
                EntryKind::ContextCut(ContextCut {
                    strategy,
                    first_kept_entry_id,
                    elided_ids,
                    tokens_before: tokens.0,
                    tokens_after: tokens.1,
                    reason,
                    kept_ids,
                    scale_permille: tokens.2,
                    member,
                    unknown,
                })
            },
        )
}

fn recall() -> impl Strategy<Value = EntryKind> {
    (boxed(), vec(id(), 0..3), any::<bool>(), option::of(boxed()), fields()).prop_map(
        |(text, source_ids, replaces, member, unknown)| {
            EntryKind::Recall(Box::new(Recall { text, source_ids, replaces, member, unknown }))
        },
    )
}

fn views() -> impl Strategy<Value = EntryKind> {
    let branch = (boxed(), id(), option::of(boxed()), fields()).prop_map(
        |(source_session_id, source_entry_id, summary, unknown)| {
            EntryKind::BranchSummary(BranchSummary {
                source_session_id,
                source_entry_id,
                summary,
                unknown,
            })
        },
    );
    let redaction =
        (id(), option::of(boxed()), fields()).prop_map(|(target_id, reason, unknown)| {
            EntryKind::Redaction(Redaction { target_id, reason, unknown })
        });
    prop_oneof![compaction_summary(), context_cut(), branch, recall(), redaction]
}

/// Returns any cause that this version supports.
fn cause() -> impl Strategy<Value = Cause> {
    let by = || option::of(boxed());
    let intent = || select(&Intent::ALL);
    prop_oneof![
        (id(), by(), select(&RouteSource::ALL), intent())
            .prop_map(|(entry, by, route, intent)| Cause::Asked { entry, by, route, intent }),
        (id(), id(), by(), intent()).prop_map(|(turn, entry, by, intent)| Cause::Repeated {
            turn,
            entry,
            by,
            intent
        }),
        select(&QueueRule::ALL).prop_map(|rule| Cause::Chosen { rule }),
        id().prop_map(|entry| Cause::Answered { entry }),
        boxed().prop_map(Cause::failed),
        (boxed(), option::of(boxed()), option::of(timestamp()), option::of(boxed())).prop_map(
            |(class, limit, resets_at, tools)| Cause::Failed { class, limit, resets_at, tools }
        ),
        (id(), id(), by(), intent()).prop_map(|(turn, entry, by, intent)| Cause::FellBack {
            turn,
            entry,
            by,
            intent
        }),
        (id(), id(), by(), intent()).prop_map(|(turn, entry, by, intent)| Cause::AwaitsReset {
            turn,
            entry,
            by,
            intent
        }),
        id().prop_map(|turn| Cause::Limited { turn }),
        (select(&SpendingLimit::ALL), usd(), usd())
            .prop_map(|(limit, spent, allowed)| Cause::Overspent { limit, spent, allowed }),
        any::<bool>().prop_map(|all| Cause::Cancelled { all }),
        (id(), by()).prop_map(|(entry, by)| Cause::Dropped { entry, by }),
        (id(), by()).prop_map(|(entry, by)| Cause::Declined { entry, by }),
        (id(), by(), select(&AskRound::ALL), option::of(id()))
            .prop_map(|(entry, by, round, turn)| Cause::Consulted { entry, by, round, turn }),
        id().prop_map(|entry| Cause::GraceEnded { entry }),
        Just(Cause::PassedOver),
        id().prop_map(|entry| Cause::CutOff { entry }),
        Just(Cause::ProgramStopped),
    ]
}

/// Returns any turn in the form of version 2.
pub(crate) fn turn() -> impl Strategy<Value = Turn> {
    let state = select(&TurnState::ALL);
    let texts = [(); 3].map(|()| option::of(boxed()));
    let recipe = option::of(boxed().prop_map(|text| Json::text(&text)));
    let other = json_string().prop_map(|value| {
        let source = format!(r#"{{"kind":"y","a":{value}}}"#);
        Cause::Other(Json::parse(&source).unwrap())
    });
    let cause = (option::of(id()), prop_oneof![8 => cause(), 1 => other]);
    let own = (option::of(memory()), option::of(object_json()));
    (boxed(), state, cause, texts, recipe, own, fields()).prop_map(
        |(member, state, (turn_id, cause), texts, prompt_recipe, own, unknown)| {
            let [error_class, prompt_hash, native_session_id] = texts;
            let (memory, native_head) = own;
            Turn {
                member,
                state,
                turn_id,
                cause,
                cause_source: None,
                error_class,
                prompt_hash,
                prompt_recipe,
                native_session_id,
                memory,
                native_head,
                unknown,
            }
        },
    )
}

fn activity() -> impl Strategy<Value = TurnActivity> {
    let some = || option::of(boxed());
    prop_oneof![
        (boxed(), some()).prop_map(|(session, model)| TurnActivity::Began { session, model }),
        (boxed(), boxed(), any_json()).prop_map(|(id, name, input)| TurnActivity::ToolStarted {
            id,
            name,
            input
        }),
        (boxed(), some(), some(), any::<bool>()).prop_map(|(id, name, output, is_error)| {
            TurnActivity::ToolFinished { id, name, output, is_error }
        }),
        (boxed(), some()).prop_map(|(name, reason)| TurnActivity::ToolDenied { name, reason }),
        boxed().prop_map(|title| TurnActivity::PermissionAsked { title }),
        (boxed(), some())
            .prop_map(|(title, choice)| TurnActivity::PermissionAnswered { title, choice }),
        boxed().prop_map(|text| TurnActivity::Thought { text }),
        (some(), boxed()).prop_map(|(class, message)| TurnActivity::Warned { class, message }),
        (boxed(), boxed(), boxed()).prop_map(|(class, message, cure)| TurnActivity::Failed {
            class,
            message,
            cure
        }),
        any::<u64>().prop_map(|budget| TurnActivity::Retried { budget }),
        (boxed(), any_json()).prop_map(|(prompt_hash, prompt_recipe)| TurnActivity::Resent {
            prompt_hash,
            prompt_recipe
        }),
        memory().prop_map(|memory| TurnActivity::MemoryReset { memory }),
        "y[a-z]{0,4}".prop_map(|kind| TurnActivity::Other { kind: kind.into() }),
    ]
}

fn setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        any::<u64>().prop_map(|count| Setting::Continued { count }),
        any::<u64>().prop_map(|count| Setting::Reopened { count }),
        (boxed(), id()).prop_map(|(member, turn)| Setting::LimitEnded { member, turn }),
        boxed().prop_map(|path| Setting::Folder { path }),
        any::<Option<u32>>().prop_map(|turns| Setting::TurnsMax { turns }),
        (boxed(), usd()).prop_map(|(day, spent)| Setting::DaySpent { day, spent }),
        boxed().prop_map(|title| Setting::Title { title }),
        "y[a-z]{0,4}".prop_map(|kind| Setting::Other { kind: kind.into() }),
    ]
}

fn turns() -> impl Strategy<Value = EntryKind> {
    let event =
        (id(), boxed(), activity(), fields()).prop_map(|(turn_id, member, activity, unknown)| {
            EntryKind::TurnEvent(TurnEvent { turn_id, member, activity, source: None, unknown })
        });
    let setting = (setting(), fields()).prop_map(|(setting, unknown)| {
        EntryKind::SessionSetting(SessionSetting { setting, source: None, unknown })
    });
    prop_oneof![turn().prop_map(|turn| EntryKind::Turn(Box::new(turn))), event, setting]
}

fn natives() -> impl Strategy<Value = EntryKind> {
    let record =
        (boxed(), option::of(boxed()), fields()).prop_map(|(agent, record_type, unknown)| {
            let (agent, record_type) =
                (String::from(agent).into(), record_type.map(|name| String::from(name).into()));
            EntryKind::NativeRecord(NativeRecord { agent, record_type, unknown })
        });
    let direction = select(&NativeDirection::ALL);
    let ids = (boxed(), boxed(), option::of(boxed()), option::of(boxed()));
    let counts = (any::<u64>(), any::<u64>(), boxed());
    let session = (ids, direction, counts, option::of(object_json()), fields()).prop_map(
        |(
            (agent, native_session_id, path, last_record_id),
            direction,
            counts,
            receipt,
            unknown,
        )| {
            let (records, bytes, hash) = counts;
            EntryKind::NativeSession(Box::new(NativeSession {
                agent,
                native_session_id,
                direction,
                path,
                records,
                bytes,
                hash,
                last_record_id,
                receipt,
                unknown,
            }))
        },
    );
    prop_oneof![record, session]
}

fn usd() -> impl Strategy<Value = Usd> {
    prop_oneof![
        (0.0..1e9).prop_map(|amount| Usd::new(amount).unwrap()),
        Just(Usd::from_json(Json::parse("0.10").unwrap()).unwrap()),
    ]
}

fn usage() -> impl Strategy<Value = EntryKind> {
    let cached = (option::of(any::<u64>()), option::of(any::<u64>()));
    let tokens = (any::<u64>(), cached, any::<u64>());
    let miss = option::of(select(&CacheMiss::ALL));
    let origin = (option::of(boxed()), option::of(boxed()), miss);
    (boxed(), option::of(boxed()), tokens, option::of(usd()), origin, fields()).prop_map(
        |(member, model, (input_tokens, cached, output_tokens), cost_usd, origin, unknown)| {
            let (cached_tokens, cache_write_tokens) = cached;
            let (agent, prices_date, cache_miss) = origin;
            EntryKind::Usage(Usage {
                member,
                model,
                input_tokens,
                cached_tokens,
                output_tokens,
                cost_usd,
                cache_write_tokens,
                agent,
                prices_date,
                cache_miss,
                unknown,
            })
        },
    )
}

fn kind() -> impl Strategy<Value = EntryKind> {
    let other = ("y[a-z]{0,4}", option::of(any_json())).prop_map(|(type_name, payload)| {
        EntryKind::Other(OtherEntry { type_name: type_name.into(), payload })
    });
    let purged =
        (boxed(), any::<[u8; 32]>(), id(), fields()).prop_map(|(type_name, hash, by, unknown)| {
            let hash = RecordHash::from_bytes(hash);
            EntryKind::Purged(Purged { type_name, hash, by, unknown })
        });
    prop_oneof![
        1 => purged,
        4 => entry_message().prop_map(EntryKind::Message),
        6 => changes(),
        4 => views(),
        3 => turns(),
        1 => natives(),
        1 => usage(),
        1 => option::of(any_json()).prop_map(EntryKind::Custom),
        1 => other,
    ]
}

/// Returns any entry that a reader can return.
pub(crate) fn entry() -> impl Strategy<Value = Entry> {
    let meta = option::of(object_json());
    let salt = option::of(any::<[u8; 16]>().prop_map(Salt::from_bytes));
    let named = (id(), option::of(id()), kind(), option::of(timestamp()), option::of(boxed()));
    (named, meta, salt, fields()).prop_map(|(named, meta, salt, unknown)| {
        let (id, parent_id, kind, timestamp, run_id) = named;
        Entry { id, parent_id, kind, timestamp, run_id, meta, salt, unknown }
    })
}

/// Returns a log that is a tree: entry `eN` is at position N, and has the position of its parent. The second entry
/// names the first one as its parent, so every later entry without a parent is a root.
pub(crate) fn tree() -> impl Strategy<Value = (Vec<Entry>, Vec<Option<usize>>)> {
    vec(option::weighted(0.9, any::<prop::sample::Index>()), 0..40).prop_map(|parents| {
        let mut positions = vec![None, Some(0)];
        for parent in parents {
            positions.push(parent.map(|parent| parent.index(positions.len())));
        }
        let entries = positions.iter().enumerate().map(|(position, parent)| {
            let mut entry = NewEntry::new(EntryKind::Custom(None));
            entry.parent_id = parent.map(|parent| EntryId::from(format!("e{parent}")));
            entry.with_id(EntryId::from(format!("e{position}")))
        });
        (entries.collect(), positions)
    })
}

/// Returns payloads of `custom` entries in the form of version 1, or nearly so.
pub(crate) fn custom_of_version_1() -> impl Strategy<Value = String> {
    const EVENTS: &str = "began tool_started tool_finished tool_denied permission_asked \
         permission_answered thought warned failed retried sent_again other";
    const SETTINGS: &str = "continue reopened folder turns_max other";
    const FIELDS: &str = "turn member session model id name input output isError reason title \
         choice text class message cure budget promptHash promptRecipe count path turns x";
    let words = |key: &'static str, words: &'static str| {
        let words = select(words.split_whitespace().collect::<Vec<_>>());
        words.prop_map(move |word| (format!("{key:?}"), format!("{word:?}")))
    };
    let first = prop_oneof![words("agent", EVENTS), words("table", SETTINGS)];
    // Most fields are valid, so that many entries can be read.
    let fields = FIELDS.split_whitespace().map(|name| {
        let right = match name {
            "isError" => "true",
            "budget" | "count" | "turns" => "7",
            _ => "\"x\"",
        };
        let value = prop_oneof![60 => Just(right.to_owned()), 4 => json_string(), 1 => json()];
        let field = option::weighted(0.98, value);
        field.prop_map(move |value| Some((format!("{name:?}"), value?)))
    });
    (first, fields.collect::<Vec<_>>())
        .prop_map(|(first, fields)| object([first].into_iter().chain(fields.into_iter().flatten())))
}

/// Returns JSON that is nearly an entry: a known type with random payload fields.
pub(crate) fn nearly_entry() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        3 => json_string(),
        2 => select(vec!["1", "null", "[]", "{}", "\"user\"", "\"elide\"", "\"done\"", "-1", "0.5"])
            .prop_map(str::to_owned),
        1 => json(),
    ];
    let names = select(NAMES.split_whitespace().collect::<Vec<_>>());
    let field = (names, value).prop_map(|(name, value)| (format!("{name:?}"), value));
    let payload = vec(field.clone(), 0..12).prop_map(object);
    let types = select(TYPES.to_vec());
    (types, json_string(), payload, vec(field, 0..3)).prop_map(|(word, id, payload, more)| {
        let known = [("\"id\"", id), ("\"type\"", format!("{word:?}")), ("\"payload\"", payload)];
        object(more.into_iter().chain(known.map(|(name, value)| (name.to_owned(), value))))
    })
}
