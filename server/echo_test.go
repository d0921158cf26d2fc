package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
	"github.com/agentruntime/agentruntime/service"
)

// echoSurface is a protocol of its own, to show what one needs to be: what it reads and
// writes, and what it asks the service for. Who may ask, how much, what is whose, its
// description and its errors are those of all surfaces.
type echoSurface struct{ service *service.Service }

// said is what an agent is told.
type said struct {
	Agent string `json:"agent"`
	Text  string `json:"text"`
	// Talk is the session; empty begins one.
	Talk string `json:"talk,omitempty"`
}

// echoed is what becomes of it.
type echoed struct {
	ID     string   `json:"id"`
	Talk   string   `json:"talk"`
	State  string   `json:"state"`
	Answer string   `json:"answer,omitempty"`
	Asks   []string `json:"asks,omitempty"`
}

// heardList is what was said before.
type heardList struct {
	All []echoed `json:"all"`
}

// reply answers a question.
type reply struct {
	Question string `json:"question"`
	Yes      bool   `json:"yes"`
}

// none is a body without fields.
type none struct{}

// Routes returns the routes of the protocol.
func (e *echoSurface) Routes() []server.Route {
	say := server.Handle("POST /echo", "runs:write", e.say)
	say.Begins = true
	stream := server.Answer("GET /echo/{id}/stream", "runs:read", e.stream)
	stream.Stream = true
	return []server.Route{
		say, stream,
		server.Handle("GET /echo", "runs:read", e.list),
		server.Handle("POST /echo/{id}/reply", "runs:write", e.reply),
		server.Handle("DELETE /echo/{id}", "runs:write", e.cancel),
	}
}

// OpenAPI describes the routes.
func (e *echoSurface) OpenAPI() []byte {
	return server.DescribeSurface(&openapi.Surface{Title: "Echo"}, e.Routes())
}

func (e *echoSurface) say(ctx context.Context, caller service.Caller, _ *http.Request, s said) (echoed, error) {
	if s.Talk == "" {
		talk, err := e.service.CreateSession(ctx, caller, service.CreateSession{AgentID: s.Agent})
		if err != nil {
			return echoed{}, err
		}
		s.Talk = talk.ID
	}
	turn, err := e.service.CreateTurn(ctx, caller, service.CreateTurn{SessionID: s.Talk, AgentID: s.Agent, Input: []model.Message{model.User(s.Text)}})
	return e.hear(ctx, caller, turn, err)
}

func (e *echoSurface) list(ctx context.Context, caller service.Caller, r *http.Request, _ none) (heardList, error) {
	page, err := e.service.ListTurns(ctx, caller, service.TurnQuery{Page: service.Page{After: r.FormValue("after")}})
	if err != nil {
		return heardList{}, err
	}
	all := heardList{All: []echoed{}}
	for _, turn := range page.Turns {
		one, err := e.hear(ctx, caller, turn, nil)
		if err != nil {
			return heardList{}, err
		}
		all.All = append(all.All, one)
	}
	return all, nil
}

func (e *echoSurface) reply(ctx context.Context, caller service.Caller, r *http.Request, given reply) (echoed, error) {
	answer := interaction.Answer{Target: given.Question, Action: interaction.Resume, Result: strconv.AppendBool(nil, given.Yes)}
	if _, err := e.service.AnswerInteraction(ctx, caller, r.PathValue("id"), answer); err != nil {
		return echoed{}, err
	}
	turn, err := e.service.GetTurn(ctx, caller, r.PathValue("id"))
	return e.hear(ctx, caller, turn, err)
}

func (e *echoSurface) cancel(ctx context.Context, caller service.Caller, r *http.Request, _ none) (echoed, error) {
	turn, err := e.service.CancelTurn(ctx, caller, r.PathValue("id"), "echo")
	return e.hear(ctx, caller, turn, err)
}

// hear returns a turn as it is shown.
func (e *echoSurface) hear(ctx context.Context, caller service.Caller, turn *service.Turn, err error) (echoed, error) {
	if err != nil {
		return echoed{}, err
	}
	h := echoed{ID: turn.ID, Talk: turn.SessionID, State: string(turn.Status)}
	if turn.Outcome != nil {
		h.Answer = turn.Outcome.Response
	}
	open, err := e.service.ListInteractions(ctx, caller, service.InteractionQuery{TurnID: turn.ID, State: service.InteractionPending})
	for _, i := range open {
		h.Asks = append(h.Asks, i.ID)
	}
	return h, err
}

func (e *echoSurface) stream(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
	turn, err := e.service.GetTurn(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	log := e.service.Follower(caller, turn, 0, server.DefaultKeepAlive)
	server.ServeEvents(w, r, func(ctx context.Context, out *server.EventStream) {
		_ = out.Follow(log.Batches(ctx), func(b *bytes.Buffer, record *event.Record) error {
			data, err := json.Marshal(record)
			fmt.Fprintf(b, "data: %s\n\n", data)
			return err
		})
	})
	return nil
}
