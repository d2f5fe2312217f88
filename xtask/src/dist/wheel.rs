//! The Python wheel: a zip archive whose installer puts the program beside `python`. There is no Python code in it.

use super::DistError;
use super::archive::File;
use super::checksum;
use super::contents::{About, Contents, NAME};
use super::zip::zip;
use std::fmt::Write as _;

/// The name of the file and its bytes.
pub(super) fn package(contents: &Contents) -> Result<(String, Vec<u8>), DistError> {
    let tags = contents.platform.wheel;
    let name = format!("{NAME}-{}-py3-none-{tags}.whl", contents.about.version);
    Ok((name, zip(&files(contents)).map_err(DistError::Archive)?))
}

fn files(contents: &Contents) -> Vec<File> {
    let About { version, .. } = &contents.about;
    let (data, info) = (format!("{NAME}-{version}.data"), format!("{NAME}-{version}.dist-info"));
    let program = File::program("scripts/tertulia", contents.program.as_slice());
    let mut files = vec![program.below(&data)];
    files.extend(contents.shared().into_iter().map(|file| file.below("data").below(&data)));
    let licences = contents.all_licences().map(|file| file.below("licenses"));
    files.extend(licences.map(|file| file.below(&info)));
    files.push(File::text(format!("{info}/sboms/{NAME}.cdx.json"), contents.bill.as_str()));
    files.push(File::text(format!("{info}/METADATA"), metadata(contents)));
    files.push(File::text(format!("{info}/WHEEL"), wheel(contents.platform.wheel)));
    // Comes last, because the installer reads here which files to remove later.
    let own = format!("{info}/RECORD");
    files.push(File::text(own.clone(), record(&files, &own)));
    files
}

fn metadata(contents: &Contents) -> String {
    let About { version, description, licence, homepage, readme } = &contents.about;
    let files = contents.all_licences().map(|file| format!("License-File: {}\n", file.path));
    let licence_files: String = files.collect();
    format!(
        "\
Metadata-Version: 2.4
Name: {NAME}
Version: {version}
Summary: {description}
Project-URL: Homepage, {homepage}
License-Expression: {licence}
{licence_files}Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"
    )
}

/// One tag for each platform that the name of the file lists.
fn wheel(platforms: &str) -> String {
    let mut text = "Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\n".to_owned();
    for platform in platforms.split('.') {
        let _ = writeln!(text, "Tag: py3-none-{platform}");
    }
    text
}

/// Every file with its checksum and size; the record itself has neither.
fn record(files: &[File], own: &str) -> String {
    let mut text = String::new();
    for File { path, bytes, .. } in files {
        let _ = writeln!(text, "{path},{},{}", checksum::record(bytes), bytes.len());
    }
    let _ = writeln!(text, "{own},,");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: &str = "x86_64-unknown-linux-musl";

    #[test]
    fn the_record_lists_every_file_and_itself() {
        let files = [File::text("a.data/scripts/a", ""), File::text("a.dist-info/WHEEL", "abc")];
        let expected = "\
a.data/scripts/a,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0
a.dist-info/WHEEL,sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3
a.dist-info/RECORD,,
";
        assert_eq!(record(&files, "a.dist-info/RECORD"), expected);
    }

    #[test]
    fn the_tags_of_the_name_are_those_in_the_wheel() {
        let contents = Contents::example(TARGET);
        let (name, _) = package(&contents).unwrap();
        assert!(name.starts_with("tertulia-0.1.0-py3-none-manylinux_2_17_x86_64."), "{name}");
        let text = wheel(contents.platform.wheel);
        assert!(text.ends_with("Tag: py3-none-musllinux_1_1_x86_64\n"), "{text}");
        assert_eq!(text.matches("Tag: ").count(), 3);
    }

    #[test]
    fn the_program_is_a_script_and_pages_are_data() {
        let files = files(&Contents::example(TARGET));
        let program = &files[0];
        assert_eq!(program.path, "tertulia-0.1.0.data/scripts/tertulia");
        assert!(program.is_program);
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert!(paths.contains(&"tertulia-0.1.0.data/data/share/man/man1/tertulia.1"), "{paths:?}");
        assert_eq!(paths.last(), Some(&"tertulia-0.1.0.dist-info/RECORD"));
    }

    #[test]
    fn the_metadata_names_every_licence_file() {
        let text = metadata(&Contents::example(TARGET));
        assert!(
            text.contains("\nLicense-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-MIT\n")
        );
        assert!(text.contains("\nLicense-File: LICENSES-OF-DEPENDENCIES\n"), "{text}");
        assert!(text.ends_with("\n\n# tertulia\n"), "{text}");
    }
}
