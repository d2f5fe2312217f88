//! Tests of parsing strace logs line by line.

use super::*;

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}

/// Words in capitals stand for paths.
fn log(text: &str) -> String {
    let text = text.replace("DB", &hex("/d/a.db")).replace("NEW", &hex("/d/n/new"));
    text.replace("PART", &hex("/d/n/part")).replace("DIR", &hex("/d"))
}

fn check(text: &str, expected: &[Step]) {
    assert_eq!(read(&log(text), "/d").unwrap(), expected);
}

fn db() -> String {
    "a.db".to_owned()
}

#[test]
fn writes_and_syncs_are_read() {
    check(
        "7 pwrite64(5<DB>, \"\\x01\\x02\", 2, 512) = 2\n7 fsync(5<DB>) = 0\n7 fsync(6<DIR>) = 0\n",
        &[
            Step::Write { file: db(), offset: 512, bytes: vec![1, 2] },
            Step::Sync { file: db() },
            Step::Sync { file: String::new() },
        ],
    );
}

#[test]
fn a_write_goes_where_the_last_one_ended() {
    check(
        "7 openat(AT_FDCWD<DIR>, \"PART\", O_RDWR|O_CREAT|O_EXCL, 0600) = 4<PART>\n\
         7 write(4<PART>, \"\\x01\\x02\", 2) = 2\n7 write(4<PART>, \"\\x03\", 1) = 1\n\
         7 lseek(4<PART>, 0, SEEK_SET) = 0\n7 write(4<PART>, \"\\x04\", 1) = 1\n",
        &[
            Step::Make { file: "n/part".to_owned() },
            Step::Write { file: "n/part".to_owned(), offset: 0, bytes: vec![1, 2] },
            Step::Write { file: "n/part".to_owned(), offset: 2, bytes: vec![3] },
            Step::Write { file: "n/part".to_owned(), offset: 0, bytes: vec![4] },
        ],
    );
}

#[test]
fn names_are_created_changed_and_removed() {
    let (from, to) = ("n/part".to_owned(), "n/new".to_owned());
    let relative = hex("n");
    check(
        &format!(
            "7 mkdirat(AT_FDCWD<DIR>, \"{relative}\", 0700) = 0\n\
             7 renameat2(AT_FDCWD<DIR>, \"PART\", AT_FDCWD<DIR>, \"NEW\", RENAME_NOREPLACE) = 0\n\
             7 linkat(AT_FDCWD<DIR>, \"PART\", AT_FDCWD<DIR>, \"NEW\", 0) = 0\n\
             7 unlink(\"NEW\") = 0\n"
        ),
        &[
            Step::MakeFolder { folder: "n".to_owned() },
            Step::Rename { from: from.clone(), to: to.clone() },
            Step::Link { from, to: to.clone() },
            Step::Remove { file: to },
        ],
    );
}

#[test]
fn a_sync_counts_when_it_returns_and_a_write_when_it_begins() {
    check(
        "7 fsync(5<DB> <unfinished ...>\n8 ftruncate(5<DB>, 0 <unfinished ...>\n\
         7 <... fsync resumed>) = 0\n8 <... ftruncate resumed>) = 0\n",
        &[Step::Truncate { file: db(), length: 0 }, Step::Sync { file: db() }],
    );
}

#[test]
fn failed_calls_and_other_files_are_skipped() {
    let other = hex("/etc/hosts");
    check(
        &format!(
            "7 ftruncate(5<DB>, 0) = -1 EIO (Input/output error)\n7 unlink(\"DB\") = -1 ENOENT (No such)\n\
             7 openat(AT_FDCWD<DIR>, \"{other}\", O_RDWR|O_CREAT, 0600) = 3<{other}>\n\
             7 write(4<DB>(deleted), \"\\x01\", 1) = 1\n"
        ),
        &[],
    );
}

#[test]
fn a_failed_sync_is_recognised() {
    let failed = Step::SyncFailed { file: db() };
    check("7 fsync(5<DB>) = -1 EIO (Input/output error) (INJECTED)\n", &[failed]);
}

#[test]
fn output_and_success_are_read() {
    let said = hex("stored s1 w-0 4\n");
    let text = "stored s1 w-0 4\n".to_owned();
    check(
        &format!(
            "7 write(1<DIR>, \"{said}\", 16) = 16\n7 exit_group(1) = ?\n7 exit_group(0) = ?\n"
        ),
        &[Step::Said { stream: 1, text }, Step::EndedWell],
    );
}

#[test]
fn a_call_that_the_model_does_not_know_is_an_error() {
    for line in [
        "7 rename(\"DB\", \"NEW\") = 0\n",
        "7 pwrite64(5<DB>, \"\\x01\"..., 9, 0) = 9\n",
        "7 write(5<DB>, \"\\x01\", 1) = 1\n",
        "7 copy_file_range(5<DB>, NULL, 6<DB>, NULL, 9, 0) = 9\n",
        "7 fallocate(5<DB>, FALLOC_FL_PUNCH_HOLE, 0, 9) = 0\n",
    ] {
        assert!(read(&log(line), "/d").is_err(), "{line}");
    }
}
