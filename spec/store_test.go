package spec_test

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
)

func TestStoreValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		store spec.Store
		want  []string
	}{
		"nothing":            {spec.Store{}, nil},
		"a file":             {spec.Store{DSN: "data/turns.db"}, nil},
		"a database":         {spec.Store{Driver: "postgres", DSN: "postgres://u:p@h/db"}, nil},
		"a database by keys": {spec.Store{Driver: "postgres", DSN: "host=h dbname=db"}, nil},
		"memory":             {spec.Store{Driver: "memory"}, nil},
		"keys for ever":      {spec.Store{Retention: spec.Retention{Keys: new(spec.Duration(0))}}, nil},
		"an unknown driver":  {spec.Store{Driver: "mysql"}, []string{`invalid-value driver: "mysql" is not allowed here; choose one of [sqlite postgres memory]`}},
		"no database":        {spec.Store{Driver: "postgres"}, []string{"missing-field dsn: dsn is missing; the driver postgres needs to know its database"}},
		"a path as database": {spec.Store{Driver: "postgres", DSN: "secret"}, []string{"invalid-value dsn: dsn is neither a URL that begins with postgres:// nor a text of key=value pairs"}},
		"a database as path": {spec.Store{DSN: "postgresql://u:secret@h/db"}, []string{"invalid-value dsn: dsn is the URL of a PostgreSQL database, but the driver is sqlite"}},
		"no file":            {spec.Store{DSN: ":memory:"}, []string{"invalid-value dsn: dsn must be the path of a file"}},
		"a file as URL":      {spec.Store{Driver: "sqlite", DSN: "file:x.db?mode=ro"}, []string{"invalid-value dsn: dsn must be the path of a file"}},
		"memory somewhere":   {spec.Store{Driver: "memory", DSN: "x"}, []string{"invalid-value dsn: dsn says where records are kept, but the driver memory keeps none"}},
		"times that are past": {spec.Store{Retention: spec.Retention{Sessions: -1, Events: -1, Keys: new(spec.Duration(-1))}}, []string{
			"invalid-value retention.sessions: sessions is -1ns; it must be 0 or more",
			"invalid-value retention.events: events is -1ns; it must be 0 or more",
			"invalid-value retention.keys: keys is -1ns; it must be 0 or more",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.store.Validate(), tt.want...)
		})
	}
}

func TestTurnsValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		turns spec.Turns
		want  []string
	}{
		"nothing":     {spec.Turns{}, nil},
		"no patience": {spec.Turns{Grace: new(spec.Duration(0))}, nil},
		"all wrong": {
			spec.Turns{
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
	var s spec.Store
	if s.Kind() != spec.StoreSQLite || s.Retention.KeyLimit() != 24*time.Hour {
		t.Errorf("the store is %s and keeps keys for %s", s.Kind(), s.Retention.KeyLimit())
	}
	var turns spec.Turns
	if turns.Limit() != 64 || turns.LeaseTime() != 5*time.Second || turns.StrikeLimit() != 3 || turns.GraceTime() != 30*time.Second {
		t.Errorf("%d turns, lease %s, %d strikes, grace %s", turns.Limit(), turns.LeaseTime(), turns.StrikeLimit(), turns.GraceTime())
	}
	var schedule spec.Schedule
	if tenant, subject := schedule.Owner(); tenant != "default" || subject != "schedule" {
		t.Errorf("a schedule belongs to %s/%s", tenant, subject)
	}
	turns = spec.Turns{Concurrency: new(2), Lease: new(spec.Duration(time.Minute)), Strikes: new(1), Grace: new(spec.Duration(0))}
	if turns.Limit() != 2 || turns.LeaseTime() != time.Minute || turns.StrikeLimit() != 1 || turns.GraceTime() != 0 {
		t.Errorf("%d turns, lease %s, %d strikes, grace %s", turns.Limit(), turns.LeaseTime(), turns.StrikeLimit(), turns.GraceTime())
	}
	schedule = spec.Schedule{Tenant: "t", Subject: "s"}
	if tenant, subject := schedule.Owner(); tenant != "t" || subject != "s" {
		t.Errorf("a schedule belongs to %s/%s", tenant, subject)
	}
}

func TestScheduleValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schedule spec.Schedule
		want     []string
	}{
		"the least": {spec.Schedule{Cron: "@daily", Agent: "a", Prompt: "x"}, nil},
		"nothing":   {spec.Schedule{}, []string{"missing-field cron: cron is missing", "missing-field agent: agent is missing", "missing-field prompt: prompt is empty"}},
		"blanks":    {spec.Schedule{Cron: "@daily", Agent: "a", Prompt: " \n"}, []string{"missing-field prompt: prompt is empty"}},
		"a session": {spec.Schedule{Cron: "@daily", Agent: "a", Prompt: "x", Session: "a/b"}, []string{`invalid-id session: session id "a/b" is not allowed`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.schedule.Validate(), tt.want...)
		})
	}
}
