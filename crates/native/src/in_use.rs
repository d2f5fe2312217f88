//! Finds the program that uses a session now, so that its files are not changed at the same time.

use std::fs;
use std::path::Path;

/// A program that uses a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub pid: u32,
    pub program: String,
}

/// Returns a program that has the file of a session open, or was started with the id of the session. Finds no program
/// on systems that do not allow listing processes, such as macOS.
pub fn find_user(path: Option<&Path>, native_id: &str) -> Option<User> {
    let own = std::process::id();
    let path = path.and_then(|path| path.canonicalize().ok());
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if pid == own {
            continue;
        }
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = command.split(|byte| *byte == 0);
        let program = words.next().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        let names_it = is_agent(&program, &command)
            && words.any(|word| word == native_id.as_bytes() && !native_id.is_empty());
        let has_it_open = || path.as_deref().is_some_and(|path| is_open_in(&entry.path(), path));
        if names_it || has_it_open() {
            return Some(User { pid, program });
        }
    }
    None
}

/// Returns whether a process is one of the agents, or a runtime that runs one.
fn is_agent(program: &str, command: &[u8]) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let agents = ["claude", "codex", "gemini", "opencode", "copilot", "pi", "goose", "cline"];
    let command = String::from_utf8_lossy(command);
    agents.contains(&name)
        || (name.starts_with("node") && agents.iter().any(|one| command.contains(one)))
}

fn is_open_in(process: &Path, path: &Path) -> bool {
    let Ok(files) = fs::read_dir(process.join("fd")) else { return false };
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|open| open == path))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_program_that_has_the_file_open_is_found_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        fs::write(&path, "{}\n").unwrap();
        assert_eq!(find_user(Some(&path), "none"), None);
        // The process has the file open while it waits for input.
        let mut holder = Command::new("sh")
            .args(["-c", "exec 3<\"$0\"; echo open; read line"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = holder.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        let found = find_user(Some(&path), "none").map(|user| user.pid);
        drop(holder.stdin.take());
        holder.wait().unwrap();
        assert_eq!(found, Some(holder.id()));
    }
}
