package app

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestAServerThatStaysDownIsLoggedWhenSomethingChanges polls servers repeatedly: only changes are
// logged.
func TestAServerThatStaysDownIsLoggedWhenSomethingChanges(t *testing.T) {
	t.Parallel()
	refused, denied := errors.New("connection refused"), errors.New("401 Unauthorized")
	port := 40000
	of := func(server string, cause error) error {
		port++ // as in connection error texts
		return &builder.ToolsError{Server: server, Err: fmt.Errorf("dial from port %d: %w", port, cause)}
	}
	core, logged := observer.New(zap.InfoLevel)
	failures := toolFailures{}
	for i, round := range []struct {
		err  error
		want []string
	}{
		{nil, nil},
		{errors.Join(nil, of("a", refused)), []string{"warn a"}},
		{errors.Join(of("a", refused), nil), nil},
		{errors.Join(of("a", refused), of("b", refused)), []string{"warn b"}},
		{errors.Join(of("a", denied), of("b", refused)), []string{"warn a"}},
		{errors.Join(of("b", refused)), []string{"info a"}},
		{nil, []string{"info b"}},
		{nil, nil},
		{errors.Join(of("b", refused)), []string{"warn b"}},
	} {
		failures.logChanges(round.err, zap.New(core))
		var got []string
		for _, entry := range logged.TakeAll() {
			got = append(got, fmt.Sprint(entry.Level, " ", entry.ContextMap()["server"]))
		}
		if !slices.Equal(got, round.want) {
			t.Errorf("round %d: logged %q, want %q", i, got, round.want)
		}
	}
}
