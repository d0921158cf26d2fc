package sqlstore

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"pgregory.net/rapid"
)

// recorder is a database without records that keeps the statements it is asked to run.
type recorder struct {
	statements []string
	args       [][]any
}

func (r *recorder) Exec(_ context.Context, query string, args ...any) (int64, error) {
	r.statements, r.args = append(r.statements, query), append(r.args, args)
	return 0, nil
}

func (r *recorder) Query(ctx context.Context, query string, args []any, _ func(func(...any) error) error) error {
	_, err := r.Exec(ctx, query, args...)
	return err
}

// recordsOf returns the records of a recorder.
func recordsOf(d *Dialect, on *recorder) Records {
	transact := func(ctx context.Context, do func(context.Context, Session) error) error { return do(ctx, on) }
	return New(Database{Dialect: d, Reader: on, Transact: transact, Execute: transact, WrapError: func(_, _ string, err error) error { return err }})
}

var placeholder = regexp.MustCompile(`\$(\d+)`)

// TestPropertyPlaceholdersNumberTheArguments holds for statements whose conditions vary: each
// argument has a placeholder, and each placeholder an argument.
func TestPropertyPlaceholdersNumberTheArguments(t *testing.T) {
	t.Parallel()
	text := rapid.SampledFrom([]string{"", "a", "b", "?", "x"})
	rapid.Check(t, func(t *rapid.T) {
		scope := store.Scope{All: rapid.Bool().Draw(t, "all"), Owner: store.Owner{Tenant: text.Draw(t, "tenant"), Subject: text.Draw(t, "subject")}}
		turns := store.TurnQuery{
			Scope: scope, SessionID: text.Draw(t, "session"), AgentID: text.Draw(t, "agent"), Count: true,
			Statuses: rapid.SliceOfN(rapid.SampledFrom([]store.Status{store.Pending, store.Failed}), 0, 3).Draw(t, "statuses"),
		}
		if rapid.Bool().Draw(t, "since") {
			turns.ChangedAfter = time.UnixMicro(7)
		}
		webhooks := store.WebhookQuery{
			Scope: scope, TurnID: text.Draw(t, "turn"), Surface: text.Draw(t, "surface"),
			State: rapid.SampledFrom([]store.WebhookState{"", store.WebhookDead, store.WebhookActive}).Draw(t, "state"),
		}
		claim := store.ClaimWebhooks{Surfaces: []string{"a"}, NotTenants: rapid.SliceOfN(text, 0, 2).Draw(t, "tenants"), TurnID: webhooks.TurnID, Limit: 3}
		label := text.Draw(t, "label")
		turns.Tenant, turns.Labels = text.Draw(t, "tenant of turns"), map[string]string{"k": label}
		for _, dialect := range []*Dialect{PostgreSQL, SQLite} {
			on := new(recorder)
			r := recordsOf(dialect, on)
			ctx := context.Background()
			_, _ = r.Turns(ctx, turns) // without records
			_, _ = r.Sessions(ctx, store.SessionQuery{Scope: scope, State: "s", AgentID: turns.AgentID, Labels: map[string]string{"k": label}})
			_, _ = r.Snapshots(ctx, store.SnapshotQuery{Scope: scope, SessionID: turns.SessionID})
			_, _ = r.Webhooks(ctx, webhooks)
			_, _ = r.Interactions(ctx, store.InteractionQuery{Scope: scope, TurnID: webhooks.TurnID, ExpiredBy: turns.ChangedAfter})
			_, _ = r.ClaimWebhooks(ctx, &claim)
			_, _ = r.HeartbeatWebhooks(ctx, label, time.Second, []store.HeldWebhook{{TurnID: "t", ID: label, Fence: 1}, {}})
			_ = r.AdvanceWebhook(ctx, &store.AdvanceWebhook{Release: scope.All})
			_ = r.DeleteWebhook(ctx, scope, "t", label)
			_, _ = r.Prune(ctx, store.Retention{Sessions: 1, Events: 1, Keys: 1, Revisions: 1})
			if len(on.statements) < 10 {
				t.Fatalf("there are %d statements", len(on.statements))
			}
			for i, statement := range on.statements {
				checkPlaceholders(t, dialect, statement, len(on.args[i]))
			}
		}
	})
}

func checkPlaceholders(t *rapid.T, dialect *Dialect, statement string, args int) {
	var numbers []int
	for _, found := range placeholder.FindAllStringSubmatch(statement, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	if numbers = slices.Compact(numbers); len(numbers) != args || args > 0 && numbers[args-1] != args {
		t.Fatalf("%s has placeholders for the arguments %v, not for %d", statement, numbers, args)
	}
	if dialect != SQLite {
		return
	}
	if rewritten := RewriteForSQLite(statement); strings.Contains(rewritten, "$") || strings.Contains(rewritten, "::") {
		t.Fatalf("%s is none of SQLite", rewritten)
	}
}
