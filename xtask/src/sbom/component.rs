//! One component of the bill of materials, in the form of CycloneDX 1.6.

use serde_json::{Map, Value, json};

/// The use of a crate, in the terms of CycloneDX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// It is compiled into the program.
    Required,
    /// It runs while the program is compiled: build scripts, derive macros.
    Excluded,
}

/// A crate.
pub(super) struct Component {
    pub(super) is_program: bool,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) licence: Option<String>,
    pub(super) description: Option<String>,
    pub(super) repository: Option<String>,
    /// SHA-256 of the package, in hexadecimal; our own crates have none.
    pub(super) checksum: Option<String>,
    pub(super) scope: Scope,
}

impl Component {
    /// The component as JSON; fields without a value are left out.
    pub(super) fn to_json(&self) -> Value {
        let url = self.package_url();
        let scope = match self.scope {
            Scope::Required => "required",
            Scope::Excluded => "excluded",
        };
        let fields = [
            ("type", Some(json!(if self.is_program { "application" } else { "library" }))),
            ("bom-ref", Some(json!(url))),
            ("name", Some(json!(self.name))),
            ("version", Some(json!(self.version))),
            ("description", self.description.as_ref().map(|text| json!(text))),
            ("scope", Some(json!(scope))),
            (
                "hashes",
                self.checksum.as_ref().map(|sum| json!([{"alg": "SHA-256", "content": sum}])),
            ),
            ("licenses", self.licence.as_ref().map(|one| json!([{"expression": expression(one)}]))),
            ("purl", Some(json!(url))),
            (
                "externalReferences",
                self.repository.as_ref().map(|url| json!([{"type": "vcs", "url": url}])),
            ),
        ];
        let fields = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Value::Object(fields.collect::<Map<_, _>>())
    }

    /// The address of a package, <https://github.com/package-url/purl-spec>.
    fn package_url(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version.replace('+', "%2B"))
    }
}

/// Converts the old form `MIT/Apache-2.0` of a licence to an expression.
fn expression(licence: &str) -> String {
    licence.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component() -> Component {
        Component {
            is_program: false,
            name: "zstd-sys".to_owned(),
            version: "2.0.16+zstd.1.5.7".to_owned(),
            licence: Some("MIT/Apache-2.0".to_owned()),
            description: None,
            repository: None,
            checksum: Some("ab12".to_owned()),
            scope: Scope::Required,
        }
    }

    #[test]
    fn a_crate_has_a_licence_a_checksum_and_an_address() {
        let expected = json!({
            "type": "library",
            "bom-ref": "pkg:cargo/zstd-sys@2.0.16%2Bzstd.1.5.7",
            "name": "zstd-sys",
            "version": "2.0.16+zstd.1.5.7",
            "scope": "required",
            "hashes": [{"alg": "SHA-256", "content": "ab12"}],
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
            "purl": "pkg:cargo/zstd-sys@2.0.16%2Bzstd.1.5.7",
        });
        assert_eq!(component().to_json(), expected);
    }

    #[test]
    fn what_only_runs_at_compile_time_is_marked() {
        let component = Component { scope: Scope::Excluded, checksum: None, ..component() };
        let json = component.to_json();
        assert_eq!(json["scope"], "excluded");
        assert_eq!(json.get("hashes"), None);
    }
}
