//! Whether the tables agree with each other, and whether the server keeps what it says. Called when
//! somebody asks; changes nothing.

use super::link::Link;
use super::trouble::Trouble;

const TAILS: &str = "SELECT s.id, s.tail_seq, coalesce(e.seq, 0) FROM tertulia.session s \
    LEFT JOIN LATERAL (SELECT n.seq, n.id, n.link FROM tertulia.entry n WHERE n.session = s.key \
    ORDER BY n.seq DESC LIMIT 1) AS e ON true WHERE s.state <> 2 AND (s.tail_seq <> \
    coalesce(e.seq, 0) OR s.tail_id IS DISTINCT FROM e.id OR s.tail_link IS DISTINCT FROM e.link) \
    ORDER BY s.key LIMIT 20";
const ORPHANS: &str = "SELECT count(*) FROM (SELECT FROM tertulia.entry e WHERE NOT EXISTS \
    (SELECT FROM tertulia.session s WHERE s.key = e.session) LIMIT 1000) AS lost";
const SETTINGS: &str = "SELECT name FROM pg_catalog.pg_settings \
    WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name";

/// What is wrong, one line each.
pub(super) async fn check(link: &mut Link) -> Result<Vec<String>, Trouble> {
    let mut found = Vec::new();
    for row in link.query(TAILS, &[]).await? {
        let (id, tail, newest): (String, i64, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        found.push(format!(
            "session {id} should end in entry {tail}; its newest entry is {newest}, or is another"
        ));
    }
    let orphans = link.query_opt(ORPHANS, &[]).await?;
    let orphans: i64 = orphans.map_or(Ok(0), |row| row.try_get(0))?;
    if orphans > 0 {
        found.push(format!("{orphans} entries, or more, are of no session"));
    }
    for row in link.query(SETTINGS, &[]).await? {
        let name: String = row.try_get(0)?;
        found.push(format!("the server runs with {name} = off: a power cut may lose entries"));
    }
    Ok(found)
}
