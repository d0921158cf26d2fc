package sqlstore_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"pgregory.net/rapid"
)

// numbered and positional are the two ways in which databases refer to arguments.
var (
	numbered = &sqlstore.Dialect{
		Placeholder: func(n int) string { return "$" + strconv.Itoa(n) },
		Time:        func(t time.Time) any { return t.UnixMicro() },
		OneOf: func(f *sqlstore.Filter, column string, values []string) string {
			return column + " IN " + list(f, values)
		},
	}
	positional = &sqlstore.Dialect{
		Placeholder: func(int) string { return "?" },
		Time:        numbered.Time,
		OneOf:       numbered.OneOf,
	}
)

func list(f *sqlstore.Filter, values []string) string {
	var marks []string
	for _, v := range values {
		marks = append(marks, f.Arg(v))
	}
	return "(" + strings.Join(marks, ", ") + ")"
}

var placeholder = regexp.MustCompile(`\$\d+|\?`)

// TestPropertyArgumentsStandInTheirOrder holds that a statement means the same
// whether its arguments are referred to by number or by position.
func TestPropertyArgumentsStandInTheirOrder(t *testing.T) {
	t.Parallel()
	text := rapid.SampledFrom([]string{"", "a", "b", "?", "$1"})
	rapid.Check(t, func(t *rapid.T) {
		turns := store.TurnQuery{
			Scope:     store.Scope{All: rapid.Bool().Draw(t, "all"), Owner: store.Owner{Tenant: text.Draw(t, "tenant"), Subject: text.Draw(t, "subject")}},
			SessionID: text.Draw(t, "session"), AgentID: text.Draw(t, "agent"),
			Statuses: rapid.SliceOfN(rapid.SampledFrom([]store.Status{store.Pending, store.Failed}), 0, 3).Draw(t, "statuses"),
		}
		if rapid.Bool().Draw(t, "since") {
			turns.ChangedAfter = time.UnixMicro(7)
		}
		webhooks := store.WebhookQuery{Surface: text.Draw(t, "surface"), State: rapid.SampledFrom([]store.WebhookState{"", store.WebhookDead, store.WebhookActive}).Draw(t, "state")}
		interactions := store.InteractionQuery{Scope: turns.Scope, TurnID: text.Draw(t, "turn"), ExpiredBy: turns.ChangedAfter}
		label := text.Draw(t, "label")
		var statements []string
		for _, dialect := range []*sqlstore.Dialect{numbered, positional} {
			f := dialect.Select("SELECT * FROM x")
			f.Turns(&turns)
			f.Label("k", label)
			f.Sessions(&store.SessionQuery{Scope: turns.Scope, State: "s", AgentID: turns.AgentID})
			f.Snapshots(&store.SnapshotQuery{Scope: turns.Scope, SessionID: turns.SessionID})
			f.Webhooks(&webhooks, 9)
			f.Interactions(&interactions)
			statements = append(statements, fill(t, f))
			if count, args := f.Count("y"); len(args)-1 != len(placeholder.FindAllString(count, -1)) {
				t.Fatalf("%s has the arguments %v", count, args)
			}
		}
		if statements[0] != statements[1] {
			t.Fatalf("by number the statement is\n%s\nby position\n%s", statements[0], statements[1])
		}
	})
}

// fill returns the statement of a filter with its arguments in their places.
func fill(t *rapid.T, f *sqlstore.Filter) string {
	query, args := f.Statement(f.Limit(5))
	n := 0
	out := placeholder.ReplaceAllStringFunc(query, func(mark string) string {
		if mark != "?" && mark != "$"+strconv.Itoa(n+1) {
			t.Fatalf("the argument %d is %s in %s", n+1, mark, query)
		}
		n++
		return fmt.Sprintf("%q", fmt.Sprint(args[n-1]))
	})
	if n != len(args) {
		t.Fatalf("%s has %d places for %d arguments", query, n, len(args))
	}
	return out
}
