//! Builds the agent specification of a member and its system text, and reads the files that it names.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use tertulia_agent::{
    AgentKind, AgentSpec, Endpoint, MemorySupport, ResourceLimits, ScriptLine, Timeouts, agents,
};
use tertulia_dialect::stream::Limits;
use tertulia_session::json::{self, Kind, Object};

use super::{MemberFile, PreambleFile, read};
use crate::Preamble;

const BYTES_MAX: usize = 1024 * 1024;

type Read<T> = Result<T, FileReadError>;

/// A file that a member names cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileReadError {
    #[error("{field} of {member}: {} {why}", path.display())]
    Unreadable { member: Box<str>, field: &'static str, path: PathBuf, why: Box<str> },
    /// The path is inside the folder of the team file, but a link leads out of it.
    #[error(
        "{field} of {member}: {} is a link that leads out of the team file's folder; \
         write the path it leads to",
        path.display()
    )]
    LeadsOut { member: Box<str>, field: &'static str, path: PathBuf },
}

impl MemberFile {
    /// Returns how to start its agent; `None` for people and built-in members. Relative paths start at `base`, the
    /// folder of the team file. A member without `cwd` works in `work`. Fails if a script cannot be read, or if `cwd`
    /// is a link out of the folder.
    pub fn agent_spec(&self, base: &Path, work: &Path) -> Read<Option<AgentSpec>> {
        let script = match self.agent {
            Some(agent) if agent == agents::SCRIPT => self.script(base)?,
            _ => Vec::new(),
        };
        let Some(kind) = self.kind(script) else { return Ok(None) };
        let (program, words) = match self.command.split_first() {
            Some((program, words)) => (Some(in_folder(base, program)), words),
            None => (None, [].as_slice()),
        };
        Ok(Some(AgentSpec {
            kind,
            program,
            args: words.iter().chain(&self.args).cloned().collect(),
            env: self.env.clone(),
            model: self.model.clone(),
            cwd: self.folder(base, work)?,
            permissions: self.permissions,
            timeouts: self.timeouts(),
            limits: Limits::default(),
            resources: self.resource_limits(),
        }))
    }

    fn kind(&self, script: Vec<ScriptLine>) -> Option<AgentKind> {
        let agent = self.agent?;
        Some(match agent {
            _ if agent.cli.is_some() => AgentKind::Cli(agent),
            _ if agent == agents::ACP => AgentKind::Acp,
            _ if agent == agents::COMMAND => AgentKind::Command(self.output),
            _ if agent == agents::OPENAI => AgentKind::OpenAi(Endpoint {
                base_url: self.base_url.clone().unwrap_or_default(),
                key_variable: self.key_variable.clone(),
            }),
            _ if agent == agents::SCRIPT => AgentKind::Script(script),
            _ => return None,
        })
    }

    /// Returns whether its agent can keep its own session; `None` for people and built-in members. Reads no file.
    pub fn memory_support(&self) -> Option<MemorySupport> {
        let kind = self.kind(Vec::new())?;
        let program = self.command.first().cloned();
        let args = self.command.iter().skip(1).chain(&self.args).cloned().collect();
        let spec = AgentSpec { program, args, ..AgentSpec::new(kind, ".") };
        Some(tertulia_agent::memory_support(&spec))
    }

    /// Returns the folder it works in. A missing folder is reported when the agent is started.
    fn folder(&self, base: &Path, work: &Path) -> Read<PathBuf> {
        let Some(cwd) = self.cwd.as_deref() else { return Ok(work.to_owned()) };
        let folder = base.join(cwd);
        let is_elsewhere = match (folder.canonicalize(), base.canonicalize()) {
            (Ok(real), Ok(base)) => !real.starts_with(base),
            _ => false,
        };
        match !leads_out(cwd) && is_elsewhere {
            true => Err(self.leads_out("cwd", folder)),
            false => Ok(folder),
        }
    }

    /// Returns the instruction, then the text of the instruction file, with an empty line between them. `None` if
    /// there is neither.
    pub fn instruction_text(&self, base: &Path) -> Read<Option<String>> {
        let written = self.instruction.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let named = self.instruction_file.as_deref();
        let file = named.map(|path| self.text_of("instruction_file", path, base)).transpose()?;
        let file = file.as_deref().map(str::trim).filter(|text| !text.is_empty());
        Ok(match (written, file) {
            (Some(written), Some(file)) => Some(format!("{written}\n\n{file}")),
            (one, other) => one.or(other).map(str::to_owned),
        })
    }

    /// Returns the preamble, with the text of the file that replaces it.
    pub fn preamble_text(&self, base: &Path) -> Read<Preamble> {
        Ok(match &self.preamble {
            PreambleFile::BuiltIn => Preamble::BuiltIn,
            PreambleFile::Off => Preamble::Off,
            PreambleFile::File(path) => Preamble::Text(self.text_of("preamble", path, base)?),
        })
    }

    fn timeouts(&self) -> Timeouts {
        let seconds = |given: Option<u32>, usual: Duration| {
            given.map_or(usual, |seconds| Duration::from_secs(seconds.into()))
        };
        let mut usual = Timeouts::default();
        usual.total = seconds(self.timeout_s, usual.total);
        if self.agent == Some(agents::COMMAND) {
            // Many programs print their answer only at the end.
            (usual.first_byte, usual.silence) = (usual.total, usual.total);
        }
        Timeouts {
            first_byte: seconds(self.first_byte_s, usual.first_byte),
            silence: seconds(self.silence_s, usual.silence),
            ..usual
        }
    }

    /// Returns the resource limits of a turn: those of the member, else of the team, else the defaults.
    pub fn resource_limits(&self) -> ResourceLimits {
        let (own, team, usual) = (&self.resources, &self.inherited, ResourceLimits::default());
        let memory = own.max_memory_mb.or(team.max_memory_mb);
        ResourceLimits {
            processes: own.max_processes.or(team.max_processes).unwrap_or(usual.processes),
            memory_bytes: memory.map_or(usual.memory_bytes, |mb| u64::from(mb) << 20),
        }
    }

    fn script(&self, base: &Path) -> Read<Vec<ScriptLine>> {
        let Some(path) = &self.script_file else {
            let answers = self.answers.iter().cloned();
            return Ok(answers.map(|text| ScriptLine { text, delay: Duration::ZERO }).collect());
        };
        let text = self.text_of("script_file", path, base)?;
        let refuse = |why: String| self.unreadable("script_file", &base.join(&**path), &why);
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line =
                script_line(line).map_err(|why| refuse(format!("line {}: {why}", index + 1)))?;
            lines.push(line);
        }
        if lines.is_empty() {
            return Err(refuse("contains no answers".to_owned()));
        }
        Ok(lines)
    }

    fn text_of(&self, field: &'static str, path: &str, base: &Path) -> Read<String> {
        let whole = base.join(path);
        let refuse = |why: &str| self.unreadable(field, &whole, why);
        let real =
            |path: &Path| path.canonicalize().map_err(|e| refuse(&format!("cannot be read: {e}")));
        if !leads_out(path) && !real(&whole)?.starts_with(real(base)?) {
            return Err(self.leads_out(field, whole));
        }
        let bytes = read::bytes_of(&whole, BYTES_MAX).map_err(|why| refuse(&why))?;
        let text =
            String::from_utf8(bytes).map_err(|_| refuse("is not UTF-8; save it as UTF-8"))?;
        Ok(text.trim_start_matches('\u{feff}').to_owned())
    }

    fn leads_out(&self, field: &'static str, path: PathBuf) -> FileReadError {
        FileReadError::LeadsOut { member: self.name.clone(), field, path }
    }

    fn unreadable(&self, field: &'static str, path: &Path, why: &str) -> FileReadError {
        let (member, path, why) = (self.name.clone(), path.to_owned(), why.into());
        FileReadError::Unreadable { member, field, path, why }
    }
}

/// Returns whether a path, as written, leads out of the folder where it starts.
pub(super) fn leads_out(path: &str) -> bool {
    let mut depth = 0_usize;
    for component in Path::new(path).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

/// Resolves a program: a plain name is searched in `PATH`, a relative path starts at the folder.
fn in_folder(base: &Path, program: &str) -> Box<str> {
    if program.contains('/') { base.join(program).to_string_lossy().into() } else { program.into() }
}

/// One line of a script file: a JSON string, or `{"text": …, "delayMs": …}`.
fn script_line(line: &str) -> Result<ScriptLine, String> {
    let raw = json::parse(line).map_err(|error| error.to_string())?;
    if Kind::from(raw) == Kind::String {
        let text = json::text(raw).map_err(|error| error.to_string())?.into();
        return Ok(ScriptLine { text, delay: Duration::ZERO });
    }
    let read = || {
        let mut object = Object::try_from(raw)?;
        let text = object.need_text("text")?.into();
        let delay = object.take_with("delayMs", json::whole_number)?.unwrap_or(0);
        Ok((ScriptLine { text, delay: Duration::from_millis(delay) }, object))
    };
    let (line, rest) = read().map_err(|error: json::FieldError| error.to_string())?;
    match rest.names().next() {
        None => Ok(line),
        Some(name) => Err(format!("there is no field {name}; the fields are text and delayMs")),
    }
}
