//! Finds the processes that a turn leaves on the machine, by a text in their environment or in their command line.

use std::fs;
use std::path::Path;

/// Returns the processes with this home in their environment or this word in their command line, each as its id and
/// command line.
pub(crate) fn processes_of(home: &Path, word: &str) -> Vec<String> {
    let home = home.to_str().expect("a path in UTF-8");
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("a table of processes").flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        if name == own || !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        // A process may exit between two reads, and a zombie has neither file.
        let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let environment = String::from_utf8_lossy(&read("environ")).into_owned();
        if environment.contains(home) || line.contains(word) {
            found.push(format!("{name}: {line}"));
        }
    }
    found
}
