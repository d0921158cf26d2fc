package a2a

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

func TestAPanicIsAnInternalError(t *testing.T) {
	s := &Server{settings: Settings{Logger: zap.NewNop()}}
	fail := func() (err error) {
		defer s.guardMethod(t.Context(), "GetTask", &err)
		panic("the password is sesame")
	}
	if err := fail(); !errors.Is(err, a2a.ErrInternalError) || strings.Contains(err.Error(), "sesame") {
		t.Errorf("the error is %v", err)
	}
	stream := (&handler{server: s}).SubscribeToTask(t.Context(), new(a2a.SubscribeToTaskRequest)) // nobody asks, for nothing
	for ev, err := range stream {
		if ev != nil || !errors.Is(err, a2a.ErrInternalError) {
			t.Errorf("the stream has %v, %v", ev, err)
		}
	}
}

func TestErrorsAreShownAsTheProtocolHasThem(t *testing.T) {
	s := &Server{settings: Settings{Logger: zap.NewNop()}}
	draining, cancel := context.WithCancelCause(t.Context())
	cancel(server.ErrDraining)
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want error
		text string
	}{
		"a turn":              {t.Context(), &service.NotFoundError{Kind: "turn", ID: "x"}, a2a.ErrTaskNotFound, `task "x" not found`},
		"a field":             {t.Context(), &service.InvalidError{Field: "deadline", Problem: "already expired"}, a2a.ErrInvalidParams, "deadline: already expired"},
		"an answer":           {t.Context(), &interaction.AnswerError{Target: "q", Problem: "no"}, a2a.ErrInvalidParams, ""},
		"a cursor":            {t.Context(), store.ErrCursor, a2a.ErrInvalidParams, "pageToken is invalid"},
		"an archived session": {t.Context(), &store.StateError{Kind: "session", ID: "x", State: "archived"}, a2a.ErrUnsupportedOperation, "the context is archived"},
		"another answer":      {t.Context(), &store.ConflictError{}, a2a.ErrUnsupportedOperation, ""},
		"the end":             {draining, context.Canceled, a2a.ErrServerError, "the server is shutting down; ask again"},
		"an agent":            {t.Context(), &resolve.Error{Agent: "clerk", Errs: []error{errors.New("key sk-1234")}}, a2a.ErrServerError, "the agent cannot be run now"},
		"no store":            {t.Context(), fmt.Errorf("pq: sk-1234: %w", store.ErrUnavailable), a2a.ErrServerError, "the store cannot be reached; ask again"},
		"anything":            {t.Context(), errors.New("pq: password sk-1234"), a2a.ErrInternalError, "internal error; see the server log"},
	} {
		got := s.toProtocolError(c.ctx, "x", c.err)
		if !errors.Is(got, c.want) || c.text != "" && got.Error() != c.text {
			t.Errorf("%s is shown as %v", name, got)
		}
	}
}

func TestTheEndOfATaskIsToldInPlainWords(t *testing.T) {
	for want, why := range map[string]event.Termination{
		"": {Type: event.NaturalEnd},
		"the agent was stopped before it gave its answer: max_rounds": {Type: event.Stopped, Code: "max_rounds", Detail: "secret"},
		"the task was canceled":                            {Type: event.Canceled, Detail: "secret"},
		"the task needed more than it may use: tokens":     {Type: event.BudgetExceeded, Code: "tokens"},
		"the agent lacks a permission that the task needs": {Type: event.Blocked, Detail: "secret"},
		"nobody answered in time":                          {Type: event.Failed, Code: service.CodeInteractionTimeout},
		"the agent cannot be run now":                      {Type: event.Failed, Code: service.CodeUnresolved, Detail: "secret"},
		"the task failed: rate_limit":                      {Type: event.Failed, Code: "rate_limit", Detail: "secret"},
		"the task failed":                                  {Type: event.Failed, Code: "see /etc/passwd"},
	} {
		m := endMessage(a2a.TaskInfo{}, &why)
		text := ""
		if m != nil {
			text = m.Parts[0].Text()
		}
		if text != want {
			t.Errorf("%+v is told as %q", why, text)
		}
	}
	if got := endState(&event.Termination{Type: event.Failed, Code: service.CodeUnresolved}); got != a2a.TaskStateRejected {
		t.Errorf("a task that could not begin is %s", got)
	}
}
