//! The settings of a member on which the session of its agent depends. The log has a hash of each, because a value may
//! be long or private.

use std::collections::BTreeMap;

use serde_json::Value;
use tertulia_agent::{AgentSpec, Permissions};
use tertulia_session::json::Json;

/// Number of hex digits of a hash.
const DIGITS: usize = 16;
/// Number of hex digits for the variables. They may contain keys, so the hash must not confirm a guess.
const VARIABLE_DIGITS: usize = 4;

/// A hash of each setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings(BTreeMap<&'static str, Box<str>>);

impl Settings {
    /// Returns the settings of an agent that gets this system text.
    pub(crate) fn new(spec: &AgentSpec, system: Option<&str>) -> Self {
        let permissions = match spec.permissions {
            Permissions::Read => "read",
            Permissions::Edit => "edit",
            Permissions::Full => "full",
        };
        let folder = spec.cwd.to_string_lossy();
        let variables = spec.env.iter().map(|(name, value)| format!("{name}={value}\0"));
        let variables: String = variables.collect();
        let values = [
            ("agent", spec.kind.definition().word, DIGITS),
            ("program", spec.program.as_deref().unwrap_or_default(), DIGITS),
            ("arguments", &*spec.args.join("\0"), DIGITS),
            ("variables", &*variables, VARIABLE_DIGITS),
            ("model", spec.model.as_deref().unwrap_or_default(), DIGITS),
            ("permissions", permissions, DIGITS),
            ("folder", &*folder, DIGITS),
            ("instructions", system.unwrap_or_default(), DIGITS),
        ];
        let known = values.into_iter().filter(|(_, value, _)| !value.is_empty());
        Self(known.map(|(name, value, digits)| (name, hash(value, digits))).collect())
    }

    pub(crate) fn to_json(&self) -> Option<Json> {
        let fields = self.0.iter().map(|(name, hash)| ((*name).to_owned(), (&**hash).into()));
        Json::serialized(&Value::Object(fields.collect()))
    }

    /// Returns the names of the settings that differ from the recorded ones.
    pub(crate) fn changed_since(&self, recorded: &Json) -> Option<Box<str>> {
        let before: BTreeMap<String, String> =
            serde_json::from_str(recorded.as_str()).unwrap_or_default();
        let now = |name: &str| self.0.get(name).map(|hash| &**hash);
        let mut names: Vec<&str> =
            before.keys().map(|name| &**name).chain(self.0.keys().copied()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| before.get(*name).map(|hash| &**hash) != now(name));
        (!names.is_empty()).then(|| names.join(", ").into())
    }
}

fn hash(value: &str, digits: usize) -> Box<str> {
    let hash = blake3::hash(value.as_bytes()).to_hex();
    hash.get(..digits).unwrap_or_default().into()
}
