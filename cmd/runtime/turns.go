package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// turnsOptions are the flags of turns.
type turnsOptions struct {
	format   *choice
	session  string
	agent    string
	statuses statuses
	page     store.Page
}

func newTurns(p *program) *cobra.Command {
	var o turnsOptions
	cmd := &cobra.Command{
		Use:   "turns FILE…",
		Short: "List the turns in the store",
		Long: `turns lists the turns in the store of a configuration, the newest first, also
while a server works on it, and what they wait for.

Exit codes: 0 done, 1 the store cannot be used, 2 usage or a file that cannot
be read.`,
		Args: arguments(1, unlimited),
		RunE: func(cmd *cobra.Command, files []string) error {
			return p.lookAt(cmd.Context(), files, func(l *loaded, s *runtime.Service) error {
				return listTurns(cmd.Context(), p, l, s, &o)
			})
		},
	}
	o.format = formatFlag(cmd, "text", "json")
	cmd.Flags().StringVar(&o.session, "session", "", "only turns of the session with this id")
	cmd.Flags().StringVar(&o.agent, "agent", "", "only turns of the agent with this id")
	cmd.Flags().Var(&o.statuses, "status", "only turns in this state: pending, running, waiting, succeeded, failed, canceled; may be repeated")
	pageFlags(cmd, &o.page)
	cmd.AddCommand(newTurnsCreate(p), newTurnsCancel(p), newTurnsResolve(p))
	return cmd
}

// statuses is a flag that takes states of turns.
type statuses []store.Status

// String returns nothing: none is given by default.
func (*statuses) String() string { return "" }

// Type names the flag's type in the help text.
func (*statuses) Type() string { return "string" }

// Set takes one more state.
func (s *statuses) Set(value string) error {
	one := choice{allowed: []string{
		string(store.Pending), string(store.Running), string(store.Waiting),
		string(store.Succeeded), string(store.Failed), string(store.Canceled),
	}}
	if err := one.Set(value); err != nil {
		return err
	}
	*s = append(*s, store.Status(value))
	return nil
}

// turnView is the JSON form of a turn.
type turnView struct {
	ID         string               `json:"id"`
	SessionID  string               `json:"session_id"`
	Owner      store.Owner          `json:"owner"`
	AgentID    string               `json:"agent_id"`
	Status     store.Status         `json:"status"`
	Expired    bool                 `json:"expired,omitempty"`
	Worker     string               `json:"worker,omitempty"`
	Strikes    int                  `json:"strikes,omitempty"`
	Steps      int                  `json:"steps"`
	Events     uint64               `json:"events"`
	Background bool                 `json:"background,omitempty"`
	Metadata   json.RawMessage      `json:"metadata,omitempty"`
	CreatedAt  time.Time            `json:"created_at"`
	NotBefore  time.Time            `json:"not_before,omitzero"`
	StartedAt  time.Time            `json:"started_at,omitzero"`
	FinishedAt time.Time            `json:"finished_at,omitzero"`
	WaitsFor   []openQuestion       `json:"waits_for,omitempty"`
	Outcome    *runtime.TurnOutcome `json:"outcome,omitempty"`
}

func viewTurn(t *runtime.StoredTurn, waitsFor []openQuestion) turnView {
	return turnView{
		t.ID, t.SessionID, t.Owner, t.AgentID, t.Status, t.Expired, t.Worker, t.Strikes, t.Steps, t.Seq, t.Background, t.Metadata,
		t.CreatedAt, t.NotBefore, t.StartedAt, t.FinishedAt, waitsFor, t.Outcome,
	}
}

func listTurns(ctx context.Context, p *program, l *loaded, s *runtime.Service, o *turnsOptions) error {
	list, err := s.ListTurns(ctx, runtime.Operator(), store.TurnQuery{SessionID: o.session, AgentID: o.agent, Statuses: o.statuses, Page: o.page})
	if err != nil {
		return err
	}
	views := make([]turnView, len(list.Turns))
	for i, t := range list.Turns {
		open, err := questions(ctx, s, t)
		if err != nil {
			return err
		}
		views[i] = viewTurn(t, open)
	}
	if o.format.value == "json" {
		return writeRedacted(p.out, struct {
			Turns []turnView `json:"turns"`
			Next  string     `json:"next,omitempty"`
		}{views, list.Next}, l.file.Redact)
	}
	p.more(list.Next)
	return writeTurns(p, l, views)
}

func writeTurns(p *program, l *loaded, turns []turnView) error {
	if len(turns) == 0 {
		_, err := fmt.Fprintln(p.out, "no turns")
		return err
	}
	rows := [][]string{{"TURN", "SESSION", "AGENT", "STATUS", "STEPS", "EVENTS", "AGE"}}
	for i := range turns {
		t := &turns[i]
		status := string(t.Status)
		if t.Expired {
			status = "expired"
		}
		rows = append(rows, []string{t.ID, t.SessionID, t.AgentID, status, fmt.Sprint(t.Steps), fmt.Sprint(t.Events), age(time.Now(), t.CreatedAt)})
	}
	if err := writeTable(p.out, rows); err != nil {
		return err
	}
	for i := range turns {
		for _, q := range turns[i].WaitsFor {
			fmt.Fprintf(p.out, "turn %s waits for %s: %s\n", turns[i].ID, q.ID, oneLine(l.file.Redact(q.Message)))
		}
	}
	return nil
}

// openQuestion is what a turn waits for.
type openQuestion struct {
	ID      string `json:"id"`
	Action  string `json:"action,omitempty"`
	Message string `json:"message"`
}

// questions returns what a turn waits for.
func questions(ctx context.Context, s *runtime.Service, t *runtime.StoredTurn) ([]openQuestion, error) {
	if t.Status != store.Waiting {
		return nil, nil
	}
	open, err := s.ListInteractions(ctx, runtime.Operator(), store.InteractionQuery{TurnID: t.ID, State: store.InteractionPending})
	if err != nil {
		return nil, err
	}
	list := make([]openQuestion, len(open))
	for i, q := range open {
		list[i] = openQuestion{q.ID, q.Action, fmt.Sprintf("%s (%s %s)", cmp.Or(q.Ticket.Message, q.Ticket.Action), q.Ticket.Tool, q.Ticket.Arguments)}
	}
	return list, nil
}
