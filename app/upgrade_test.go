package app_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// upgraded is the store of an upgrade test.
type upgraded struct {
	kind, driver, dsn string
	dialect           goose.Dialect
	migrate           func(context.Context, store.Settings) ([]string, error)
}

// TestEveryStoredLayoutIsReadAndContinued upgrades a store of each row layout that has been on main
// since 22 November 2026; testdata/upgrade/generate.py made the dumps. It reads every record,
// answers waiting turns, and lets everything run to completion.
func TestEveryStoredLayoutIsReadAndContinued(t *testing.T) {
	// The agent far of the configuration is the agent clerk of the same server.
	var peer atomic.Pointer[app.App]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { peer.Load().Handler().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	t.Setenv("PEER_URL", server.URL)
	t.Setenv("PEER_KEY", localKey)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PROVIDER", self)
	t.Setenv("PROVIDER_MODE", providertest.Resuming)
	dumps, err := filepath.Glob("testdata/upgrade/*.sql")
	if err != nil || len(dumps) < 16 {
		t.Fatalf("there are %d dumps, %v", len(dumps), err)
	}
	for _, dump := range dumps {
		t.Run(filepath.Base(dump), func(t *testing.T) {
			dir := t.TempDir()
			u := &upgraded{kind: "sqlite", driver: "sqlite", dsn: filepath.Join(dir, "runtime.db"), dialect: goose.DialectSQLite3, migrate: sqlite.Migrate}
			if strings.Contains(dump, "postgres") {
				u = &upgraded{kind: "postgres", driver: "pgx", dsn: pgtest.New(t).Database(t), dialect: goose.DialectPostgres, migrate: postgres.Migrate}
			}
			version := u.load(t, dump, server.URL)
			applied, err := u.migrate(t.Context(), store.Settings{DSN: u.dsn})
			if err != nil || len(applied) == 0 && version < 20 {
				t.Fatalf("migrated by %v, %v", applied, err)
			}
			u.readRevocations(t)
			w := &upgradedApp{T: t, App: u.open(t, dir, version, server.URL), caller: service.Caller{Tenant: "local", Subject: "local"}, hasTenants: version >= 14, hasHosted: version >= hostedSince, hasExtra: version >= extraSince}
			peer.Store(w.App)
			w.finishTurns(version >= 12)
			w.readRecords()
			if w.hasTenants {
				w.readTenant()
			}
			w.continueSessions()
		})
	}
}

// load creates the tables of a dump's version, fills them, and returns the version. The dump's peer
// has moved to a URL.
func (u *upgraded) load(t *testing.T, dump, url string) (version int64) {
	t.Helper()
	rows, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	var commit string
	if _, err := fmt.Sscanf(string(rows), "-- commit %s version %d", &commit, &version); err != nil {
		t.Fatal(err)
	}
	conn, err := sql.Open(u.driver, u.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	tables, err := goose.NewProvider(u.dialect, conn, os.DirFS(filepath.Join("..", "store", u.kind, "migrations")), goose.WithTableName("agentruntime_migrations"))
	if err == nil {
		_, err = tables.UpTo(t.Context(), version)
	}
	if err == nil && u.kind == "postgres" {
		err = u.migrateQueue(t)
	}
	if err == nil {
		_, err = conn.ExecContext(t.Context(), strings.ReplaceAll(string(rows), "http://127.0.0.1:18181", url))
	}
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// migrateQueue creates the queue's tables.
func (u *upgraded) migrateQueue(t *testing.T) error {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), u.dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = river.Migrate(t.Context(), pool)
	return err
}

// readRevocations reads the access token that was revoked.
func (u *upgraded) readRevocations(t *testing.T) {
	t.Helper()
	var opened store.Store
	var err error
	if u.kind == "postgres" {
		opened, err = postgres.Open(t.Context(), store.Settings{DSN: u.dsn})
	} else {
		opened, err = sqlite.Open(t.Context(), store.Settings{DSN: u.dsn})
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := opened.RevokedTokens(t.Context(), 0, store.MaxPage)
	if err := errors.Join(err, opened.Close()); err != nil || len(list) != 1 || list[0].ClientID != "desk" {
		t.Errorf("the revoked tokens are %+v, %v", list, err)
	}
}

const (
	localKey = "ark_local-local-local-local"
	// hostedSince is the first table version whose dumps have turns of a hosted provider, and
	// feedback.
	hostedSince = 22
	// extraSince is the first table version whose dumps have model requests and a held overlay.
	extraSince = 23
	// settingsForUpgrade are the server's settings besides its address.
	settingsForUpgrade = `encryption_key: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=, keys: [{id: local, key: ` + localKey + `, tenant: local}]`
)

// open starts an app with the configuration that filled the store.
func (u *upgraded) open(t *testing.T, dir string, version int64, url string) *app.App {
	t.Helper()
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", "upgrade", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	text := read("config.yaml")
	for mark, since := range map[string]int64{"# revisions": 6, "# workflows": 12, "# tenants": 14} {
		if version < since {
			text, _, _ = strings.Cut(text, mark)
		}
	}
	text += fmt.Sprintf("store: {driver: %s, dsn: %q}\nserver: {public_url: %q, %s}\n", u.kind, u.dsn, url, settingsForUpgrade)
	file := filepath.Join(dir, "config.yaml")
	for name, text := range map[string]string{file: text, filepath.Join(dir, "script.yaml"): strings.ReplaceAll(read("script.yaml"), "delay: 4s", "delay: 1ms")} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{file}
	for name, since := range map[string]int64{"hosted.yaml": hostedSince, "extra.yaml": extraSince} {
		if version < since {
			continue
		}
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(read(name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := app.Open(t.Context(), app.Options{Files: files, Components: shipped.Components()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return opened
}

// upgradedApp is an app on an upgraded store.
type upgradedApp struct {
	*testing.T
	*app.App
	caller     service.Caller
	hasTenants bool
	hasHosted  bool
	hasExtra   bool
}

// await waits until a condition holds.
func (w *upgradedApp) await(what string, holds func() bool) {
	w.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(30 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-late:
			w.Fatalf("%s: it does not happen", what)
		}
	}
}

// turns returns all turns, including workflow turns.
func (w *upgradedApp) turns() []*service.Turn {
	w.Helper()
	page, err := w.Service().ListTurns(w.Context(), service.Operator(), service.TurnQuery{Page: store.Page{Limit: store.MaxPage}})
	if err != nil {
		w.Fatal(err)
	}
	return page.Turns
}

// finishTurns approves waiting calls until all workflow runs and turns have succeeded. A run that
// has ended starts no more turns.
func (w *upgradedApp) finishTurns(hasRuns bool) {
	w.Helper()
	answered := 0
	w.await("the turns end", func() bool {
		ended := !hasRuns || w.finishedRun()
		live := slices.DeleteFunc(w.turns(), func(t *service.Turn) bool { return !t.Status.Live() })
		far := slices.ContainsFunc(live, func(t *service.Turn) bool { return t.AgentID == "far" })
		for _, t := range live {
			if far != (t.AgentID == "far") {
				continue // the turn made by the peer ends with it
			}
			open, err := w.Service().ListInteractions(w.Context(), service.Operator(), service.InteractionQuery{TurnID: t.ID, State: store.InteractionPending})
			if err != nil {
				w.Fatal(err)
			}
			for _, i := range open {
				answer := interaction.Answer{Target: i.ID, Action: interaction.Resume, Result: json.RawMessage(`{"approved":true}`)}
				if far {
					answer.Result = json.RawMessage(`{"data":{"approved":true}}`)
				}
				if _, err := w.Service().AnswerInteraction(w.Context(), service.Operator(), t.ID, answer); err != nil {
					w.Fatal(err)
				}
				answered++
			}
		}
		return ended && len(live) == 0
	})
	if answered == 0 {
		w.Error("no turn waited")
	}
	said := map[string]int{}
	for _, t := range w.turns() {
		if t.Status != store.Succeeded {
			w.Errorf("turn %s is %s: %+v", t.ID, t.Status, t.Outcome)
			continue
		}
		said[t.Outcome.Response]++
	}
	slept := 1
	if w.hasTenants {
		slept = 2 // with tools that are sealed
	}
	if w.hasHosted {
		// The provider receives the result of the waiting call and remembers the earlier answers.
		if said[`{"n":21}`+"\n"] != 1 || said["kept elsewhere"] != 1 {
			w.Errorf("the turns of the hosted provider answer %v", said)
		}
		answered--
	}
	if said["paid"] != answered+1 || said["slept"] != slept || said["noted"] < 3 || said["kept"] != 1 {
		w.Errorf("the turns answer %v after %d answers", said, answered)
	}
}

// finishedRun reports whether a workflow's only run has succeeded.
func (w *upgradedApp) finishedRun() bool {
	w.Helper()
	runs, _, err := w.Workflows().ListRuns(w.Context(), w.caller, workflow.RunQuery{})
	if err != nil {
		w.Fatal(err)
	}
	return len(runs) == 1 && runs[0].Status == store.RunSucceeded
}

// readRecords reads the records of turns and sessions.
func (w *upgradedApp) readRecords() {
	w.Helper()
	for _, t := range w.turns() {
		n := uint64(0)
		for r, err := range w.Service().Events(w.Context(), service.Operator(), t.ID, 0) {
			if err == nil {
				_, err = r.Event()
			}
			if n++; err != nil || r.Seq != n {
				w.Fatalf("event %d of turn %s has seq %d, %v", n, t.ID, r.Seq, err)
			}
		}
		if n == 0 {
			w.Errorf("turn %s has no events", t.ID)
		}
	}
	kept := 0
	for _, t := range w.turns() {
		list, err := w.Service().ListArtifacts(w.Context(), service.Operator(), t.ID)
		for _, a := range list {
			if a, err = w.Service().GetArtifact(w.Context(), service.Operator(), a.ID); err == nil && len(a.Data) == 270_000 {
				kept++
			}
		}
		if err != nil {
			w.Error(err)
		}
	}
	if kept != 1 {
		w.Errorf("there are %d artifacts", kept)
	}
	if w.hasHosted {
		rated, err := w.Service().ListFeedback(w.Context(), w.caller, store.FeedbackQuery{})
		if err != nil || len(rated.Feedback) != 1 || rated.Feedback[0].Label != "so-so" || *rated.Feedback[0].Score != 0.5 || rated.Feedback[0].Comment != "Too long." {
			w.Errorf("the feedback is %+v, %v", rated.Feedback, err)
		}
	}
	if w.hasExtra {
		w.readRequests()
	}
	hooks, err := w.Service().ListWebhooks(w.Context(), service.Operator(), store.WebhookQuery{})
	if err != nil || len(hooks.Webhooks) != 1 {
		w.Errorf("there are %d webhooks, %v", len(hooks.Webhooks), err)
	}
}

// readRequests reads the model requests stored before the upgrade.
func (w *upgradedApp) readRequests() {
	w.Helper()
	caller := w.caller
	caller.ExtraScopes = []string{settings.ScopeConfigRead}
	for _, t := range w.turns() {
		if t.Outcome.Response != "kept" {
			continue
		}
		for n, asked := range []string{`"text":"big"`, `"tool_result"`} {
			list, err := w.Service().ListModelRequests(w.Context(), caller, t.ID, fmt.Sprintf("%s/m%d", t.ID, n+1))
			if err != nil || len(list) != 1 || list[0].AgentID != "clerk" || list[0].Call != n+1 || !json.Valid(list[0].Request) || !strings.Contains(string(list[0].Request), asked) {
				w.Errorf("the requests for message %d are %+v, %v", n+1, list, err)
			}
		}
		return
	}
	w.Error("no turn has requests")
}

// readTenant reads the tenant's records: its overlay, variables, schedules and triggers.
func (w *upgradedApp) readTenant() {
	w.Helper()
	current, err := w.Fleet().Tenant("local").Current(w.Context())
	if err != nil || !strings.Contains(string(current.Document), "Overlaid.") {
		w.Errorf("the overlay is %+v, %v", current, err)
	}
	if w.hasExtra {
		base, err := w.Fleet().Tenant("beta").HeldOver(w.Context())
		if err != nil || base == "" {
			w.Errorf("the tenant is held over %q, %v", base, err)
		}
	}
	attempts, err := w.Fleet().Tenant("local").Attempts(w.Context(), fleet.Page{Limit: 9})
	if err != nil || len(attempts.Attempts) != 1 {
		w.Errorf("the attempts are %+v, %v", attempts, err)
	}
	variables, err := w.Service().TenantVariables(w.Context(), "local")
	if err != nil || len(variables) != 2 {
		w.Errorf("the variables are %+v, %v", variables, err)
	}
	if secret, _, err := w.Service().VariablesOf("local").ReadTenantVariable(w.Context(), "HOOK"); err != nil || secret.Text != "s3cret-s3cret" {
		w.Errorf("the secret cannot be read: %v", err)
	}
	for kind, schedules := range map[string]bool{"mine payments": true, "own payments seen": false} {
		list, err := w.Workflows().ListStarts(w.Context(), w.caller, schedules)
		var ids []string
		for _, start := range list {
			ids = append(ids, start.ID)
		}
		slices.Sort(ids)
		if err != nil || strings.Join(ids, " ") != kind {
			w.Errorf("%q, not %s: %v", ids, kind, err)
		}
	}
}

// continueSessions adds a turn to each session and forks it.
func (w *upgradedApp) continueSessions() {
	w.Helper()
	page, err := w.Service().ListSessions(w.Context(), service.Operator(), store.SessionQuery{Page: store.Page{Limit: store.MaxPage}})
	if err != nil || len(page.Sessions) < 4 {
		w.Fatalf("there are %d sessions, %v", len(page.Sessions), err)
	}
	for _, listed := range page.Sessions {
		s, err := w.Service().GetSession(w.Context(), service.Operator(), listed.ID) // that of the peer goes on with another
		if err != nil {
			w.Fatal(err)
		}
		if s.AgentID == "" {
			continue // it has an agent for each turn
		}
		before, err := w.Service().GetSnapshot(w.Context(), service.Operator(), s.Tip)
		if err != nil {
			w.Fatal(err)
		}
		made, err := w.Service().CreateTurn(w.Context(), service.Operator(), service.CreateTurn{SessionID: s.ID, Input: []model.Message{model.User("more")}})
		if err != nil {
			w.Fatal(err)
		}
		ended, err := w.Service().WaitTurn(w.Context(), service.Operator(), made.ID)
		if err != nil || ended.Status != store.Succeeded {
			w.Fatalf("session %s: %+v, %v", s.ID, ended, err)
		}
		after, err := w.Service().GetSnapshot(w.Context(), service.Operator(), ended.SnapshotID)
		if err != nil || len(after.State.Messages) != len(before.State.Messages)+2 {
			w.Errorf("session %s goes on from %d messages to %d, %v", s.ID, len(before.State.Messages), len(after.State.Messages), err)
		}
		if _, err := w.Service().ForkSession(w.Context(), w.caller, service.ForkSession{SessionID: s.ID}); err != nil && s.Owner.Subject == w.caller.Subject {
			w.Error(err)
		}
	}
}
