//! The npm packages: one with the program for each platform, and the main one, whose script starts it. npm installs only
//! the platform package that fits, since the main package lists them as optional.

use super::DistError;
use super::archive::{File, tar_gz};
use super::contents::{About, Contents, NAME};
use super::platform::{PLATFORMS, Platform};
use serde_json::{Map, Value, json};

/// Starts the program of the platform.
const LAUNCHER: &str = include_str!("npm/tertulia.js");

/// The oldest Node that can run the launcher. With a higher number, npm would silently choose an older version of the
/// package.
const NODE: &str = ">=16";

/// The main package and that of the platform, in this order, each with the name of its file.
pub(super) fn packages(contents: &Contents) -> Result<[(String, Vec<u8>); 2], DistError> {
    let version = &contents.about.version;
    let platform = platform_name(contents.platform);
    Ok([
        (format!("{NAME}-{version}.tgz"), pack(main_files(contents))?),
        (format!("{platform}-{version}.tgz"), pack(platform_files(contents))?),
    ])
}

/// npm wants everything in a folder of this name.
fn pack(files: Vec<File>) -> Result<Vec<u8>, DistError> {
    let files: Vec<File> = files.into_iter().map(|file| file.below("package")).collect();
    tar_gz(&files).map_err(DistError::Archive)
}

fn platform_name(platform: &Platform) -> String {
    let (os, cpu) = platform.node;
    format!("{NAME}-{os}-{cpu}")
}

/// The files of the main package. They are the same for every platform, so that it is uploaded once.
fn main_files(contents: &Contents) -> Vec<File> {
    let version = &contents.about.version;
    let released = PLATFORMS.iter().filter(|platform| platform.is_released);
    let platforms: Map<String, Value> =
        released.map(|platform| (platform_name(platform), json!(version))).collect();
    let mut manifest = manifest(&contents.about, NAME);
    manifest["bin"] = json!({ NAME: "bin/tertulia.js" });
    manifest["man"] = contents.manual.iter().map(|page| format!("man/{}", page.path)).collect();
    manifest["optionalDependencies"] = Value::Object(platforms);
    let mut files = common_files(contents, &manifest);
    files.push(File::program("bin/tertulia.js", LAUNCHER));
    files.extend(contents.manual.iter().cloned().map(|page| page.below("man")));
    let completions = &contents.completions;
    for (name, script) in [
        ("tertulia.bash", &completions.bash),
        ("_tertulia", &completions.zsh),
        ("tertulia.fish", &completions.fish),
    ] {
        files.push(File::text(format!("completions/{name}"), script.as_slice()));
    }
    files
}

fn platform_files(contents: &Contents) -> Vec<File> {
    let (os, cpu) = contents.platform.node;
    let mut manifest = manifest(&contents.about, &platform_name(contents.platform));
    manifest["os"] = json!([os]);
    manifest["cpu"] = json!([cpu]);
    // A program in an archive of Yarn could not be started.
    manifest["preferUnplugged"] = json!(true);
    let mut files = common_files(contents, &manifest);
    files.push(contents.notices.clone());
    files.push(File::program("bin/tertulia", contents.program.as_slice()));
    files
}

fn common_files(contents: &Contents, manifest: &Value) -> Vec<File> {
    let mut files = vec![
        File::text("package.json", format!("{manifest:#}\n")),
        File::text("README.md", contents.about.readme.as_str()),
    ];
    files.extend(contents.licences.iter().cloned());
    files
}

fn manifest(about: &About, name: &str) -> Value {
    let About { version, description, licence, homepage, .. } = about;
    json!({
        "name": name,
        "version": version,
        "description": description,
        "license": format!("({licence})"),
        "homepage": homepage,
        "repository": { "type": "git", "url": format!("git+{homepage}.git") },
        "engines": { "node": NODE },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest_of(files: &[File]) -> Value {
        let file = files.iter().find(|file| file.path == "package.json").unwrap();
        serde_json::from_slice(&file.bytes).unwrap()
    }

    #[test]
    fn the_main_package_is_the_same_for_every_platform() {
        let [linux, darwin] = ["x86_64-unknown-linux-musl", "aarch64-apple-darwin"]
            .map(|target| main_files(&Contents::example(target)));
        assert_eq!(linux, darwin);
        let manifest = manifest_of(&linux);
        let platforms = json!({
            "tertulia-darwin-arm64": "0.1.0",
            "tertulia-linux-arm64": "0.1.0",
            "tertulia-linux-x64": "0.1.0",
        });
        assert_eq!(manifest["optionalDependencies"], platforms);
        assert_eq!(manifest["bin"]["tertulia"], "bin/tertulia.js");
        assert_eq!(manifest["man"], json!(["man/tertulia-run.1", "man/tertulia.1"]));
        assert_eq!(manifest["engines"]["node"], ">=16");
    }

    #[test]
    fn a_platform_package_is_for_its_platform_alone() {
        let files = platform_files(&Contents::example("aarch64-unknown-linux-musl"));
        let manifest = manifest_of(&files);
        assert_eq!(manifest["name"], "tertulia-linux-arm64");
        assert_eq!((&manifest["os"], &manifest["cpu"]), (&json!(["linux"]), &json!(["arm64"])));
        let program = files.iter().find(|file| file.path == "bin/tertulia").unwrap();
        assert!(program.is_program);
    }

    #[test]
    fn the_launcher_asks_for_the_packages_that_are_listed() {
        assert!(LAUNCHER.contains("`tertulia-${process.platform}-${process.arch}`"));
        assert!(LAUNCHER.contains("/bin/tertulia`"));
    }
}
