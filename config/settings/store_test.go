package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/spec"
)

func TestStoreValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		store settings.Store
		want  []string
	}{
		"nothing":            {settings.Store{}, nil},
		"a file":             {settings.Store{DSN: "data/turns.db"}, nil},
		"a database":         {settings.Store{Driver: "postgres", DSN: "postgres://u:p@h/db"}, nil},
		"a database by keys": {settings.Store{Driver: "postgres", DSN: "host=h dbname=db"}, nil},
		"memory":             {settings.Store{Driver: "memory"}, nil},
		"keys for ever":      {settings.Store{Retention: settings.Retention{Keys: new(spec.Duration(0))}}, nil},
		"an unknown driver":  {settings.Store{Driver: "mysql"}, []string{`invalid-value driver: "mysql" is not allowed here; choose one of [sqlite postgres memory]`}},
		"no database":        {settings.Store{Driver: "postgres"}, []string{"missing-field dsn: dsn is required with the driver postgres"}},
		"a path as database": {settings.Store{Driver: "postgres", DSN: "secret"}, []string{"invalid-value dsn: dsn is neither a URL that begins with postgres:// nor a text of key=value pairs"}},
		"a database as path": {settings.Store{DSN: "postgresql://u:secret@h/db"}, []string{"invalid-value dsn: dsn is the address of a PostgreSQL database, but the driver is sqlite"}},
		"no file":            {settings.Store{DSN: ":memory:"}, []string{"invalid-value dsn: dsn must be the path of a file"}},
		"a file as URL":      {settings.Store{Driver: "sqlite", DSN: "file:x.db?mode=ro"}, []string{"invalid-value dsn: dsn is a URL; the driver sqlite takes the path of a file"}},
		"memory somewhere":   {settings.Store{Driver: "memory", DSN: "x"}, []string{"invalid-value dsn: dsn says where records are kept, but the driver memory keeps none"}},
		"times that are past": {settings.Store{Retention: settings.Retention{Sessions: -1, Events: -1, Keys: new(spec.Duration(-1)), Usage: new(spec.Duration(-1))}}, []string{
			"invalid-value retention.sessions: sessions is -1ns; it must be 0 or more",
			"invalid-value retention.events: events is -1ns; it must be 0 or more",
			"invalid-value retention.keys: keys is -1ns; it must be 0 or more",
			"invalid-value retention.usage: usage is -1ns; it must be 0 or more",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.store.Validate(), tt.want...)
		})
	}
}

// TestADSNThatWouldCreateAnOddFileIsAnError has what people write by mistake, and what
// to write instead.
func TestADSNThatWouldCreateAnOddFileIsAnError(t *testing.T) {
	t.Parallel()
	const database, path = "write driver: postgres and a URL such as postgres://user@host:5432/database", "write the path, such as /data/runtime.db"
	const url, plain, name = "write a URL such as postgres://user@host:5432/database", "it has no parameters, spaces around it or line breaks", "add the name of the file, such as runtime.db"
	for _, tt := range []struct{ driver, dsn, hint string }{
		{"sqlite", "sqlite:///data/run.db", "write dsn: /data/run.db"},
		{"sqlite", "sqlite://data/run.db", "write dsn: data/run.db"},
		{"sqlite", "SQLite3:/data/run.db?mode=rw", "write dsn: /data/run.db"},
		{"sqlite", "sqlite:run.db", "write dsn: run.db"},
		{"sqlite", "sqlite://", path},
		{"sqlite", "file:///data/run.db", "write dsn: /data/run.db"},
		{"sqlite", "file://localhost/data/run.db", "write dsn: /data/run.db"},
		{"sqlite", "file:run.db", "write dsn: run.db"},
		{"sqlite", "https://u:secret@h/run.db", path},
		{"sqlite", "mysql://u:secret@h/db", path},
		{"sqlite", "http:/h/db", path},
		{"sqlite", "postgresql:u@h/db", database},
		{"sqlite", "postgres:/host", database},
		{"sqlite", "postgress://host/db", database},
		{"sqlite", "Postgres://host/db", database},
		{"sqlite", "pgsql://host/db", database},
		{"sqlite", "host=localhost dbname=x", database},
		{"sqlite", "user = me", database},
		{"sqlite", ":memory:", "to keep nothing, write driver: memory"},
		{"sqlite", "file::memory:?cache=shared", "to keep nothing, write driver: memory"},
		{"sqlite", "run.db?mode=ro", plain},
		{"sqlite", " run.db", plain},
		{"sqlite", "~/run.db", "~ is not expanded here: write ${HOME}/run.db"},
		{"sqlite", "postgresql//u:secret@h/db", "write a path, such as /data/runtime.db; a URL has a colon before //"},
		{"sqlite", "sqlite//run.db", "write a path, such as /data/runtime.db; a URL has a colon before //"},
		{"sqlite", " ", plain},
		{"sqlite", "run.db\t", plain},
		{"sqlite", "a\x1b[2J.db", plain},
		{"sqlite", `"run.db"`, "it has no quotation marks around it"},
		{"sqlite", "'/data/run.db'", "it has no quotation marks around it"},
		{"sqlite", "localhost:5432/db", "a PostgreSQL database has driver: postgres and a URL such as postgres://user@host:5432/database"},
		{"sqlite", "me:secret@host/db", "a PostgreSQL database has driver: postgres and a URL such as postgres://user@host:5432/database"},
		{"sqlite", "data/", name},
		{"sqlite", ".", name},
		{"sqlite", "data/..", name},
		{"postgres", " ", "write dsn: ${DATABASE_URL}, a URL such as postgres://user@host/database"},
		{"postgres", "postgres:/host", url},
		{"postgres", "postgresql:/host/db?sslmode=disable", url},
		{"postgres", "postgress://host/db?sslmode=disable", url},
		{"postgres", "mysql://host/db?x=y", url},
		{"postgres", "/data/run.db", url},
	} {
		s := settings.Store{Driver: tt.driver, DSN: tt.dsn}
		if list := s.Validate(); len(list) != 1 || !list.HasErrors() || list[0].Hint != tt.hint || strings.Contains(list[0].Message, "secret") {
			t.Errorf("%s %q: %v, want the hint %q", tt.driver, tt.dsn, list, tt.hint)
		}
	}
	for _, s := range []settings.Store{
		{DSN: "run.db"}, {DSN: "/data/run:1.db"}, {DSN: `C:\data\run.db`}, {DSN: "C:/data/run.db"}, {DSN: "my runs.db"}, {DSN: "a=b.db"}, {DSN: "../postgres.db"},
		{Driver: "postgres", DSN: "postgres:///db?host=/run/postgresql"}, {Driver: "postgres", DSN: "host=/run/postgresql dbname=db"},
	} {
		if list := s.Validate(); list.HasErrors() {
			t.Errorf("%q: %v", s.DSN, list)
		}
	}
}

func TestTurnsValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		turns settings.Turns
		want  []string
	}{
		"nothing":     {settings.Turns{}, nil},
		"no patience": {settings.Turns{Grace: new(spec.Duration(0))}, nil},
		"all wrong": {
			settings.Turns{
				Concurrency: new(0), PerTenant: -1, Lease: new(spec.Duration(time.Millisecond)), Strikes: new(0), InteractionTimeout: -1,
				OnInteractionTimeout: "wait", Indeterminate: "repeat", Grace: new(spec.Duration(-1)),
			},
			[]string{
				"invalid-value concurrency: concurrency is 0; it must be 1 or more",
				"invalid-value per_tenant: per_tenant is -1; it must be 0 or more",
				"invalid-value lease: lease is 1ms; it must be 1s or more",
				"invalid-value strikes: strikes is 0; it must be 1 or more",
				"invalid-value interaction_timeout: interaction_timeout is -1ns; it must be 0 or more",
				`invalid-value on_interaction_timeout: "wait" is not allowed here; choose one of [cancel fail]`,
				`invalid-value indeterminate: "repeat" is not allowed here; choose one of [error ask]`,
				"invalid-value grace: grace is -1ns; it must be 0 or more",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.turns.Validate(), tt.want...)
		})
	}
}

func TestWhatIsAbsentHasADefault(t *testing.T) {
	t.Parallel()
	var s settings.Store
	if s.Kind() != settings.StoreSQLite || s.Retention.KeyLimit() != 24*time.Hour {
		t.Errorf("the store is %s and keeps keys for %s", s.Kind(), s.Retention.KeyLimit())
	}
	var turns settings.Turns
	if turns.Limit() != 64 || turns.LeaseTime() != 5*time.Second || turns.StrikeLimit() != 3 || turns.GraceTime() != 30*time.Second {
		t.Errorf("%d turns, lease %s, %d strikes, grace %s", turns.Limit(), turns.LeaseTime(), turns.StrikeLimit(), turns.GraceTime())
	}
	var schedule settings.Schedule
	if tenant, subject := schedule.Owner(new(settings.Server)); tenant != settings.LocalOwner || subject != settings.LocalOwner {
		t.Errorf("at a server without keys its owner is %s/%s", tenant, subject)
	}
	guarded := &settings.Server{Keys: []settings.ServerKey{{ID: "ci"}}}
	if tenant, subject := schedule.Owner(guarded); tenant != "default" || subject != "schedule" {
		t.Errorf("a schedule belongs to %s/%s", tenant, subject)
	}
	turns = settings.Turns{Concurrency: new(2), Lease: new(spec.Duration(time.Minute)), Strikes: new(1), Grace: new(spec.Duration(0))}
	if turns.Limit() != 2 || turns.LeaseTime() != time.Minute || turns.StrikeLimit() != 1 || turns.GraceTime() != 0 {
		t.Errorf("%d turns, lease %s, %d strikes, grace %s", turns.Limit(), turns.LeaseTime(), turns.StrikeLimit(), turns.GraceTime())
	}
	schedule = settings.Schedule{Tenant: "t", Subject: "s"}
	if tenant, subject := schedule.Owner(new(settings.Server)); tenant != "t" || subject != "s" {
		t.Errorf("a schedule belongs to %s/%s", tenant, subject)
	}
}

func TestScheduleValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schedule settings.Schedule
		want     []string
	}{
		"the least": {settings.Schedule{Cron: "@daily", Agent: "a", Prompt: "x"}, nil},
		"nothing":   {settings.Schedule{}, []string{"missing-field cron: cron is required", "missing-field agent: agent is required", "missing-field prompt: prompt is empty"}},
		"blanks":    {settings.Schedule{Cron: "@daily", Agent: "a", Prompt: " \n"}, []string{"missing-field prompt: prompt is empty"}},
		"a session": {settings.Schedule{Cron: "@daily", Agent: "a", Prompt: "x", Session: "a/b"}, []string{`invalid-id session: session id "a/b" is not allowed`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.schedule.Validate(), tt.want...)
		})
	}
}
