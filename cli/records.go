package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
)

// records are the sessions and turns that a command works on, in a store or at a server.
type records interface {
	ListSessions(ctx context.Context, q native.SessionQuery) (*native.SessionList, error)
	GetSession(ctx context.Context, id string) (*native.Session, error)
	CreateSession(ctx context.Context, req native.CreateSession) (*native.Session, error)
	ExportSession(ctx context.Context, id string) (*service.SessionExport, error)
	ImportSession(ctx context.Context, req native.ImportSession, export *service.SessionExport) (*native.Session, error)
	ListTurns(ctx context.Context, q native.TurnQuery) (*native.TurnList, error)
	ListFeedback(ctx context.Context, q native.FeedbackQuery) (*native.FeedbackList, error)
	GetTurn(ctx context.Context, id string) (*native.Turn, error)
	CreateTurn(ctx context.Context, req native.CreateTurn) (*native.Turn, error)
	CancelTurn(ctx context.Context, id, reason string) (*native.Turn, error)
	ListInteractions(ctx context.Context, turnID string) ([]native.Interaction, error)
	AnswerInteraction(ctx context.Context, turnID string, r interaction.Answer) (*native.Interaction, error)
	ReadEvents(ctx context.Context, turnID string, after uint64, limit int, filter ...service.EventFilter) ([]event.Record, error)
	Events(ctx context.Context, turnID string, after uint64, filter ...service.EventFilter) iter.Seq2[event.Record, error]
}

var (
	_ records = (*native.Local)(nil)
	_ records = (*native.Client)(nil)
)

// place is the location of the records and how they are shown.
type place struct {
	records
	// redact hides secrets.
	redact func(string) string
	// name is the place's name on the command line.
	name string
	// workOn makes this process work on a turn; nil if another process does.
	workOn func(turn string)
	// models returns the models and pools that a turn may use, and the agent's own model; nil if
	// only the server knows them.
	models func(agent string) (all []string, own string)
	// keeps is set if the records outlive the command.
	keeps bool
}

// target is the place named on the command line: configuration files with a store, or a server.
type target struct {
	remote.Flags
	files []string
}

// arguments checks the arguments of a command that takes FILE… and a number of others, or with
// --server only the others. The local flags require files.
func (t *target) arguments(others int, local ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if done, err := t.Check(cmd, args, others, local); done {
			return err
		}
		return command.Arguments(others+1, command.Unlimited)(cmd, args)
	}
}

// take splits the files from the arguments and returns the others.
func (t *target) take(args []string, others int) []string {
	n := len(args) - others
	t.files = args[:n]
	return args[n:]
}

// lookAt calls do with a place's records for reading, even while another process works on them.
func (p *program) lookAt(ctx context.Context, t *target, do func(*place) error) error {
	if t.Server != "" {
		return p.reach(ctx, &t.Flags, do)
	}
	l, err := p.loadSection(t.files, "store", false)
	if err != nil {
		return err
	}
	defer l.close()
	driver := p.StoreDriver(l.file)
	if driver.OpenReadOnly == nil {
		return p.complain(ctx, l, errVolatile)
	}
	e, err := driver.OpenReadOnly(ctx, app.StoreSettings(l.file, zap.NewNop()))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w\n  nothing is stored yet: \"%[2]s migrate\", \"%[2]s serve\" and \"%[2]s turns create\" make the store", err, p.Command())
	}
	if err != nil {
		return p.complain(ctx, l, err)
	}
	return p.withRecords(ctx, l, service.Operator(), service.Settings{Store: e.Store, Notifier: e.Notifier}, do)
}

// withRecords calls do with a store's records as visible to a caller, and closes the store.
func (p *program) withRecords(ctx context.Context, l *loaded, caller service.Caller, settings service.Settings, do func(*place) error) error {
	s := service.New(settings)
	s.Listen()
	err := do(&place{records: &native.Local{Service: s, Caller: caller}, redact: l.file.Redact, name: "FILE"})
	s.Close()
	return p.complain(ctx, l, errors.Join(err, settings.Store.Close()))
}

// change holds the requirements for changing a store's records. A server ignores them.
type change struct {
	// caller makes the changes and owns the new records.
	caller service.Caller
	// agents builds the required runtime; nil if none is required. It may return nil.
	agents func(*loaded) (*runtime.AgentRuntime, error)
}

// change calls do with the records of a place to change them. It works on no turns
// itself.
func (p *program) change(ctx context.Context, t *target, c change, do func(*place) error) error {
	if t.Server != "" {
		return p.reach(ctx, &t.Flags, do)
	}
	l, err := p.loadSection(t.files, "store", false)
	if err != nil {
		return err
	}
	defer l.close()
	var rt *runtime.AgentRuntime
	if c.agents != nil {
		if rt, err = c.agents(l); err != nil {
			return err
		}
	}
	if rt != nil {
		defer func() { _ = rt.Close() }()
	}
	driver := p.StoreDriver(l.file)
	if driver.OpenReadOnly == nil {
		return p.complain(ctx, l, errVolatile)
	}
	e, err := driver.Open(ctx, app.StoreSettings(l.file, zap.NewNop()))
	if err != nil {
		return p.complain(ctx, l, err)
	}
	queue, err := e.NewDispatcher(1, zap.NewNop())
	if err != nil {
		return p.complain(ctx, l, errors.Join(err, e.Store.Close()))
	}
	workspaces, err := app.NewWorkspaces(l.file, zap.NewNop())
	if err != nil {
		return p.complain(ctx, l, errors.Join(err, e.Store.Close()))
	}
	return p.withRecords(ctx, l, c.caller, service.Settings{Runtime: rt, Store: e.Store, Notifier: e.Notifier, Dispatcher: queue, Workspaces: workspaces}, do)
}

// complain shows a store failure and ends the command. It passes through cancellations and errors
// that were already shown.
func (p *program) complain(ctx context.Context, l *loaded, err error) error {
	switch locked, ok := errors.AsType[*store.LockedError](err); {
	case ok:
		err = fmt.Errorf("%w\n  \"%[2]s sessions\", \"%[2]s turns\" and \"%[2]s events\" can still read it; to change it, give --server, or end that process first", locked, p.Command())
	case errors.Is(err, server.ErrUnauthenticated):
		err = fmt.Errorf("%w\n  make a key with \"%s keys new\", or write server.allow_unauthenticated: true", err, p.Command())
	}
	return command.Fail(ctx, &p.Streams, l.file.Redact, err)
}

// eventFilter returns the filter that selects the events to show.
func eventFilter(delegates bool) service.EventFilter {
	if delegates {
		return service.WithDelegates
	}
	return service.OwnEvents
}

// delegatesFlag adds the flag --delegates.
func delegatesFlag(flags *pflag.FlagSet) *bool {
	return flags.Bool("delegates", false, "also show the events of delegates")
}

// reach calls do with the records at a server.
func (p *program) reach(ctx context.Context, r *remote.Flags, do func(*place) error) error {
	return r.Connect(ctx, &p.Streams, func(client *native.Client, redact func(string) string) error {
		return do(&place{records: client, redact: redact, name: "--server " + r.Server, keeps: true})
	})
}
