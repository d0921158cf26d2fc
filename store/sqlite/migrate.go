package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/agentruntime/agentruntime/store"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable is where the migrations that were made are listed.
const versionTable = "agentruntime_migrations"

// SchemaError says that the tables of a file are not those that this program
// works with.
type SchemaError struct {
	// Have is the version of the tables, 0 when there are none, and Want that of
	// this program.
	Have, Want int64
}

// Error says what to do about it.
func (e *SchemaError) Error() string {
	if e.Have > e.Want {
		return fmt.Sprintf("the file has tables of version %d, and this program knows %d: run a newer release", e.Have, e.Want)
	}
	return fmt.Sprintf("the file has tables of version %d, and this program needs %d: migrate it first", e.Have, e.Want)
}

// errForeign says that a database belongs to something else.
var errForeign = errors.New("the file is a SQLite database of another program")

// Migrate makes the tables of a file, or brings them up to date, and returns the
// names of the migrations that it made. A file that was made before files could
// shrink is rewritten, which Open does not do: its name is auto_vacuum. The errors
// are those of Open.
func Migrate(ctx context.Context, s store.Settings) (applied []string, err error) {
	st, err := newStore(s)
	if err != nil {
		return nil, err
	}
	lock, err := prepare(st.path)
	if err != nil {
		return nil, wrap("migrate", st.path, err)
	}
	if applied, err = migrate(ctx, st.path); err == nil {
		applied, err = rewrite(ctx, st.path, applied)
	}
	return applied, errors.Join(wrap("migrate", st.path, explain(err)), lock.release())
}

// migrate migrates a file whose lock is held.
func migrate(ctx context.Context, file string) (applied []string, err error) {
	// Nothing is written before it is known whose the file is.
	reader, err := connect(file, reading)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkOwner(ctx, reader), reader.Close()); err != nil {
		return nil, err
	}
	conn, err := connect(file, writing)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, conn, files,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, err
	}
	have, want, err := provider.GetVersions(ctx)
	if err != nil {
		return nil, err
	}
	if have > want {
		return nil, &SchemaError{have, want}
	}
	results, err := provider.Up(ctx)
	for _, r := range results {
		applied = append(applied, path.Base(r.Source.Path))
	}
	return applied, err
}

// rewrite makes sure that a file whose lock is held can shrink, and adds what it
// did to that end.
func rewrite(ctx context.Context, file string, applied []string) (_ []string, err error) {
	conn, err := connect(file, writing)
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

// checkOwner refuses a database that has tables, but none of this program.
func checkOwner(ctx context.Context, conn *sql.DB) error {
	var all, ours int
	err := conn.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE name = ?) FROM sqlite_master", versionTable).Scan(&all, &ours)
	if err == nil && all > 0 && ours == 0 {
		err = errForeign
	}
	return err
}

// checkSchema compares the version of the tables with that of the program.
func checkSchema(ctx context.Context, conn *sql.DB) error {
	if err := checkOwner(ctx, conn); err != nil {
		return err
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	want, err := goose.NumericComponent(names[len(names)-1])
	if err != nil {
		return err
	}
	var have int64
	err = conn.QueryRowContext(ctx, "SELECT COALESCE(max(version_id), 0) FROM "+versionTable+" WHERE is_applied").Scan(&have)
	if err == nil && have != want {
		err = &SchemaError{have, want}
	}
	return err
}
