//! A read snapshot that stays open between two appends: an unfinished statement in the connection's statement cache.

use rusqlite::Connection;

/// The text differs from the one with which transactions query the version, so that each has its own statement.
const SQL: &str = "PRAGMA main.data_version";

/// Opens a snapshot. Returns the data version of the file, which changes whenever another process
/// writes.
pub(super) fn open(connection: &Connection) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached(SQL)?;
    let mut rows = statement.query([])?;
    let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let version = row.get(0)?;
    // Dropping the rows would reset the statement and close the snapshot.
    std::mem::forget(rows);
    Ok(version)
}

/// Closes the snapshot.
pub(super) fn close(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached(SQL)?.query([]).map(drop)
}

#[cfg(test)]
mod tests {
    use rusqlite::ErrorCode;

    use super::*;

    fn journal_is_emptied(connection: &Connection) -> bool {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() == 0
    }

    #[test]
    fn a_view_lasts_over_own_writes_and_ends_with_those_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let [own, other] = [0, 1].map(|_| {
            let connection = Connection::open(&path).unwrap();
            connection.busy_timeout(std::time::Duration::ZERO).unwrap();
            connection
                .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t (a)")
                .unwrap();
            connection
        });
        let write = |connection: &Connection| connection.execute("INSERT INTO t VALUES (1)", []);
        let version = open(&own).unwrap();
        assert!(own.is_autocommit());
        write(&own).unwrap();
        write(&own).unwrap();
        // Another connection sees the rows, but cannot empty the journal while the snapshot is open.
        let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        assert_eq!(other.query_row("SELECT count(*) FROM t", [], count).unwrap(), 2);
        assert!(!journal_is_emptied(&other));
        close(&own).unwrap();
        assert_eq!(open(&own).unwrap(), version);
        close(&own).unwrap();
        assert!(journal_is_emptied(&other));
        let version = open(&own).unwrap();
        write(&other).unwrap();
        let refused = write(&own).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
        close(&own).unwrap();
        assert_ne!(open(&own).unwrap(), version);
        write(&own).unwrap();
    }
}
