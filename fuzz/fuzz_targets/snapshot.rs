//! Reads any text as a snapshot: it must be refused completely, or imported and exported unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_context::record::SnapshotRecord;
use tertulia_context::{AssemblerOutput, ContextManager, ContextRequest, ContextSnapshot};

fuzz_target!(|text: &str| {
    let mut manager = ContextManager::default();
    manager.set_team_task("before");
    let Ok(snapshot) = ContextSnapshot::parse(text) else { return };
    assert_eq!(
        manager.import_snapshot(snapshot),
        Ok(()),
        "a snapshot that was read can be imported"
    );

    let exported = manager.export_snapshot(0);
    let json = serde_json::to_string(&SnapshotRecord(&exported)).expect("a snapshot is JSON");
    assert!(!json.contains('\n'), "it fits on one line");
    assert_eq!(ContextSnapshot::parse(&json).as_ref(), Ok(&exported), "a round trip loses nothing");

    for agent in ["claude", "codex", "gemini", "other"] {
        let explanation = manager.explain("a", agent, &ContextRequest::default());
        assert_eq!(explanation.verdicts().count(), manager.messages().len());
        let AssemblerOutput { prompt, system_flag, bytes, .. } = explanation.prompt().output();
        assert_eq!(bytes.total(), prompt.len() + system_flag.map_or(0, |flag| flag.len()));
    }
    for message in manager.messages() {
        assert_eq!(manager.message_by_id(&message.id).map(|found| &found.id), Some(&message.id));
    }
});
