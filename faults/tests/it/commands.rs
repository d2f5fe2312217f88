//! The guarantees of every command that writes: under kills and disk errors (`copies`), and under
//! power cuts (`cuts`). Two tests per command; each also requires its control to fail.

use crate::harness::kept;

/// Kills and errors at every n-th call of a command.
#[track_caller]
fn check_kills(job: &str, stride: u32) {
    let line = format!("copies --job {job} --stride {stride} --seed 1");
    let Some(figures) = kept(&line) else { return };
    assert!(figures.count(&format!("kills of {job}")) > 0);
    assert!(figures.count(&format!("errors of {job}")) > 0);
    assert!(figures.count(&format!("rejections of the control of {job}")) > 0);
}

/// Power cuts at moments during its whole run.
#[track_caller]
fn check_cuts(job: &str) {
    let Some(figures) = kept(&format!("cuts --job {job} --images 24 --seed 1")) else { return };
    assert!(figures.count(&format!("images of {job}")) > 0);
    assert!(figures.count("after success was reported") > 0);
    assert!(figures.count(&format!("bad images of {job} without syncs")) > 0);
}

#[test]
fn a_backup_is_complete_or_absent_when_killed() {
    check_kills("backup", 40);
}

#[test]
fn a_backup_is_complete_or_absent_after_a_power_cut() {
    check_cuts("backup");
}

#[test]
fn a_restore_restores_all_sessions_or_none_when_killed() {
    check_kills("restore", 60);
}

#[test]
fn a_restore_restores_all_sessions_or_none_after_a_power_cut() {
    check_cuts("restore");
}

#[test]
fn an_import_is_complete_or_absent_when_killed() {
    check_kills("import", 200);
}

#[test]
fn an_import_is_complete_or_absent_after_a_power_cut() {
    check_cuts("import");
}

#[test]
fn an_export_is_complete_or_absent_when_killed() {
    check_kills("export", 6);
}

#[test]
fn an_export_is_complete_or_absent_after_a_power_cut() {
    check_cuts("export");
}

#[test]
fn a_migration_loses_nothing_and_its_copies_open_when_killed() {
    check_kills("migration", 30);
}

#[test]
fn a_migration_loses_nothing_and_its_copies_open_after_a_power_cut() {
    check_cuts("migration");
}

#[test]
fn a_branch_is_complete_or_absent_when_killed() {
    check_kills("branch", 30);
}

#[test]
fn a_branch_is_complete_or_absent_after_a_power_cut() {
    check_cuts("branch");
}

#[test]
fn a_deletion_can_be_finished_and_leaves_no_text_when_killed() {
    check_kills("delete", 20);
}

#[test]
fn a_deletion_can_be_finished_and_leaves_no_text_after_a_power_cut() {
    check_cuts("delete");
}

#[test]
fn a_redaction_can_be_finished_and_leaves_no_text_when_killed() {
    check_kills("redact", 20);
}

#[test]
fn a_redaction_can_be_finished_and_leaves_no_text_after_a_power_cut() {
    check_cuts("redact");
}

#[test]
fn a_list_of_trusted_files_is_never_incomplete_when_killed() {
    check_kills("trust", 6);
}

#[test]
fn a_list_of_trusted_files_is_never_incomplete_after_a_power_cut() {
    check_cuts("trust");
}

#[test]
fn a_new_team_file_is_complete_or_absent_when_killed() {
    check_kills("init", 6);
}

#[test]
fn a_new_team_file_is_complete_or_absent_after_a_power_cut() {
    check_cuts("init");
}
