//! Tests `tertulia chat` as a process: with plain lines through pipes, and on a pseudo-terminal with an emulator
//! that shows the screen.

mod commands;
mod escapes;
mod joining;
mod leases;
mod notes;
mod permissions;
mod plain;
mod terminal;
mod terminal_tests;
mod waiting;

use std::path::{Path, PathBuf};

/// A folder with a team.
pub(crate) struct ChatWorkspace {
    folder: tempfile::TempDir,
}

impl ChatWorkspace {
    /// Creates a person, `max` with these scripted answers, and `slow`, who counts for a minute.
    pub(crate) fn new(answers: &[&str]) -> Self {
        let script: Vec<String> =
            answers.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
        let slow = "cat >/dev/null\ni=0\nwhile [ $i -lt 600 ]; do\n  i=$((i+1))\n  \
                    echo \"count $i of many\"\n  sleep 0.1\ndone\n";
        let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\n\
                    [[member]]\nname = \"max\"\nagent = \"script\"\nscript_file = \"script.jsonl\"\n\n\
                    [[member]]\nname = \"slow\"\nagent = \"command\"\ncommand = [\"sh\", \"slow.sh\"]\n";
        Self::with(team, &[("script.jsonl", &script.join("\n")), ("slow.sh", slow)])
    }

    /// Creates this team, and other files beside its file.
    pub(crate) fn with(team: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files.iter().chain([&("tertulia.toml", team)]) {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the arguments of a chat in it.
    pub(crate) fn arguments(&self, more: &[&str]) -> Vec<String> {
        let store = format!("sqlite:{}", self.path().join("home/sessions.db").display());
        let team = self.path().join("tertulia.toml").display().to_string();
        let fixed = ["chat", "--trust", "--team", &team, "--store", &store];
        fixed.iter().chain(more).map(|&text| text.to_owned()).collect()
    }

    /// Returns the variables of a chat in it.
    pub(crate) fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let home = self.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        vec![("HOME", home.clone()), ("TERTULIA_HOME", home)]
    }
}
