package sqlstore

// Dialect holds the differences between the SQL of the databases.
type Dialect struct {
	// concurrent reports whether transactions overlap and therefore lock the rows they change.
	concurrent bool
	// zeroTimes reports whether an unset time is stored as 0, not NULL.
	zeroTimes bool
	// forUpdate ends a SELECT of rows to change; skipLocked also skips the rows that other
	// transactions have locked.
	forUpdate, skipLocked string
	// unindexed precedes a column whose index must not be used.
	unindexed string
	// micros is an expression for the database's time in microseconds.
	micros string
	// eventSessions reports whether events have their session ids.
	eventSessions bool
	// events begins the query of the events of a turn.
	events string
	// pruneChunk is how many sessions or turns one transaction prunes; 0 means no limit.
	pruneChunk int
}

// PostgreSQL is the dialect of PostgreSQL.
var PostgreSQL = &Dialect{
	concurrent: true, eventSessions: true,
	forUpdate:  " FOR NO KEY UPDATE",
	skipLocked: " FOR NO KEY UPDATE SKIP LOCKED",
	micros:     "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
	events:     "SELECT e.seq, e.session_id, e.at, e.type, e.data, COALESCE(e.path, '') FROM events e WHERE e.turn_id = $1",
}

// SQLite is the dialect of SQLite, which allows one writing transaction at a time. Statements go
// through RewriteForSQLite before they are prepared.
var SQLite = &Dialect{
	zeroTimes: true,
	unindexed: "+",
	micros:    "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
	events:    "SELECT e.seq, t.session_id, e.at, e.type, e.data, COALESCE(e.path, '') FROM turns t JOIN events e ON e.turn_id = t.id WHERE t.id = $1",
	// Writers wait for one session or turn at most.
	pruneChunk: 1,
}

// live returns the condition that a turn is live, written as in the partial indexes.
func (d *Dialect) live(alias string) string {
	if d.zeroTimes {
		return alias + ".finished_at = 0"
	}
	return alias + ".status IN ('pending', 'running', 'waiting')"
}

// isSet returns the condition that a column has a time.
func (d *Dialect) isSet(column string) string {
	if d.zeroTimes {
		return column + " <> 0"
	}
	return column + " IS NOT NULL"
}
