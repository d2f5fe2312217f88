//! The settings of a member that its native session depends on. If one changes, the session cannot be continued,
//! because agents keep the first value.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::AgentSpec;

/// Each setting with a short hash of its value. Hashes, because a value may be long or private.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings(BTreeMap<Box<str>, Box<str>>);

const HASH_BYTES: usize = 8;

impl Settings {
    pub(crate) fn new(spec: &AgentSpec, system: Option<&str>) -> Self {
        let cwd = std::path::absolute(&spec.cwd).unwrap_or_else(|_| spec.cwd.clone());
        let args = spec.args.join("\0");
        let values = [
            ("model", spec.model.as_deref().unwrap_or_default()),
            ("instructions", system.unwrap_or_default()),
            ("folder", &cwd.to_string_lossy()),
            ("program", spec.program.as_deref().unwrap_or_default()),
            ("arguments", &args),
        ];
        let known = values.into_iter().filter(|(_, value)| !value.is_empty());
        Self(known.map(|(name, value)| (name.into(), short_hash(value.as_bytes()))).collect())
    }

    /// Returns the names of the settings that differ.
    pub(crate) fn changed(&self, now: &Self) -> Option<Box<str>> {
        let mut names: Vec<&str> = self.0.keys().chain(now.0.keys()).map(|name| &**name).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| self.0.get(*name) != now.0.get(*name));
        (!names.is_empty()).then(|| names.join(", ").into())
    }

    pub(super) fn to_value(&self) -> Value {
        let fields = self.0.iter().map(|(name, hash)| (name.to_string(), (&**hash).into()));
        Value::Object(fields.collect())
    }

    pub(super) fn from_value(value: Option<&Value>) -> Self {
        let fields = value.and_then(Value::as_object).into_iter().flatten();
        let known =
            fields.filter_map(|(name, hash)| Some((name.as_str().into(), hash.as_str()?.into())));
        Self(known.collect())
    }
}

/// Returns the start of the hash of these bytes in hex.
pub(crate) fn short_hash(bytes: &[u8]) -> Box<str> {
    let hash = blake3::hash(bytes).to_hex();
    hash.get(..2 * HASH_BYTES).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AgentKind, agents};

    #[test]
    fn changed_settings_are_named() {
        let spec = AgentSpec::new(AgentKind::Cli(agents::CLAUDE), "/work");
        let before = Settings::new(&spec, Some("Be brief."));
        assert_eq!(before.changed(&Settings::new(&spec, Some("Be brief."))), None);
        let other = AgentSpec { model: Some("m2".into()), ..spec };
        let now = Settings::new(&other, Some("Be long."));
        assert_eq!(before.changed(&now).as_deref(), Some("instructions, model"));
        assert_eq!(now.changed(&before).as_deref(), Some("instructions, model"));
    }
}
