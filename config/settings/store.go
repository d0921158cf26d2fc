package settings

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// The drivers of stores.
const (
	StoreSQLite   = "sqlite"
	StorePostgres = "postgres"
	StoreMemory   = "memory"
)

// defaultKeyRetention is how long idempotency keys are kept.
const defaultKeyRetention = 24 * time.Hour

// defaultUsageRetention is how long hourly usage is kept.
const defaultUsageRetention = 365 * 24 * time.Hour

// Store selects the store of sessions, turns and their events.
type Store struct {
	Driver    string    `json:"driver,omitempty" enum:"sqlite|postgres|memory" default:"sqlite" doc:"The kind of store: sqlite is a file for one process, postgres a database for any number, memory is lost when the process ends."`
	DSN       string    `json:"dsn,omitempty" doc:"The data source. For sqlite, a file path relative to the configuration file's directory; defaults to runtime.db in data_dir. For postgres, a required URL or key=value text, a secret that is never shown. For memory, empty."`
	DataDir   string    `json:"data_dir,omitempty" path:"true" doc:"The directory for files that the runtime creates. Defaults to .runtime beside the first configuration file. Never use a network drive: SQLite would lose records."`
	Retention Retention `json:"retention,omitzero" doc:"Retention of old records."`
}

// Retention configures how long records are kept.
type Retention struct {
	Sessions spec.Duration  `json:"sessions,omitempty" doc:"How long a session without a live turn is kept after its latest activity, with all its data. 0 or absent means forever. Deletion is final."`
	Events   spec.Duration  `json:"events,omitempty" doc:"How long a turn's events and tool journal are kept after its end. 0 or absent means forever. Its messages, result and snapshot stay."`
	Keys     *spec.Duration `json:"keys,omitempty" default:"24h" doc:"How long idempotency keys of requests are kept. 0 means forever. A request repeated after that is executed again."`
	Usage    *spec.Duration `json:"usage,omitempty" default:"8760h" doc:"How long counts, tokens, cost and durations of turns by hour, tenant, agent and model are kept. 0 means forever. They contain no turn content and survive deletion of their session."`
}

// Kind returns the driver, or the default one.
func (s *Store) Kind() string { return cmp.Or(s.Driver, StoreSQLite) }

// KeyLimit returns how long idempotency keys are kept; 0 means forever.
func (r *Retention) KeyLimit() time.Duration {
	return orDefault(r.Keys, spec.Duration(defaultKeyRetention)).Std()
}

// UsageLimit returns how long hourly usage is kept; 0 means forever.
func (r *Retention) UsageLimit() time.Duration {
	return orDefault(r.Usage, spec.Duration(defaultUsageRetention)).Std()
}

// Validate checks the record by itself. The DSN is not repeated in messages,
// because it may contain a secret.
func (s *Store) Validate() diag.List {
	list := check.OneOf("driver", s.Driver, StoreSQLite, StorePostgres, StoreMemory)
	list = append(list, check.Within("retention", s.Retention.Validate())...)
	switch s.Kind() {
	case StorePostgres:
		list = append(list, s.checkDatabase()...)
	case StoreSQLite:
		list = append(list, s.checkFile()...)
	case StoreMemory:
		if s.DSN != "" {
			list = append(list, diag.New(diag.InvalidValue, "dsn", "dsn says where records are kept, but the driver memory keeps none").
				WithHint("write driver: sqlite or driver: postgres"))
		}
	}
	return append(list, s.warnNoEffect()...)
}

// warnNoEffect returns warnings of paths of files that the driver does not create.
// With postgres it returns none: the file that names the database may override one
// for processes with SQLite.
func (s *Store) warnNoEffect() diag.List {
	var list diag.List
	switch {
	case s.Kind() == StoreMemory:
		warnIneffective(&list, s.DataDir != "", "data_dir", "data_dir has no effect: the driver memory makes no files")
	case s.Kind() == StoreSQLite && s.DSN != "":
		warnIneffective(&list, s.DataDir != "", "data_dir", "data_dir has no effect: dsn says where the file is")
	}
	return list
}

var (
	postgresURL = regexp.MustCompile(`^postgres(ql)?://`)
	// postgresLike matches values that look like a PostgreSQL address.
	postgresLike = regexp.MustCompile(`(?i)^(postgres|pgsql|pgx|psql)[a-z0-9+]*:|\b(host|hostaddr|dbname|user|port|sslmode|service)\s*=`)
	// scheme matches the beginning of a URL, but not the drive of a path on Windows.
	scheme = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]+:(/|$)|^(file|sqlite3?):`)
	// colonless matches the beginning of a URL that lacks its colon.
	colonless = regexp.MustCompile(`(?i)^(postgres(ql)?|sqlite3?|file)//`)
	// serverAddress matches the address of a database server without a scheme.
	serverAddress = regexp.MustCompile(`^[\w.-]+:\d{2,5}(/|$)|^[^/\\]+:[^/\\]*@`)
)

// NamesDatabase reports whether the DSN looks like the address of a PostgreSQL database, which may
// contain a password.
func (s *Store) NamesDatabase() bool { return postgresLike.MatchString(s.DSN) }

// checkDatabase checks the DSN of a PostgreSQL database.
func (s *Store) checkDatabase() diag.List {
	const example = "a URL such as postgres://user@host:5432/database"
	switch {
	case strings.TrimSpace(s.DSN) == "":
		return diag.List{diag.New(diag.MissingField, "dsn", "dsn is required with the driver postgres").
			WithHint("write dsn: ${DATABASE_URL}, a URL such as postgres://user@host/database")}
	case postgresURL.MatchString(s.DSN):
		return nil
	case !strings.Contains(s.DSN, "="), scheme.MatchString(s.DSN), strings.Contains(s.DSN, "://"):
		return diag.List{diag.New(diag.InvalidValue, "dsn", "dsn is neither a URL that begins with postgres:// nor a text of key=value pairs").
			WithHint("write %s", example)}
	}
	return nil
}

// checkFile checks the path of a SQLite file. Given a mistaken value, SQLite would create oddly
// named files and directories.
func (s *Store) checkFile() diag.List {
	wrong := diag.New(diag.InvalidValue, "dsn", "dsn must be the path of a file")
	switch dsn := s.DSN; {
	case dsn == "":
		return nil
	case s.NamesDatabase():
		return diag.List{diag.New(diag.InvalidValue, "dsn", "dsn is the address of a PostgreSQL database, but the driver is sqlite").
			WithHint("write driver: postgres and a URL such as postgres://user@host:5432/database")}
	case strings.Contains(dsn, ":memory:"):
		return diag.List{wrong.WithHint("to keep nothing, write driver: memory")}
	case scheme.MatchString(dsn), strings.Contains(dsn, "://"):
		return diag.List{diag.New(diag.InvalidValue, "dsn", "dsn is a URL; the driver sqlite takes the path of a file").WithHint("%s", pathHint(dsn))}
	case dsn == "~", strings.HasPrefix(dsn, "~/"):
		return diag.List{wrong.WithHint("~ is not expanded here: write ${HOME}%s", dsn[1:])}
	case colonless.MatchString(dsn):
		return diag.List{wrong.WithHint("write a path, such as /data/runtime.db; a URL has a colon before //")}
	case serverAddress.MatchString(dsn):
		return diag.List{wrong.WithHint("a PostgreSQL database has driver: postgres and a URL such as postgres://user@host:5432/database")}
	case strings.Trim(dsn, "\"'`") != dsn:
		return diag.List{wrong.WithHint("it has no quotation marks around it")}
	case strings.TrimSpace(dsn) != dsn, strings.ContainsFunc(dsn, func(r rune) bool { return r == '?' || unicode.IsControl(r) }):
		return diag.List{wrong.WithHint("it has no parameters, spaces around it or line breaks")}
	case strings.HasSuffix(dsn, "/"), strings.HasSuffix(dsn, string(filepath.Separator)), dsn == ".", dsn == "..", strings.HasSuffix(dsn, "/."), strings.HasSuffix(dsn, "/.."):
		return diag.List{diag.New(diag.InvalidValue, "dsn", "dsn is a directory; it must be the path of a file").WithHint("add the name of the file, such as runtime.db")}
	}
	return nil
}

// pathHint shows how to write the path of a URL. The URL may contain a password if it is not a
// file's.
func pathHint(dsn string) string {
	name, path, _ := strings.Cut(dsn, ":")
	path, _, _ = strings.Cut(path, "?")
	if after, ok := strings.CutPrefix(path, "//"); ok {
		path = strings.TrimPrefix(after, "localhost")
	}
	known := strings.EqualFold(name, "file") || strings.HasPrefix(strings.ToLower(name), "sqlite")
	if !known || path == "" || strings.Contains(path, "@") {
		return "write the path, such as /data/runtime.db"
	}
	return "write dsn: " + path
}

// Validate checks the record by itself. Paths are relative to the retention.
func (r *Retention) Validate() diag.List {
	list := check.NotNegative("sessions", &r.Sessions)
	list = append(list, check.NotNegative("events", &r.Events)...)
	list = append(list, check.NotNegative("keys", r.Keys)...)
	return append(list, check.NotNegative("usage", r.Usage)...)
}
