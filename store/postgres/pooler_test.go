package postgres_test

import (
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/internal/testkit/storetest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/jackc/pgx/v5"
)

// pooledDatabase returns an empty database with a pooler, without tables, and the DSN
// that bypasses it.
func pooledDatabase(t *testing.T) (s store.Settings, direct string) {
	t.Helper()
	server := pgtest.Start(t)
	direct = server.Database(t)
	return store.Settings{DSN: server.Pool(t, direct)}, direct
}

// TestItIsAStoreBehindAPooler also migrates through the pooler, by several processes at
// the same time.
func TestItIsAStoreBehindAPooler(t *testing.T) {
	t.Parallel()
	pooled, direct := pooledDatabase(t)
	var migrating sync.WaitGroup
	for range 4 {
		migrating.Go(func() {
			if _, err := postgres.Migrate(t.Context(), pooled); err != nil {
				t.Error(err)
			}
		})
	}
	migrating.Wait()
	t.Run("suite", func(t *testing.T) { storetest.Run(t, openEmptied(pooled)) })
	checkNothingLeaked(t, pooled.DSN, direct)
}

// checkNothingLeaked looks for settings and locks on the connections that a pooler shares.
func checkNothingLeaked(t *testing.T, pooled, direct string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), direct)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var locks int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&locks); err != nil || locks > 0 {
		t.Errorf("%d advisory locks are left, %v", locks, err)
	}
	config, err := pgx.ParseConfig(pooled)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	other, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	for range 50 { // the pooler takes its connections in turn
		var own string
		if err := other.QueryRow(t.Context(), "SELECT coalesce(string_agg(name || '=' || setting, ' '), '') FROM pg_settings WHERE source = 'session' AND name <> 'application_name' AND name <> 'client_encoding' AND name <> 'DateStyle' AND name <> 'TimeZone' AND name <> 'standard_conforming_strings'").Scan(&own); err != nil || own != "" {
			t.Fatalf("another client of the pooler has the settings %q, %v", own, err)
		}
		var prepared int
		if err := other.QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_statements").Scan(&prepared); err != nil || prepared > 0 {
			t.Fatalf("another client of the pooler has %d prepared statements, %v", prepared, err)
		}
	}
}

func TestNotifierWorksBehindAPooler(t *testing.T) {
	t.Parallel()
	pooled, _ := pooledDatabase(t)
	if _, err := postgres.Migrate(t.Context(), pooled); err != nil {
		t.Fatal(err)
	}
	st := open(t, pooled)
	if !st.IsPooled() {
		t.Error("the pooler is not detected")
	}
	heard := make(chan []string, 1)
	var listening sync.WaitGroup
	var notifier dispatch.Notifier = st.Notifier()
	listening.Go(func() {
		_ = notifier.Listen(t.Context(), func(ids []string) {
			select {
			case heard <- ids:
			default:
			}
		})
	})
	if ids := <-heard; ids != nil {
		t.Errorf("it hears %v", ids)
	}
	if err := st.Close(); err != nil { // ends the listener
		t.Fatal(err)
	}
	listening.Wait()
}

// TestADSNNeedsNoExecMode opens a database with each mode that pgx knows, directly and
// through the pooler.
func TestADSNNeedsNoExecMode(t *testing.T) {
	t.Parallel()
	pooled, direct := pooledDatabase(t)
	for _, dsn := range []string{pooled.DSN, direct} {
		for _, mode := range []string{"", "cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
			s := store.Settings{DSN: dsn}
			if mode != "" {
				s.DSN += "&default_query_exec_mode=" + mode
			}
			if _, err := postgres.Migrate(t.Context(), s); err != nil {
				t.Errorf("%s: %v", s.DSN, err)
				continue
			}
			st := open(t, s)
			if err := st.Ping(t.Context()); err != nil || st.IsPooled() != (dsn == pooled.DSN) {
				t.Errorf("%s: pooled %t, %v", s.DSN, st.IsPooled(), err)
			}
			emptyTables(t, st)
			st.Notifier().Notify("turn")
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
