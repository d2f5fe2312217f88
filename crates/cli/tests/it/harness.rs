//! Runs the command in-process with texts as its streams.

use std::ffi::OsString;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use tertulia_cli::{Streams, Zone, main_with};
use tertulia_operations::rpc::RpcServer;

/// The output and the exit code of a command.
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    code: ExitCode,
}

impl Outcome {
    /// Returns whether the exit code is this one. The standard library shows it only in its `Debug` output.
    pub(crate) fn exits_with(&self, code: u8) -> bool {
        format!("{:?}", self.code) == format!("{:?}", ExitCode::from(code))
    }
}

/// Runs `tertulia` with these arguments and this standard input, read in chunks of `chunk` bytes.
pub(crate) fn tertulia_chunked(arguments: &[&str], stdin: &[u8], chunk: usize) -> Outcome {
    run(arguments, stdin, chunk, false)
}

/// The same with a terminal on all streams.
pub(crate) fn tertulia_on_terminal(arguments: &[&str], stdin: &str) -> Outcome {
    run(arguments, stdin.as_bytes(), 8192, true)
}

fn run(arguments: &[&str], stdin: &[u8], chunk: usize, is_terminal: bool) -> Outcome {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut streams = Streams {
        stdin: &mut BufReader::with_capacity(chunk, stdin),
        stdout: &mut stdout,
        stderr: &mut stderr,
        stdin_is_terminal: is_terminal,
        stderr_is_terminal: false,
        stdout_is_terminal: is_terminal,
        stdout_has_colour: false,
        is_quiet: false,
        zone: Zone::Utc,
    };
    let arguments = std::iter::once("tertulia").chain(arguments.iter().copied());
    let code = main_with(arguments.map(OsString::from), &mut streams);
    Outcome {
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
        code,
    }
}

/// The same with the default chunk size.
pub(crate) fn tertulia(arguments: &[&str], stdin: &str) -> Outcome {
    tertulia_chunked(arguments, stdin.as_bytes(), 8192)
}

/// The time of all snapshots in these tests.
pub(crate) const NOW_MILLIS: i64 = 1_794_822_000_000;

/// Returns what `tertulia rpc` writes for these lines, without log lines.
pub(crate) fn rpc(lines: &[&str]) -> Vec<String> {
    rpc_with_logs(lines).into_iter().filter(|line| !line.contains("\"method\":\"log\"")).collect()
}

/// Returns what `tertulia rpc` writes for these lines.
pub(crate) fn rpc_with_logs(lines: &[&str]) -> Vec<String> {
    let mut server = RpcServer::new(|| NOW_MILLIS);
    let mut out = Vec::new();
    for line in lines {
        server.answer(line, &mut out).unwrap();
    }
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

/// Returns the answer to one request, by method and parameters: the text of `result` or `error`.
pub(crate) fn ask(method: &str, params: &str) -> String {
    let line = request(method, params);
    let answers = rpc(&[&line]);
    let answer = answers.last().unwrap();
    let answer = answer.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"#).unwrap();
    answer.strip_suffix('}').unwrap().to_owned()
}

/// A store in a temporary folder.
pub(crate) struct TestStore {
    folder: tempfile::TempDir,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Returns a path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the address of the store.
    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}", self.path("sessions.db").display())
    }

    /// Runs `tertulia sessions` on this store.
    pub(crate) fn sessions(&self, arguments: &[&str], stdin: &str) -> Outcome {
        tertulia(&[&["sessions", "--store", &self.url()], arguments].concat(), stdin)
    }

    /// The same, but must succeed; returns the output.
    #[track_caller]
    pub(crate) fn prints(&self, arguments: &[&str], stdin: &str) -> String {
        let outcome = self.sessions(arguments, stdin);
        assert!(outcome.exits_with(0), "{}", outcome.stderr);
        outcome.stdout
    }

    /// The same, but must fail; returns the error.
    #[track_caller]
    pub(crate) fn refuses(&self, arguments: &[&str], stdin: &str) -> String {
        let outcome = self.sessions(arguments, stdin);
        assert!(outcome.exits_with(1), "{}{}", outcome.stdout, outcome.stderr);
        outcome.stderr
    }

    /// Imports a log into the store.
    #[track_caller]
    pub(crate) fn import(&self, id: &str, log: &str) {
        self.prints(&["import", "-", "--as", id], log);
    }

    /// Returns the ids of all sessions, sorted.
    pub(crate) fn ids(&self) -> Vec<String> {
        let listed = self.prints(&["list", "--json", "--limit", "0"], "");
        let id = |line: &str| {
            let session: serde_json::Value = serde_json::from_str(line).unwrap();
            session["sessionId"].as_str().unwrap().to_owned()
        };
        let mut ids: Vec<String> = listed.lines().map(id).collect();
        ids.sort();
        ids
    }
}

/// Returns a message of a log without parents.
pub(crate) fn said(id: &str, role: &str, text: &str) -> String {
    let payload = serde_json::json!({"role": role, "content": text});
    format!(r#"{{"id":"{id}","type":"message","timestamp":1769860800000,"payload":{payload}}}"#)
}

/// Returns a request with the id 1.
pub(crate) fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// Returns a file of the repository. Cargo runs tests in the folder of their package.
pub(crate) fn repository_file(path: &str) -> PathBuf {
    std::path::absolute(PathBuf::from("../..").join(path)).unwrap()
}

/// Returns the text with `…` for every salt, and `e-1`, `e-2` and so on for the ids that were made with one.
pub(crate) fn without_salts(text: &str) -> String {
    const DIGITS: usize = 32;
    let (mut shown, mut ids, mut rest) = (String::new(), Vec::<String>::new(), text);
    let is_run = |run: &str| run.bytes().all(|byte| byte.is_ascii_hexdigit());
    while let Some(at) = (0..rest.len()).find(|at| rest.get(*at..at + DIGITS).is_some_and(is_run)) {
        let (before, run, after) = (&rest[..at], &rest[at..at + DIGITS], &rest[at + DIGITS..]);
        shown.push_str(before);
        match before.ends_with("e-") {
            true => {
                let known = ids.iter().position(|id| id == run);
                let number = known.unwrap_or_else(|| {
                    ids.push(run.to_owned());
                    ids.len() - 1
                });
                shown.push_str(&(number + 1).to_string());
            }
            false => shown.push('…'),
        }
        rest = after;
    }
    shown + rest
}
