package storetest

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/store"
)

var lifeTests = []test{
	{name: "AStoreThatIsOpenCanBeUsed", run: aStoreThatIsOpenCanBeUsed},
	{name: "AStoreThatIsClosedCannot", run: aStoreThatIsClosedCannot},
	{name: "ACallWhoseContextEndedChangesNothing", run: aCallWhoseContextEndedChangesNothing},
}

func aStoreThatIsOpenCanBeUsed(f *fixture) { wantOK(f, f.Ping(f.Context())) }

func aStoreThatIsClosedCannot(f *fixture) {
	f.createSessions("s")
	wantOK(f, f.Close())
	if err := f.Ping(f.Context()); err == nil {
		f.Error("Ping returns no error")
	}
	if _, err := f.CreateSession(f.Context(), f.sessionOf(ann, "s2")); err == nil {
		f.Error("CreateSession returns no error")
	}
	if _, err := f.Session(f.Context(), store.Everything, "s"); err == nil || errors.Is(err, store.ErrNotFound) {
		f.Errorf("Session returns %v, want an error about the closed store", err)
	}
}

func aCallWhoseContextEndedChangesNothing(f *fixture) {
	c := f.createRunning("s", "t")
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	calls := map[string]error{"Ping": f.Ping(ctx), "Commit": f.Commit(ctx, f.finishOf(c))}
	_, calls["CreateSession"] = f.CreateSession(ctx, f.sessionOf(ann, "s2"))
	_, calls["CreateTurn"] = f.CreateTurn(ctx, f.turnOf("s", "t2"))
	_, calls["EndTurn"] = f.EndTurn(ctx, f.endOf("t"))
	_, calls["Turn"] = f.Turn(ctx, store.Everything, "t")
	for name, err := range calls {
		if !errors.Is(err, context.Canceled) {
			f.Errorf("the error of %s is %v, want %v", name, err, context.Canceled)
		}
	}
	wantEqual(f, "the turn", f.getTurn("t"), &c.Turn)
	ids, _ := sessionIDs(f, store.SessionQuery{Scope: store.Everything})
	wantEqual(f, "the sessions", ids, []string{"s"})
	f.wantJobs()
}
