//! Tests the rpc methods for stored sessions.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tertulia_operations::rpc::RpcServer;
use tertulia_store::StoreUrl;

use crate::harness::{NOW_MILLIS, TestStore, request};

/// A connection that stays open between calls.
struct RpcClient(RpcServer);

impl RpcClient {
    /// Creates a client whose store is in memory.
    fn new() -> Self {
        Self(RpcServer::new(|| NOW_MILLIS))
    }

    fn on(store: &TestStore) -> Self {
        let url = store.url().parse::<StoreUrl>().unwrap();
        Self(RpcServer::with_store(|| NOW_MILLIS, Ok(url)))
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

    /// Returns the entries of `s` except its header.
    #[track_caller]
    fn entries(&mut self) -> Vec<Value> {
        let loaded = self.result("load", &json!({"sessionId": "s"}));
        loaded["entries"].as_array().unwrap()[1..].to_vec()
    }
}

/// Returns a client with the empty session `s`.
fn client() -> RpcClient {
    let mut client = RpcClient::new();
    assert_eq!(
        client.result("createSession", &json!({"sessionId": "s"})),
        json!({"sessionId": "s"})
    );
    client
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
    let mut client = client();
    let twice = client.error("createSession", &json!({"sessionId": "s"}));
    assert_eq!(twice["data"]["code"], "SessionExists");
    let made = client.result("createSession", &json!({}));
    assert!(made["sessionId"].as_str().unwrap().len() > 10);
    assert_snapshot!(client.error("createSession", &json!({"sessionId": "../s"})), @r#"{"code":-32602,"data":{"category":"session","code":"InvalidSessionId","outcome":"not_stored","retryable":false},"message":"\"../s\" cannot be the id of a session; use 1 to 128 letters (a-z, A-Z), digits, '-', '_', '.' and ':', starting with a letter or digit"}"#);
    assert_snapshot!(client.error("load", &json!({"sessionId": "nobody"})), @r#"{"code":-32000,"data":{"category":"session","code":"SessionNotFound","outcome":"not_stored","retryable":false},"message":"there is no session nobody; `tertulia sessions list` lists all"}"#);
}

#[test]
fn entries_are_appended_once_whatever_is_tried_again() {
    let mut client = client();
    let entries = json!([message(Some("a"), "One"), message(Some("b"), "Two")]);
    assert_eq!(client.append(&entries), json!({"lastAppendedEntryId": "b", "appendedCount": 2}));
    assert_eq!(client.append(&entries), json!({"lastAppendedEntryId": "b", "appendedCount": 0}));
    assert_eq!(client.entries().len(), 2);
    assert_eq!(client.entries()[0]["parentId"], Value::Null, "as it was handed in");
    let other = json!({"sessionId": "s", "entries": [message(Some("a"), "Other")]});
    let error = client.error("append", &other);
    assert_eq!(error["data"]["code"], "SessionWriteFailed");
    assert_eq!(error["data"]["outcome"], "not_stored");
}

#[test]
fn an_entry_without_id_follows_the_one_before_it() {
    let mut client = client();
    // The same text twice is two messages.
    let first = client.append(&json!([message(None, "Yes"), message(None, "Yes")]));
    assert_eq!(first["appendedCount"], 2);
    client.append(&json!([message(None, "Yes")]));
    let entries = client.entries();
    assert_eq!(entries.len(), 3);
    assert_eq!(entries[1]["parentId"], entries[0]["id"]);
    assert_eq!(entries[2]["parentId"], entries[1]["id"]);
    assert!(entries[2]["id"].as_str().unwrap().starts_with("e-"));
}

#[test]
fn an_entry_without_parent_starts_no_branch_by_accident() {
    let mut client = client();
    client.append(&json!([message(Some("a"), "One")]));
    // The redaction names its parent, so a later entry without a parent would start a branch.
    client.append(&json!([message(Some("b"), "Secret")]));
    let redacted =
        client.result("redact", &json!({"sessionId": "s", "entryId": "b", "reason": "private"}));
    let again = json!([message(Some("c"), "Three"), message(Some("d"), "Four")]);
    for appended in [2, 0] {
        assert_eq!(client.append(&again)["appendedCount"], appended);
    }
    let entries = client.entries();
    assert_eq!(entries[3]["parentId"], redacted["lastAppendedEntryId"]);
    assert_eq!(entries[4]["parentId"], "c");
    assert_eq!(entries[1]["type"], "purged");
    // Earlier entries are still recognized.
    assert_eq!(client.append(&json!([message(Some("a"), "One")]))["appendedCount"], 0);
}

#[test]
fn an_expected_tail_makes_trying_again_harmless() {
    let mut client = client();
    client.append(&json!([message(Some("a"), "One")]));
    let params =
        json!({"sessionId": "s", "expectedTailEntryId": "a", "entries": [message(None, "Two")]});
    let first = client.result("append", &params);
    assert_eq!(first["appendedCount"], 1);
    let again = client.result("append", &params);
    assert_eq!(again["appendedCount"], 0);
    assert_eq!(again["lastAppendedEntryId"], first["lastAppendedEntryId"]);
    let late =
        json!({"sessionId": "s", "expectedTailEntryId": "a", "entries": [message(None, "Other")]});
    let error = client.error("append", &late);
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
    let mut client = client();
    let wrong = |entry: Value| json!({"sessionId": "s", "entries": [message(None, "x"), entry]});
    let reported =
        |client: &mut RpcClient, entry| client.error("append", &wrong(entry))["message"].clone();
    assert_eq!(
        reported(&mut client, json!({"payload": 1})),
        "entries[1].type is missing; give a string"
    );
    assert_eq!(reported(&mut client, json!(7)), "entries[1] must be an object; got a number");
    assert_eq!(
        reported(&mut client, json!({"id": "z", "type": "message", "payload": {"role": "boss"}})),
        "entries[1]: Entry z: payload.role must be system, user, assistant or tool; got \"boss\""
    );
    assert_eq!(
        reported(&mut client, json!({"id": 7, "type": "custom"})),
        "entries[1].id must be a string; got a number"
    );
    assert_eq!(client.entries().len(), 0, "all or none");
}

#[test]
fn parts_of_a_session_are_loaded() {
    let mut client = client();
    client.append(&json!([
        message(Some("a"), "1"),
        message(Some("b"), "2"),
        message(Some("c"), "3")
    ]));
    let mut ids = |more: Value| {
        let mut params = json!({"sessionId": "s"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let loaded = client.result("load", &params);
        let ids = loaded["entries"].as_array().unwrap().iter();
        ids.filter_map(|entry| entry["id"].as_str().filter(|id| id.len() == 1)).collect::<String>()
    };
    assert_eq!(ids(json!({})), "abc");
    assert_eq!(ids(json!({"tail": 2})), "bc");
    assert_eq!(ids(json!({"from": "b"})), "bc");
    assert_eq!(ids(json!({"branch": "b"})), "ab");
    assert_eq!(ids(json!({"branch": "b", "tail": 1})), "b");
    let both = client.error("load", &json!({"sessionId": "s", "from": "a", "tail": 1}));
    assert!(both["message"].as_str().unwrap().starts_with("from "), "{both}");
}

#[test]
fn branches_searches_lists_and_checks_answer() {
    let mut client = client();
    client
        .append(&json!([message(Some("a"), "A grey banner"), message(Some("b"), "A red banner")]));
    let forked = client.result("branch", &json!({"sessionId": "s", "entryId": "a", "into": "t"}));
    assert_eq!((&forked["sessionId"], &forked["entries"]), (&json!("t"), &json!(3)));
    let branched = client.result("branch", &json!({"sessionId": "s", "entryId": "a"}));
    assert_eq!(branched["appendedCount"], 1);
    let found = client.result("search", &json!({"query": "banner", "sessionId": "s", "limit": 1}));
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    assert_eq!(found["more"], false);
    let found = client.result(
        "search",
        &json!({"query": "grey", "sessionId": "t", "since": 0, "type": "message"}),
    );
    assert_eq!(found["hits"], json!([]), "no time is no match");
    let found = client.result("search", &json!({"query": "grey", "sessionId": "t"}));
    let hit = &found["hits"][0];
    assert_eq!(hit["entryId"], "a");
    assert_eq!(hit["snippet"], json!({"text": "A grey banner", "marks": [[2, 6]]}));
    let listed = client.result("listSessions", &json!({"prefix": "t"}));
    assert_eq!(listed["sessions"][0]["sessionId"], "t");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    let verified = client.result("verify", &json!({"sessionId": "s"}));
    assert_eq!((&verified["entries"], &verified["purged"]), (&json!(4), &json!(0)));
    assert_eq!(verified["damage"], Value::Null);
    let wrong = client.error("listSessions", &json!({"since": true}));
    assert_eq!(wrong["code"], -32602);
}

/// Returns the messages of a build, without the system prompt.
fn sent(built: &Value) -> Vec<String> {
    let messages = built["modelMessages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn contexts_are_built_from_what_is_stored_now() {
    let store = TestStore::new();
    let (mut client, mut other) = (RpcClient::on(&store), RpcClient::on(&store));
    client.result("createSession", &json!({"sessionId": "s"}));
    let params =
        json!({"sessionId": "s", "config": {"maxInputTokens": 9000}, "tokenizer": "bytes"});
    client.append(&json!([message(Some("a"), "One")]));
    assert_eq!(sent(&client.result("buildContext", &params)), ["One"]);
    // Another client appends, redacts, deletes and creates the session again.
    other.append(&json!([message(Some("b"), "Two")]));
    assert_eq!(sent(&client.result("buildContext", &params)), ["One", "Two"]);
    other.result("redact", &json!({"sessionId": "s", "entryId": "a"}));
    assert_eq!(sent(&client.result("buildContext", &params)), ["Two"]);
    let mut otherwise = params.clone();
    otherwise["tokenizer"] = "claude".into();
    assert_eq!(sent(&client.result("buildContext", &otherwise)), ["Two"]);
    let mut claimed = params.clone();
    claimed["tokenCounts"] = json!({"b": 8000});
    let tokens = |built: &Value| built["stats"]["inputTokens"].as_u64().unwrap();
    assert!(tokens(&client.result("buildContext", &claimed)) > 8000);
    assert!(
        tokens(&client.result("buildContext", &params)) < 100,
        "what a caller claims is not kept"
    );
    store.prints(&["delete", "s", "--yes"], "");
    assert_eq!(client.error("buildContext", &params)["data"]["code"], "SessionNotFound");
    other.result("createSession", &json!({"sessionId": "s"}));
    other.append(&json!([message(Some("z"), "Anew")]));
    assert_eq!(sent(&client.result("buildContext", &params)), ["Anew"]);
}

#[test]
fn the_entries_of_a_build_fit_behind_the_session() {
    let mut client = client();
    client.append(&json!([message(Some("a"), "One")]));
    let params = json!({"sessionId": "s", "config": {"maxInputTokens": 9000}, "tokenizer": "bytes",
        "inputMessages": [{"role": "assistant", "content": "Two"}]});
    let built = client.result("buildContext", &params);
    let append =
        json!({"sessionId": "s", "expectedTailEntryId": "a", "entries": built["entriesToAppend"]});
    assert_eq!(client.result("append", &append)["appendedCount"], 1);
    let built = client.result("buildContext", &params);
    assert_eq!(built["entriesToAppend"], json!([]));
    let update = json!({"sessionId": "s", "config": {"maxInputTokens": 9000}, "tokenizer": "bytes",
        "newMessages": [{"role": "user", "content": "Three"}]});
    let updated = client.result("computeContextUpdates", &update);
    assert_eq!(updated["entriesToAppend"].as_array().unwrap().len(), 1);
    let both = json!({"sessionId": "s", "sessionEntries": [], "config": {"maxInputTokens": 9000}});
    let error = client.error("buildContext", &both);
    assert!(error["message"].as_str().unwrap().contains("sessionEntries"), "{error}");
}

#[test]
fn a_store_that_cannot_be_opened_is_reported_and_other_methods_go_on() {
    let url = "sqlite:/dev/null/sessions.db".parse::<StoreUrl>().unwrap();
    let mut client = RpcClient(RpcServer::with_store(|| NOW_MILLIS, Ok(url)));
    assert_eq!(client.error("listSessions", &json!({}))["data"]["code"], "SessionReadFailed");
    assert_eq!(client.result("getTeamTask", &json!({})), json!({"task": null}));
}

#[test]
fn two_who_append_at_once_both_stay_on_the_branch() {
    let store = TestStore::new();
    RpcClient::on(&store).result("createSession", &json!({"sessionId": "s"}));
    let write = |speaker: &str| {
        let mut client = RpcClient::on(&store);
        for number in 0..25 {
            let content = format!("{speaker} {number}");
            let payload = json!({"role": "user", "content": content});
            client.append(&json!([{"type": "message", "payload": payload}]));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| write("ann"));
        write("max");
    });
    let mut client = RpcClient::on(&store);
    let tail = client.entries().pop().unwrap()["id"].clone();
    let branch = client.result("load", &json!({"sessionId": "s", "branch": tail}));
    assert_eq!(branch["entries"].as_array().unwrap().len(), 51);
}

#[test]
fn a_tail_that_never_was_is_a_concurrent_write() {
    let mut client = client();
    let entry = json!({"id": "a", "type": "team_task", "payload": {"task": "t"}});
    let params = json!({"sessionId": "s", "entries": [entry], "expectedTailEntryId": "zz"});
    let error = client.error("append", &params);
    assert_eq!(error["data"]["code"], "SessionConcurrentWrite", "{error}");
}
