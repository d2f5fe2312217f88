//! The rpc methods on stored sessions.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tertulia_operations::rpc::RpcServer;
use tertulia_store::StoreUrl;

use crate::harness::{NOW_MILLIS, Shelf, request};

/// A door that stays open between calls.
struct Door(RpcServer);

impl Door {
    /// One that forgets its sessions in the end.
    fn new() -> Self {
        Self(RpcServer::new(|| NOW_MILLIS))
    }

    fn on(shelf: &Shelf) -> Self {
        let url = shelf.url().parse::<StoreUrl>().unwrap();
        Self(RpcServer::with_place(|| NOW_MILLIS, Ok(url)))
    }

    fn answer(&mut self, method: &str, params: &Value) -> Value {
        let mut out = Vec::new();
        self.0.answer(&request(method, &params.to_string()), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        serde_json::from_str(out.lines().last().unwrap()).unwrap()
    }

    #[track_caller]
    fn result(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.answer(method, params);
        assert_eq!(answer["error"], Value::Null, "{answer}");
        answer["result"].take()
    }

    #[track_caller]
    fn error(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.answer(method, params);
        assert_eq!(answer["result"], Value::Null, "{answer}");
        answer["error"].take()
    }

    #[track_caller]
    fn append(&mut self, entries: &Value) -> Value {
        self.result("append", &json!({"sessionId": "s", "entries": entries}))
    }

    /// The entries of `s`, but for its header.
    #[track_caller]
    fn entries(&mut self) -> Vec<Value> {
        let loaded = self.result("load", &json!({"sessionId": "s"}));
        loaded["entries"].as_array().unwrap()[1..].to_vec()
    }
}

/// A door with the empty session `s`.
fn door() -> Door {
    let mut door = Door::new();
    assert_eq!(door.result("createSession", &json!({"sessionId": "s"})), json!({"sessionId": "s"}));
    door
}

fn message(id: Option<&str>, text: &str) -> Value {
    let mut entry = json!({"type": "message", "payload": {"role": "user", "content": text}});
    if let Some(id) = id {
        entry["id"] = id.into();
    }
    entry
}

#[test]
fn a_session_is_created_once() {
    let mut door = door();
    let twice = door.error("createSession", &json!({"sessionId": "s"}));
    assert_eq!(twice["data"]["code"], "SessionExists");
    let made = door.result("createSession", &json!({}));
    assert!(made["sessionId"].as_str().unwrap().len() > 10);
    assert_snapshot!(door.error("createSession", &json!({"sessionId": "../s"})), @r#"{"code":-32602,"data":{"category":"session","code":"InvalidSessionId","outcome":"not_stored","retryable":false},"message":"\"../s\" cannot be the id of a session; take 1 to 128 letters (a-z, A-Z), digits, '-', '_', '.' and ':', beginning with a letter or digit"}"#);
    assert_snapshot!(door.error("load", &json!({"sessionId": "nobody"})), @r#"{"code":-32000,"data":{"category":"session","code":"SessionNotFound","outcome":"not_stored","retryable":false},"message":"there is no session nobody; `tertulia sessions list` lists all"}"#);
}

#[test]
fn entries_are_appended_once_whatever_is_tried_again() {
    let mut door = door();
    let entries = json!([message(Some("a"), "One"), message(Some("b"), "Two")]);
    assert_eq!(door.append(&entries), json!({"lastAppendedEntryId": "b", "appendedCount": 2}));
    assert_eq!(door.append(&entries), json!({"lastAppendedEntryId": "b", "appendedCount": 0}));
    assert_eq!(door.entries().len(), 2);
    assert_eq!(door.entries()[0]["parentId"], Value::Null, "as it was handed in");
    let other = json!({"sessionId": "s", "entries": [message(Some("a"), "Other")]});
    let error = door.error("append", &other);
    assert_eq!(error["data"]["code"], "SessionWriteFailed");
    assert_eq!(error["data"]["outcome"], "not_stored");
}

#[test]
fn an_entry_without_id_follows_the_one_before_it() {
    let mut door = door();
    // The same words twice are two messages.
    let first = door.append(&json!([message(None, "Yes"), message(None, "Yes")]));
    assert_eq!(first["appendedCount"], 2);
    door.append(&json!([message(None, "Yes")]));
    let entries = door.entries();
    assert_eq!(entries.len(), 3);
    assert_eq!(entries[1]["parentId"], entries[0]["id"]);
    assert_eq!(entries[2]["parentId"], entries[1]["id"]);
    assert!(entries[2]["id"].as_str().unwrap().starts_with("e-"));
}

#[test]
fn an_entry_without_parent_starts_no_branch_by_accident() {
    let mut door = door();
    door.append(&json!([message(Some("a"), "One")]));
    // The redaction names its parent; from here on an entry without one would start a branch.
    door.append(&json!([message(Some("b"), "Secret")]));
    let redacted =
        door.result("redact", &json!({"sessionId": "s", "entryId": "b", "reason": "private"}));
    let again = json!([message(Some("c"), "Three"), message(Some("d"), "Four")]);
    for appended in [2, 0] {
        assert_eq!(door.append(&again)["appendedCount"], appended);
    }
    let entries = door.entries();
    assert_eq!(entries[3]["parentId"], redacted["lastAppendedEntryId"]);
    assert_eq!(entries[4]["parentId"], "c");
    assert_eq!(entries[1]["type"], "purged");
    // What was there before is still known as it is.
    assert_eq!(door.append(&json!([message(Some("a"), "One")]))["appendedCount"], 0);
}

#[test]
fn an_expected_tail_makes_trying_again_harmless() {
    let mut door = door();
    door.append(&json!([message(Some("a"), "One")]));
    let params =
        json!({"sessionId": "s", "expectedTailEntryId": "a", "entries": [message(None, "Two")]});
    let first = door.result("append", &params);
    assert_eq!(first["appendedCount"], 1);
    let again = door.result("append", &params);
    assert_eq!(again["appendedCount"], 0);
    assert_eq!(again["lastAppendedEntryId"], first["lastAppendedEntryId"]);
    let late =
        json!({"sessionId": "s", "expectedTailEntryId": "a", "entries": [message(None, "Other")]});
    let error = door.error("append", &late);
    assert_eq!(error["code"], -32000);
    assert_eq!(
        error["data"],
        json!({"code": "SessionConcurrentWrite", "category": "session", "outcome": "not_stored",
            "retryable": true, "expectedTailEntryId": "a",
            "actualTailEntryId": first["lastAppendedEntryId"]})
    );
}

#[test]
fn a_wrong_entry_is_named_by_its_place() {
    let mut door = door();
    let wrong = |entry: Value| json!({"sessionId": "s", "entries": [message(None, "x"), entry]});
    let told = |door: &mut Door, entry| door.error("append", &wrong(entry))["message"].clone();
    assert_eq!(told(&mut door, json!({"payload": 1})), "entries[1].type is missing; give a string");
    assert_eq!(told(&mut door, json!(7)), "entries[1] must be an object; got a number");
    assert_eq!(
        told(&mut door, json!({"id": "z", "type": "message", "payload": {"role": "boss"}})),
        "entries[1]: Entry z: payload.role must be system, user, assistant or tool; got \"boss\""
    );
    assert_eq!(
        told(&mut door, json!({"id": 7, "type": "custom"})),
        "entries[1].id must be a string; got a number"
    );
    assert_eq!(door.entries().len(), 0, "all or none");
}

#[test]
fn parts_of_a_session_are_loaded() {
    let mut door = door();
    door.append(&json!([
        message(Some("a"), "1"),
        message(Some("b"), "2"),
        message(Some("c"), "3")
    ]));
    let mut ids = |more: Value| {
        let mut params = json!({"sessionId": "s"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let loaded = door.result("load", &params);
        let ids = loaded["entries"].as_array().unwrap().iter();
        ids.filter_map(|entry| entry["id"].as_str().filter(|id| id.len() == 1)).collect::<String>()
    };
    assert_eq!(ids(json!({})), "abc");
    assert_eq!(ids(json!({"tail": 2})), "bc");
    assert_eq!(ids(json!({"from": "b"})), "bc");
    assert_eq!(ids(json!({"branch": "b"})), "ab");
    assert_eq!(ids(json!({"branch": "b", "tail": 1})), "b");
    let both = door.error("load", &json!({"sessionId": "s", "from": "a", "tail": 1}));
    assert!(both["message"].as_str().unwrap().starts_with("from "), "{both}");
}

#[test]
fn branches_searches_lists_and_checks_answer() {
    let mut door = door();
    door.append(&json!([message(Some("a"), "A grey banner"), message(Some("b"), "A red banner")]));
    let forked = door.result("branch", &json!({"sessionId": "s", "entryId": "a", "into": "t"}));
    assert_eq!((&forked["sessionId"], &forked["entries"]), (&json!("t"), &json!(3)));
    let branched = door.result("branch", &json!({"sessionId": "s", "entryId": "a"}));
    assert_eq!(branched["appendedCount"], 1);
    let found = door.result("search", &json!({"query": "banner", "sessionId": "s", "limit": 1}));
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    assert_eq!(found["more"], false);
    let found = door.result(
        "search",
        &json!({"query": "grey", "sessionId": "t", "since": 0, "type": "message"}),
    );
    assert_eq!(found["hits"], json!([]), "no time is no match");
    let found = door.result("search", &json!({"query": "grey", "sessionId": "t"}));
    let hit = &found["hits"][0];
    assert_eq!(hit["entryId"], "a");
    assert_eq!(hit["snippet"], json!({"text": "A grey banner", "marks": [[2, 6]]}));
    let listed = door.result("listSessions", &json!({"prefix": "t"}));
    assert_eq!(listed["sessions"][0]["sessionId"], "t");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    let verified = door.result("verify", &json!({"sessionId": "s"}));
    assert_eq!((&verified["entries"], &verified["purged"]), (&json!(4), &json!(0)));
    assert_eq!(verified["damage"], Value::Null);
    let wrong = door.error("listSessions", &json!({"since": true}));
    assert_eq!(wrong["code"], -32602);
}

/// What a build sends, without the system prompt.
fn sent(built: &Value) -> Vec<String> {
    let messages = built["modelMessages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn contexts_are_built_from_what_is_stored_now() {
    let shelf = Shelf::new();
    let (mut door, mut other) = (Door::on(&shelf), Door::on(&shelf));
    door.result("createSession", &json!({"sessionId": "s"}));
    let params =
        json!({"sessionId": "s", "config": {"maxInputTokens": 9000}, "tokenizer": "bytes"});
    door.append(&json!([message(Some("a"), "One")]));
    assert_eq!(sent(&door.result("buildContext", &params)), ["One"]);
    // Somebody else appends, redacts, deletes and begins anew.
    other.append(&json!([message(Some("b"), "Two")]));
    assert_eq!(sent(&door.result("buildContext", &params)), ["One", "Two"]);
    other.result("redact", &json!({"sessionId": "s", "entryId": "a"}));
    assert_eq!(sent(&door.result("buildContext", &params)), ["Two"]);
    let mut otherwise = params.clone();
    otherwise["tokenizer"] = "claude".into();
    assert_eq!(sent(&door.result("buildContext", &otherwise)), ["Two"]);
    let mut claimed = params.clone();
    claimed["tokenCounts"] = json!({"b": 8000});
    let tokens = |built: &Value| built["stats"]["inputTokens"].as_u64().unwrap();
    assert!(tokens(&door.result("buildContext", &claimed)) > 8000);
    assert!(
        tokens(&door.result("buildContext", &params)) < 100,
        "what a caller claims is not kept"
    );
    shelf.prints(&["delete", "s", "--yes"], "");
    assert_eq!(door.error("buildContext", &params)["data"]["code"], "SessionNotFound");
    other.result("createSession", &json!({"sessionId": "s"}));
    other.append(&json!([message(Some("z"), "Anew")]));
    assert_eq!(sent(&door.result("buildContext", &params)), ["Anew"]);
}

#[test]
fn the_entries_of_a_build_fit_behind_the_session() {
    let mut door = door();
    door.append(&json!([message(Some("a"), "One")]));
    let params = json!({"sessionId": "s", "config": {"maxInputTokens": 9000}, "tokenizer": "bytes",
        "inputMessages": [{"role": "assistant", "content": "Two"}]});
    let built = door.result("buildContext", &params);
    let append =
        json!({"sessionId": "s", "expectedTailEntryId": "a", "entries": built["entriesToAppend"]});
    assert_eq!(door.result("append", &append)["appendedCount"], 1);
    let built = door.result("buildContext", &params);
    assert_eq!(built["entriesToAppend"], json!([]));
    let update = json!({"sessionId": "s", "config": {"maxInputTokens": 9000}, "tokenizer": "bytes",
        "newMessages": [{"role": "user", "content": "Three"}]});
    let updated = door.result("computeContextUpdates", &update);
    assert_eq!(updated["entriesToAppend"].as_array().unwrap().len(), 1);
    let both = json!({"sessionId": "s", "sessionEntries": [], "config": {"maxInputTokens": 9000}});
    let error = door.error("buildContext", &both);
    assert!(error["message"].as_str().unwrap().contains("sessionEntries"), "{error}");
}

#[test]
fn a_store_that_cannot_be_opened_is_told_and_other_methods_go_on() {
    let url = "sqlite:/dev/null/sessions.db".parse::<StoreUrl>().unwrap();
    let mut door = Door(RpcServer::with_place(|| NOW_MILLIS, Ok(url)));
    assert_eq!(door.error("listSessions", &json!({}))["data"]["code"], "SessionReadFailed");
    assert_eq!(door.result("getTeamTask", &json!({})), json!({"task": null}));
}

#[test]
fn two_who_append_at_once_both_stay_on_the_branch() {
    let shelf = Shelf::new();
    Door::on(&shelf).result("createSession", &json!({"sessionId": "s"}));
    let write = |speaker: &str| {
        let mut door = Door::on(&shelf);
        for number in 0..25 {
            let content = format!("{speaker} {number}");
            let payload = json!({"role": "user", "content": content});
            door.append(&json!([{"type": "message", "payload": payload}]));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| write("ann"));
        write("max");
    });
    let mut door = Door::on(&shelf);
    let tail = door.entries().pop().unwrap()["id"].clone();
    let branch = door.result("load", &json!({"sessionId": "s", "branch": tail}));
    assert_eq!(branch["entries"].as_array().unwrap().len(), 51);
}

#[test]
fn a_tail_that_never_was_is_a_concurrent_write() {
    let mut door = door();
    let entry = json!({"id": "a", "type": "team_task", "payload": {"task": "t"}});
    let params = json!({"sessionId": "s", "entries": [entry], "expectedTailEntryId": "zz"});
    let error = door.error("append", &params);
    assert_eq!(error["data"]["code"], "SessionConcurrentWrite", "{error}");
}
