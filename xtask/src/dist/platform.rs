//! The platforms for which packages are made, and their names in each kind of package.

/// A platform, by the name of its target.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Platform {
    pub(super) target: &'static str,
    /// Whether a release has packages for it. The others are for tests on a developer's machine.
    pub(super) is_released: bool,
    /// `process.platform` and `process.arch` of Node.
    pub(super) node: (&'static str, &'static str),
    /// The tags of a wheel.
    pub(super) wheel: &'static str,
    /// Debian's architecture, where there is a Debian package.
    pub(super) debian: Option<&'static str>,
}

/// A static binary runs on every Linux, so its wheels have the tags of both C libraries.
pub(super) const PLATFORMS: [Platform; 6] = [
    Platform {
        target: "x86_64-unknown-linux-musl",
        is_released: true,
        node: ("linux", "x64"),
        wheel: "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
        debian: Some("amd64"),
    },
    Platform {
        target: "aarch64-unknown-linux-musl",
        is_released: true,
        node: ("linux", "arm64"),
        wheel: "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
        debian: Some("arm64"),
    },
    Platform {
        target: "aarch64-apple-darwin",
        is_released: true,
        node: ("darwin", "arm64"),
        wheel: "macosx_11_0_arm64",
        debian: None,
    },
    Platform {
        target: "x86_64-apple-darwin",
        is_released: false,
        node: ("darwin", "x64"),
        wheel: "macosx_10_12_x86_64",
        debian: None,
    },
    Platform {
        target: "x86_64-unknown-linux-gnu",
        is_released: false,
        node: ("linux", "x64"),
        wheel: "linux_x86_64",
        debian: Some("amd64"),
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        is_released: false,
        node: ("linux", "arm64"),
        wheel: "linux_aarch64",
        debian: Some("arm64"),
    },
];

impl Platform {
    pub(super) fn find(target: &str) -> Option<&'static Self> {
        PLATFORMS.iter().find(|platform| platform.target == target)
    }

    /// Returns whether the binary needs no library of the system.
    pub(super) fn is_static(&self) -> bool {
        self.target.ends_with("-musl")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_platforms_have_one_npm_package_each() {
        let released: Vec<_> = PLATFORMS.iter().filter(|one| one.is_released).collect();
        for platform in &released {
            let same = released.iter().filter(|other| other.node == platform.node);
            assert_eq!(same.count(), 1, "{platform:?}");
        }
    }

    #[test]
    fn a_platform_is_found_by_its_target() {
        assert!(Platform::find("x86_64-unknown-linux-musl").unwrap().is_static());
        assert!(!Platform::find("x86_64-unknown-linux-gnu").unwrap().is_static());
        assert_eq!(Platform::find("wasm32-unknown-unknown"), None);
    }
}
