package native

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

func TestErrorsCrossTheWire(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	ctx := t.Context()
	live := begin(t, c, "clerk", "hang")
	if _, err := c.CreateSession(ctx, CreateSession{AgentID: "clerc"}); !errors.As(err, new(*resolve.AgentNotFoundError)) || !strings.Contains(err.Error(), `did you mean "clerk"?`) {
		t.Errorf("an agent that there is not gives %v", err)
	}
	if _, err := c.CreateSession(ctx, CreateSession{ID: live.SessionID}); !errors.As(err, new(*store.ExistsError)) {
		t.Errorf("an id that is taken gives %v", err)
	}
	busy := says(live.SessionID, "x")
	busy.OnBusy = service.RejectBusy
	if _, err := c.CreateTurn(ctx, busy); !errors.As(err, new(*store.BusyError)) {
		t.Errorf("a session that is busy gives %v", err)
	}
	keyed := says(live.SessionID, "x")
	keyed.IdempotencyKey = "k"
	first, err := c.CreateTurn(ctx, keyed)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.CreateTurn(ctx, keyed); err != nil || again.ID != first.ID {
		t.Errorf("the same request again gives %+v, %v", again, err)
	}
	keyed.Input = []model.Message{model.User("y")}
	if _, err := c.CreateTurn(ctx, keyed); !errors.As(err, new(*store.KeyConflictError)) {
		t.Errorf("a key of another request gives %v", err)
	}
	if _, err := c.CreateTurn(ctx, CreateTurn{SessionID: live.SessionID}); !errors.Is(err, runtime.ErrNoInput) {
		t.Errorf("no input gives %v", err)
	}
	earlier := CreateTurn{SessionID: live.SessionID, Input: []model.Message{model.User("x")}, Revision: "some"}
	if _, err := c.CreateTurn(ctx, earlier); err == nil || err.Error() != "revision: the credential lacks the scope config:write" {
		t.Errorf("an earlier revision gives %v", err)
	}
	input := []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Type: model.PartToolResult}}}}
	if _, err := c.CreateTurn(ctx, CreateTurn{SessionID: live.SessionID, Input: input}); err == nil || err.Error() != `input[0].parts[0].type: "tool_result" must be text, image or file` {
		t.Errorf("input of a tool gives %v", err)
	}
	if _, err := c.CancelTurn(ctx, live.ID, strings.Repeat("x", maxReason+1)); !errors.As(err, new(*service.InvalidError)) {
		t.Errorf("a reason that is too long gives %v", err)
	}
	_, err = w.client("joe").ListTurns(ctx, TurnQuery{})
	if want := "GET " + w.url + "/runtime/v1/turns: 403 insufficient_scope: the credential lacks the scope runs:read"; err == nil || err.Error() != want {
		t.Errorf("a key without scopes gives %v, want %s", err, want)
	}
	refused, ok := errors.AsType[*Error](err)
	if !ok || refused.Status != http.StatusForbidden || refused.Code != "insufficient_scope" || refused.RequestID == "" {
		t.Errorf("%+v", refused)
	}
}

// refused returns how a request is answered that comes to an error.
func refused(t *testing.T, err error) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(server.WithPrincipal(t.Context(), &server.Principal{}), http.MethodGet, "/", http.NoBody)
	newRoute(new(Surface), "GET /", "", func(*Local, context.Context, noQuery) (*Turn, error) { return nil, err }, openapi.Doc{}).Handler.ServeHTTP(w, r)
	return w
}

// Programs ask again for what failed because the store was away for a moment.
func TestAStoreThatIsAwayIsNoFailure(t *testing.T) {
	w := refused(t, fmt.Errorf("list turns: %w: dial tcp 10.0.0.1:5432", store.ErrUnavailable))
	const want = `{"error":{"code":"unavailable","message":"the store cannot be reached","request_id":""}}` + "\n"
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || w.Body.String() != want {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// Every error that has a code comes out as it went in.
func TestEveryCodeStandsForItsError(t *testing.T) {
	t.Parallel()
	for _, want := range []error{
		&service.NotFoundError{Kind: "turn", ID: "t"},
		&resolve.AgentNotFoundError{Reference: resolve.Reference{ID: "a", Nearest: "b"}},
		&service.InvalidError{Field: "f", Problem: "p"},
		runtime.ErrNoInput,
		store.ErrCursor,
		&interaction.AnswerError{Target: "i", Problem: "p", Conflict: true},
		&store.ExistsError{Kind: "session", ID: "s"},
		&store.KeyConflictError{Key: "k", ID: "t"},
		&store.BusyError{SessionID: "s", TurnID: "t"},
		&store.StateError{Kind: "session", ID: "s", State: "archived", Want: "used"},
		&store.ConflictError{TurnID: "t", ID: "i"},
	} {
		refusal := server.Classify(t.Context(), fmt.Errorf("because: %w", want))
		got := causeOf(refusal.Code, &refusal.Details)
		if fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", want, want) {
			t.Errorf("%T %v comes out as %T %v", want, want, got, got)
		}
	}
	if got := server.Classify(t.Context(), errors.New("the disk is full")); strings.Contains(got.Message, "disk") || causeOf(got.Code, &got.Details) != nil {
		t.Errorf("what is the server's own business is told: %+v", got)
	}
}

// A list is filtered by few labels, and a status that is given again and again counts once.
func TestFiltersOfListsAreBounded(t *testing.T) {
	w := serving(t)
	c := w.client("alice")
	turn := begin(t, c, "clerk", "hang")
	labels := make(map[string]string)
	for i := range service.MaxLabels + 1 {
		labels[fmt.Sprintf("k%d", i)] = "v"
	}
	if _, err := c.ListSessions(t.Context(), SessionQuery{Labels: labels}); err == nil || !strings.Contains(err.Error(), "labels: there are 65; 64 are allowed") {
		t.Errorf("many labels: %v", err)
	}
	delete(labels, "k0")
	if _, err := c.ListSessions(t.Context(), SessionQuery{Labels: labels}); err != nil {
		t.Errorf("some labels: %v", err)
	}
	if _, err := c.ListSessions(t.Context(), SessionQuery{Labels: map[string]string{"k": strings.Repeat("x", service.MaxLabel+1)}}); err == nil {
		t.Error("a long label is accepted")
	}
	all := slices.Repeat([]service.Status{service.Running, service.Waiting, service.Pending}, 1000)
	if list, err := c.ListTurns(t.Context(), TurnQuery{SessionID: turn.SessionID, Statuses: all}); err != nil || len(list.Turns) != 1 {
		t.Errorf("many statuses: %+v, %v", list, err)
	}
}
