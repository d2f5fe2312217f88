//! Gemini CLI gives every project folder a short name, keeps these names in `projects.json`, and looks for sessions only
//! in the folder with that name.

use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use tertulia_session::json::{self, Json, Object, RawValue};

use super::{Beside, Placing, Target};
use crate::{Environment, NativeError};

const NO_PROJECTS: &str = "{\"projects\":{}}\n";

/// Returns where a new session of a folder has to be, and how a new folder gets its short name.
pub(super) fn target(
    environment: &Environment,
    native_id: &str,
    folder: &str,
    iso: &str,
) -> Result<Target, NativeError> {
    let home = environment.named("GEMINI_CLI_HOME").unwrap_or(environment.home()).join(".gemini");
    let list = home.join("projects.json");
    let seen = match fs::read_to_string(&list) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(NativeError::new(&list, error)),
    };
    let text = seen.as_deref().unwrap_or(NO_PROJECTS);
    let projects = Projects::read(text).ok_or_else(|| {
        let reason =
            "it does not contain a list of projects; start `gemini` once in the folder, then try again";
        let error = std::io::Error::new(ErrorKind::InvalidData, reason);
        NativeError::new(&list, error)
    })?;
    let known = projects.slugs.iter().find(|(path, _)| path == folder);
    let slug = known.map_or_else(|| free_slug(&home, folder, &projects), |(_, slug)| slug.clone());
    let root = home.join("tmp").join(&slug);
    let mut beside = Vec::new();
    if known.is_none() {
        let text = projects.with(text, folder, &slug);
        beside.push(Beside { path: list, text, placing: Placing::Replace { seen } });
        let (path, text) = (root.join(".project_root"), folder.to_owned());
        beside.push(Beside { path, text, placing: Placing::IfMissing });
    }
    let minute = iso.get(..16).unwrap_or_default().replace(':', "-");
    let short = native_id.get(..8).unwrap_or(native_id);
    let path = root.join("chats").join(format!("session-{minute}-{short}.jsonl"));
    Ok(Target::File { path, beside })
}

/// The list of projects.
struct Projects {
    /// The folders with their short names.
    slugs: Vec<(String, String)>,
    /// Where the next one is added in the text.
    end: usize,
    /// What is in front of the first name, such as a line break and spaces.
    indent: String,
    is_empty: bool,
}

impl Projects {
    /// Reads the list; `None` if it is none.
    fn read(text: &str) -> Option<Self> {
        let mut whole = Object::try_from(json::parse(text).ok()?).ok()?;
        let raw = whole.take("projects")?;
        let fields = Object::try_from(raw).ok()?.into_fields();
        let slug = |(path, slug): (Cow<'_, str>, &RawValue)| (path.into_owned(), json::text(slug));
        let all: Vec<_> = fields.map(slug).collect();
        let start = (raw.get().as_ptr().addr()).checked_sub(text.as_ptr().addr())?;
        let inside = raw.get().strip_prefix('{')?.strip_suffix('}')?;
        let indent: String = inside.chars().take_while(|c| c.is_whitespace()).collect();
        let is_empty = all.is_empty();
        let end = start + 1 + if is_empty { 0 } else { inside.trim_end().len() };
        // A value of another kind is none of a folder that this version can use.
        let slugs = all.into_iter().filter_map(|(path, slug)| Some((path, slug.ok()?))).collect();
        Some(Self { slugs, end, indent, is_empty })
    }

    /// Returns the text with another folder. Every other byte stays.
    fn with(&self, text: &str, folder: &str, slug: &str) -> String {
        let comma = if self.is_empty { "" } else { "," };
        let indent = if self.is_empty { "" } else { &self.indent };
        let (before, after) = text.split_at_checked(self.end).unwrap_or((text, ""));
        let (folder, slug) = (Json::text(folder), Json::text(slug));
        format!("{before}{comma}{indent}{}: {}{after}", folder.as_str(), slug.as_str())
    }
}

/// Returns a short name that no other project has.
fn free_slug(home: &Path, folder: &str, projects: &Projects) -> String {
    let name = Path::new(folder).file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let name = name.trim_matches('-');
    let name = if name.is_empty() { "project" } else { name };
    let is_free = |slug: &String| {
        let is_taken = projects.slugs.iter().any(|(_, taken)| taken == slug);
        !is_taken && !home.join("tmp").join(slug).exists()
    };
    let numbered = (1..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0a1b2c3d-4e5f-8061-8071-2a3b4c5d6e7f";

    fn found(home: &Path, folder: &str) -> Result<Target, NativeError> {
        target(&Environment::new(home, "/tmp"), ID, folder, "2026-01-31T12:00:05.250Z")
    }

    /// Returns what `projects.json` becomes when a folder is added.
    #[track_caller]
    fn added(before: Option<&str>, folder: &str) -> String {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".gemini/tmp/app")).unwrap();
        if let Some(before) = before {
            fs::write(home.path().join(".gemini/projects.json"), before).unwrap();
        }
        let Target::File { beside, .. } = found(home.path(), folder).unwrap() else { panic!() };
        let seen = before.map(str::to_owned);
        assert_eq!(beside[0].placing, Placing::Replace { seen });
        assert!(beside[1].path.ends_with(".project_root"), "{}", beside[1].path.display());
        assert_eq!(beside[1].text, folder);
        beside[0].text.clone()
    }

    #[test]
    fn a_folder_is_added_and_every_other_byte_stays() {
        assert_eq!(
            added(
                Some(
                    "{\n  \"version\": 2.0,\n  \"projects\": {\n    \"/a\": \"app-1\",\n    \"/b\": {\"later\": 1}\n  }\n}"
                ),
                "/src/app"
            ),
            "{\n  \"version\": 2.0,\n  \"projects\": {\n    \"/a\": \"app-1\",\n    \"/b\": {\"later\": 1},\n    \"/src/app\": \"app-2\"\n  }\n}"
        );
        assert_eq!(
            added(Some(r#"{"old":{},"projects":{},"x":{}}"#), "/src/it"),
            r#"{"old":{},"projects":{"/src/it": "it"},"x":{}}"#
        );
        assert_eq!(added(None, "/src/it"), "{\"projects\":{\"/src/it\": \"it\"}}\n");
    }

    #[test]
    fn a_folder_that_is_known_keeps_its_name() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".gemini")).unwrap();
        let list = home.path().join(".gemini/projects.json");
        fs::write(&list, r#"{"projects":{"/other/app":"app"}}"#).unwrap();
        let Target::File { path, beside } = found(home.path(), "/other/app").unwrap() else {
            panic!()
        };
        assert!(path.starts_with(home.path().join(".gemini/tmp/app/chats")));
        assert_eq!(beside, []);
        fs::write(&list, "[]").unwrap();
        assert!(found(home.path(), "/x").is_err());
    }
}
