//! Measures the memory of a stored message. Must run first, because the resident memory is exact only as long as
//! the process has not freed large blocks.

use std::error::Error;

use tertulia_context::record::SnapshotRecord;
use tertulia_context::{ContextManager, ContextSnapshot};

use crate::alloc::{Allocated, counted};
use crate::arguments::Scale;
use crate::report::{Figure, Theme, Unit, grouped};
use crate::sample::{Addressed, MESSAGE_BYTES, conversation};

const LIMIT: f64 = 450.0;

/// Measures all figures of memory. Bytes on the heap do not include the overhead of the heap itself, which only the
/// resident memory shows. Texts have no spare capacity; the capacity that a caller reserves is not included.
pub(crate) fn measure(scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let messages = scale.stored_messages;
    // Lists grow by doubling, so they use most memory just after that.
    let just_grown = messages.next_power_of_two() + 1;
    let resident_before = resident_bytes();
    let (first, manager) = added("added", messages, Addressed::ToNobody)?;
    let first = first.at_most(LIMIT).of(resident_growth(resident_before, messages));
    drop(manager);
    Ok(Theme {
        title: "Memory of a stored message of 200 bytes",
        figures: vec![
            first,
            imported(messages)?.at_most(LIMIT),
            added("added, each to one addressee", messages, Addressed::ToOne)?.0,
            added("added, lists just doubled", just_grown, Addressed::ToNobody)?.0,
        ],
    })
}

fn added(
    how: &str,
    messages: usize,
    addressed: Addressed,
) -> Result<(Figure, ContextManager), Box<dyn Error>> {
    let (manager, allocated) = counted(|| conversation(messages, addressed));
    let manager = manager?;
    Ok((figure(how, &manager, allocated, messages)?, manager))
}

fn imported(messages: usize) -> Result<Figure, Box<dyn Error>> {
    let (manager, allocated) = counted(|| {
        let old = conversation(messages, Addressed::ToNobody)?;
        let json = serde_json::to_string(&SnapshotRecord(&old.export_snapshot(0)))?;
        drop(old);
        let mut manager = ContextManager::default();
        let snapshot = ContextSnapshot::parse(&json).map_err(|error| error.cause)?;
        manager.import_snapshot(snapshot).map_err(|error| error.cause)?;
        Ok::<_, Box<dyn Error>>(manager)
    });
    figure("exported to JSON and imported", &manager?, allocated, messages)
}

fn figure(
    how: &str,
    manager: &ContextManager,
    allocated: Allocated,
    messages: usize,
) -> Result<Figure, Box<dyn Error>> {
    let newest = manager.get_latest_message().map(|newest| newest.message.text().len());
    if manager.messages().len() != messages || newest != Some(MESSAGE_BYTES) {
        return Err(format!("{messages} messages were to be stored, and are not").into());
    }
    let per_message = allocated.live_bytes as f64 / messages as f64;
    Ok(Figure::new(format!("{} {how}", grouped(messages)), per_message, Unit::BytesPerMessage))
}

fn resident_growth(before: Option<u64>, messages: usize) -> String {
    let Some((before, after)) = before.zip(resident_bytes()) else {
        return String::new();
    };
    let grown = after.saturating_sub(before) as f64 / messages as f64;
    format!("resident memory grew by {grown:.0} B/message")
}

/// Returns the resident memory of the process; `None` without `/proc`.
///
/// Reads `status`, which has the value in kB. `statm` has it in pages, whose size `std` does not provide.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
