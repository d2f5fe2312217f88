//! Reading sessions of pi.

use tertulia_dialect::native::NativeFormat;

use crate::native_show;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s-1","timestamp":"2026-05-12T01:00:00.000Z","cwd":"/src","parentSession":"/x/2026-05-11T00-00-00-000Z_s-0.jsonl"}"#;

#[track_caller]
fn check(lines: &[&str], expected: &str) {
    let file = [&[HEADER], lines].concat().join("\n") + "\n";
    let session = native_show::check(NativeFormat::Pi, &file, expected);
    assert_eq!(session.problems, []);
    assert_eq!(session.native_id.as_deref(), Some("s-1"));
    assert_eq!(session.parent_native_id.as_deref(), Some("s-0"));
    assert_eq!(session.folder.as_deref(), Some("/src"));
}

#[test]
fn messages_calls_and_results_become_a_conversation() {
    check(
        &[
            r#"{"type":"model_change","id":"a","parentId":null,"timestamp":"2026-05-12T01:00:00.000Z","provider":"p","modelId":"m-1"}"#,
            r#"{"type":"thinking_level_change","id":"b","parentId":"a","timestamp":"2026-05-12T01:00:00.000Z","thinkingLevel":"high"}"#,
            r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"timestamp":1}}"#,
            r#"{"type":"message","id":"d","parentId":"c","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"text","text":"Reading."},{"type":"toolCall","id":"t-1","name":"read","arguments":{"path":"x"}}],"provider":"p","model":"m-2","usage":{"input":3,"output":5,"cacheRead":10,"cacheWrite":2,"cost":{"total":0.25}},"stopReason":"toolUse"}}"#,
            r#"{"type":"message","id":"e","parentId":"d","message":{"role":"toolResult","toolCallId":"t-1","toolName":"read","content":[{"type":"text","text":"a\nb"}],"isError":false}}"#,
            r#"{"type":"message","id":"f","parentId":"e","message":{"role":"toolResult","toolCallId":"t-2","toolName":"look","content":[{"type":"text","text":"no"},{"type":"image","data":"BBBB","mimeType":"image/png"}],"isError":true}}"#,
            r#"{"type":"message","id":"g","parentId":"f","message":{"role":"user","content":"thanks"}}"#,
        ],
        r#"
line-1 ← - record session
a ← - model m-1
b ← a thinking level high
c ← b user: "look" | picture image/png
d ← c assistant: thinks "hm" +thinkingSignature | "Reading." | calls t-1 read {"path":"x"}
d#1 ← d model m-2
d#2 ← d#1 usage of m-2: 15 in, 10 cached, 5 out $0.25
e ← d#2 tool: t-1 returns "a\nb"
f ← e tool: t-2 fails [{"type":"text","text":"no"},{"type":"image","data":"BBBB","mimeType":"image/png"}]
g ← f user: "thanks"
"#,
    );
}

#[test]
fn branches_and_summaries_stay_in_the_tree() {
    check(
        &[
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}"#,
            r#"{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"two"}}"#,
            r#"{"type":"branch_summary","id":"c","parentId":"a","fromId":"b","summary":"We tried two."}"#,
            r#"{"type":"message","id":"d","parentId":"c","message":{"role":"user","content":"three"}}"#,
            r#"{"type":"compaction","id":"e","parentId":"d","summary":"Before.","firstKeptEntryId":"d","tokensBefore":9,"usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0}}"#,
            r#"{"type":"compaction","id":"f","parentId":"e","summary":"All.","firstKeptEntryId":"f","tokensBefore":9}"#,
            r#"{"type":"compaction","id":"g","parentId":"f","summary":"Lost.","firstKeptEntryId":"nowhere","tokensBefore":9}"#,
        ],
        r#"
line-1 ← - record session
a ← - user: "one"
b ← a user: "two"
c ← a summary of the branch at b: "We tried two."
d ← c user: "three"
e ← d summary "Before.", keeps d
e#1 ← e usage of -: 1 in, 0 cached, 2 out
f ← e#1 summary "All.", keeps f
g ← f summary "Lost.", keeps g
"#,
    );
}

#[test]
fn what_is_no_message_keeps_its_place() {
    check(
        &[
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"system","content":"","sections":{"preamble":"You are"}}}"#,
            r#"{"type":"label","id":"b","parentId":"a","targetId":"a","label":"here"}"#,
            r#"{"type":"custom","id":"c","parentId":"b","customType":"x","data":{}}"#,
            r#"{"type":"usage","id":"d","parentId":"c","kind":"cache_warm","model":"m","usage":{"input":0,"output":0,"cacheRead":7,"cacheWrite":0,"cost":{"total":0}}}"#,
            r#"{"type":"custom_message","id":"e","parentId":"d","customType":"x","content":"Mind the rules."}"#,
            r#"{"type":"message","id":"f","parentId":"e","message":{"role":"bashExecution","command":"ls","output":"a","exitCode":2}}"#,
            r#"{"type":"message","id":"g","parentId":"f","message":{"role":"bashExecution","command":"ls","output":"a","exitCode":0,"excludeFromContext":true}}"#,
            r#"{"type":"message","id":"h","parentId":"g","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"401"}}"#,
            r#"{"type":"session_info","id":"i","parentId":"h","name":"Colours"}"#,
        ],
        r#"
line-1 ← - record session
a ← - record message
b ← a record label
c ← b record custom
d ← c record usage
d#1 ← d usage of m: 7 in, 7 cached, 0 out $0
e ← d#1 user: "Mind the rules."
f ← e user: "Ran `ls`\n```\na\n```\n\n(exit code 2)"
g ← f record message
h ← g record message
i ← h record session_info
"#,
    );
}

#[test]
fn the_first_version_is_a_list() {
    let file = r#"{"type":"session","id":"s-1","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/src","provider":"p","modelId":"m","thinkingLevel":"off","branchedFrom":"/x/s-0.jsonl"}
{"type":"message","timestamp":"2025-11-20T23:33:51.805Z","message":{"role":"user","content":"one"}}
{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"1"}],"model":"m"}}
{"type":"message","message":{"role":"hookMessage","content":"note"}}
{"type":"compaction","summary":"Counted.","firstKeptEntryIndex":2,"tokensBefore":5}
"#;
    let expected = r#"
line-1 ← - record session
line-2 ← - user: "one"
line-3 ← line-2 assistant: "1"
line-4 ← line-3 user: "note"
line-5 ← line-4 summary "Counted.", keeps line-3
"#;
    let session = native_show::check(NativeFormat::Pi, file, expected);
    assert_eq!(session.parent_native_id.as_deref(), Some("s-0"));
    assert_eq!(session.model.as_deref(), Some("m"));
}

#[test]
fn unknown_and_odd_records_are_kept_and_reported() {
    let lines = [
        HEADER,
        r#"{"type":"hologram","id":"a","parentId":null}"#,
        r#"{"type":"message","id":"b","parentId":"a"}"#,
        r#"{"type":"message","id":"c","parentId":"b","message":{"role":"oracle"}}"#,
        r#"{"type":"message","id":"d","parentId":"c","message":{"role":"user","content":[{"type":"scent","x":1},{"type":"text","text":"\ud800"}]}}"#,
        "7",
    ];
    let (entries, session) = native_show::read(NativeFormat::Pi, lines.join("\n").as_bytes());
    let expected = r#"
line-1 ← - record session
a ← - record hologram
b ← a record message
c ← b record message
d ← c user: other pi/scent | "�"
line-6 ← d record -
"#;
    assert_eq!(native_show::show(&entries).trim(), expected.trim());
    let problems: Vec<String> = session.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 4, "{problems:?}");
}
