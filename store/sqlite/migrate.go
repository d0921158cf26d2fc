package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/migration"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// errForeign reports that a database belongs to another program.
var errForeign = errors.New("the file is a SQLite database of another program")

// Migrate creates or updates the tables of a file and returns the names of the applied migrations.
// Unlike Open, it also rewrites files that were created before files could shrink; the name of this
// step is auto_vacuum. It returns the same errors as Open.
func Migrate(ctx context.Context, s store.Settings) (applied []string, err error) {
	st, err := newStore(s)
	if err != nil {
		return nil, err
	}
	lock, err := prepareFile(st.path)
	if err != nil {
		return nil, wrapError("migrate", st.path, err)
	}
	if applied, err = migrateFile(ctx, st.path); err == nil {
		applied, err = makeShrinkable(ctx, st.path, applied)
	}
	return applied, errors.Join(wrapError("migrate", st.path, explainDamage(err)), lock.release())
}

// migrateFile migrates a file whose lock is held.
func migrateFile(ctx context.Context, file string) (applied []string, err error) {
	// Nothing is written before the owner of the file is known.
	reader, err := openConnections(file, reading)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkOwner(ctx, reader), reader.Close()); err != nil {
		return nil, err
	}
	conn, err := openConnections(file, writing)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return migration.Apply(ctx, "file", goose.DialectSQLite3, conn, migrations)
}

// makeShrinkable ensures that a locked file can shrink, and adds the names of its steps.
func makeShrinkable(ctx context.Context, file string, applied []string) (_ []string, err error) {
	conn, err := openConnections(file, writing)
	if err != nil {
		return applied, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	rewritten, err := enableVacuum(ctx, conn)
	if rewritten {
		applied = append(applied, autoVacuum)
	}
	return applied, err
}

// checkOwner rejects a database that has tables but none of this program's.
func checkOwner(ctx context.Context, conn *sql.DB) error {
	var all, ours int
	err := conn.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE name = ?) FROM sqlite_master", migration.Table).Scan(&all, &ours)
	if err == nil && all > 0 && ours == 0 {
		err = errForeign
	}
	return err
}

// checkSchema compares the tables' version with the version this program needs.
func checkSchema(ctx context.Context, conn *sql.DB) error {
	if err := checkOwner(ctx, conn); err != nil {
		return err
	}
	var have int64
	if err := conn.QueryRowContext(ctx, migration.SelectVersion).Scan(&have); err != nil {
		return err
	}
	return migration.Check("file", have, migrations)
}
