package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// sessionsOptions are the flags of sessions.
type sessionsOptions struct {
	format *choice
	state  choice
	agent  string
	labels labels
	page   store.Page
}

func newSessions(p *program) *cobra.Command {
	o := sessionsOptions{state: choice{allowed: []string{string(store.SessionActive), string(store.SessionArchived)}}}
	cmd := &cobra.Command{
		Use:   "sessions FILE…",
		Short: "List the sessions in the store",
		Long: `sessions lists the sessions in the store of a configuration, those with the
latest activity first, also while a server works on it.

Exit codes: 0 done, 1 the store cannot be used, 2 usage or a file that cannot
be read.`,
		Args: arguments(1, unlimited),
		RunE: func(cmd *cobra.Command, files []string) error {
			return p.lookAt(cmd.Context(), files, func(l *loaded, s *runtime.Service) error {
				return listSessions(cmd.Context(), p, l, s, &o)
			})
		},
	}
	o.format = formatFlag(cmd, "text", "json")
	cmd.Flags().Var(&o.state, "state", "only sessions in this state: active, archived")
	cmd.Flags().StringVar(&o.agent, "agent", "", "only sessions of the agent with this id")
	cmd.Flags().Var(&o.labels, "label", "only sessions with this label; may be repeated")
	pageFlags(cmd, &o.page)
	cmd.AddCommand(newSessionsExport(p), newSessionsImport(p))
	return cmd
}

// labels is a flag that takes labels, each as name=value.
type labels map[string]string

// String returns nothing: none is given by default.
func (*labels) String() string { return "" }

// Type names the flag's type in the help text.
func (*labels) Type() string { return "name=value" }

// Set takes one more label.
func (l *labels) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("write name=value")
	}
	if *l == nil {
		*l = labels{}
	}
	(*l)[name] = value
	return nil
}

// pageFlags adds what says which part of a list is shown.
func pageFlags(cmd *cobra.Command, page *store.Page) {
	cmd.Flags().IntVar(&page.Limit, "limit", store.DefaultPage, "show so many at most")
	cmd.Flags().StringVar(&page.After, "after", "", "go on where the page before ended")
}

// sessionView is the JSON form of a session.
type sessionView struct {
	ID         string             `json:"id"`
	Owner      store.Owner        `json:"owner"`
	AgentID    string             `json:"agent_id,omitempty"`
	State      store.SessionState `json:"state"`
	Labels     map[string]string  `json:"labels,omitempty"`
	Metadata   json.RawMessage    `json:"metadata,omitempty"`
	SnapshotID string             `json:"snapshot_id,omitempty"`
	CreatedAt  time.Time          `json:"created_at"`
	UpdatedAt  time.Time          `json:"updated_at"`
	LastTurnAt time.Time          `json:"last_turn_at,omitzero"`
}

func listSessions(ctx context.Context, p *program, l *loaded, s *runtime.Service, o *sessionsOptions) error {
	page, err := s.ListSessions(ctx, runtime.Operator(), store.SessionQuery{
		State: store.SessionState(o.state.value), AgentID: o.agent, Labels: o.labels, Page: o.page,
	})
	if err != nil {
		return err
	}
	if o.format.value == "json" {
		list := make([]sessionView, len(page.Sessions))
		for i, v := range page.Sessions {
			list[i] = sessionView{v.ID, v.Owner, v.AgentID, v.State, v.Labels, runtime.PublicMetadata(v.Metadata), v.Tip, v.CreatedAt, v.UpdatedAt, v.LastTurnAt}
		}
		return writeRedacted(p.out, struct {
			Sessions []sessionView `json:"sessions"`
			Next     string        `json:"next,omitempty"`
		}{list, page.Next}, l.file.Redact)
	}
	if len(page.Sessions) == 0 {
		_, err := fmt.Fprintln(p.out, "no sessions")
		return err
	}
	rows := [][]string{{"SESSION", "STATE", "AGENT", "LABELS", "ACTIVE"}}
	for _, v := range page.Sessions {
		rows = append(rows, []string{v.ID, string(v.State), orDash(v.AgentID), orDash(l.file.Redact(labelText(v.Labels))), age(time.Now(), v.ActiveAt)})
	}
	p.more(page.Next)
	return writeTable(p.out, rows)
}

// labelText writes labels as they are given to --label.
func labelText(labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name+"="+labels[name])
	}
	return strings.Join(parts, ",")
}

// more says how to go on with a list, if there is more of it.
func (p *program) more(next string) {
	if next != "" {
		fmt.Fprintf(p.err, "! there are more: --after %s\n", next)
	}
}

func newSessionsExport(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "export FILE… SESSION",
		Short: "Write a session as JSON, to be imported elsewhere",
		Long: `export writes a session as JSON: its description, its snapshots with their
messages, and its artifacts. It holds what was said, secrets included if people
or tools told any.`,
		Args: arguments(2, unlimited),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, id := args[:len(args)-1], args[len(args)-1]
			return p.lookAt(cmd.Context(), files, func(_ *loaded, s *runtime.Service) error {
				export, err := s.ExportSession(cmd.Context(), runtime.Operator(), id)
				if err != nil {
					return err
				}
				return writeJSON(p.out, export)
			})
		},
	}
}

// maxImport bounds a session that is read from standard input, in bytes.
const maxImport = 256 << 20

// importOptions are the flags of sessions import.
type importOptions struct {
	id, agent, tenant, subject string
}

func newSessionsImport(p *program) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "Make a session of what export wrote",
		Long: `import reads what export wrote from standard input, makes a new session of it,
and prints its id. A SQLite file must not be served meanwhile.`,
		Args: arguments(1, unlimited),
		RunE: func(cmd *cobra.Command, files []string) error {
			return importSession(cmd.Context(), p, files, &o)
		},
	}
	cmd.Flags().StringVar(&o.id, "id", "", "the id of the new session; a new one when absent")
	cmd.Flags().StringVar(&o.agent, "agent", "", "the agent of the new session; that of the old one when absent")
	ownerFlags(cmd, &o.tenant, &o.subject)
	return cmd
}

func importSession(ctx context.Context, p *program, files []string, o *importOptions) error {
	var export runtime.SessionExport
	in := json.NewDecoder(io.LimitReader(p.in, maxImport))
	if err := in.Decode(&export); err != nil {
		return fmt.Errorf("read the session from standard input: %w", err)
	}
	l, err := p.loadStore(files)
	if err != nil {
		return err
	}
	defer l.close()
	return p.change(ctx, l, nil, func(s *runtime.Service) error {
		made, err := s.ImportSession(ctx, runtime.Caller{Tenant: o.tenant, Subject: o.subject}, runtime.CreateSession{ID: o.id, AgentID: o.agent}, &export)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.out, made.ID)
		return err
	})
}
