package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/provider/internal/hostservice"
	"github.com/agentruntime/agentruntime/backend/provider/internal/pool"
	"github.com/agentruntime/agentruntime/internal/providerproto"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// drive runs one turn at a provider, like a model. It belongs to the goroutine of Execute, except
// the parts that questions use.
type drive struct {
	hosted *hosted
	job    *backend.Job
	host   backend.Host
	env    backend.ExecutionEnv

	at    position
	began time.Time
	// last is the state that was kept last.
	last *backend.State
	// met is set once this drive has seen the turn at the provider.
	met bool
	// unkept is set if a state could not be stored: another worker may have taken over.
	unkept bool

	process process
	calls   *hostservice.CallQueue
	// creation creates the turn at the provider; nil once that is settled.
	creation *creation
	// known are the calls of the provider's turn, by id.
	known map[string]bool
	said  saying
	asked map[string]int // how often each interaction was asked
}

// newDrive returns the turn of a job, from its start or its saved state.
func newDrive(h *hosted, job *backend.Job, host backend.Host) (*drive, error) {
	d := &drive{hosted: h, job: job, host: host, env: *job.Local, last: job.State, began: time.Now(), known: map[string]bool{}, asked: map[string]int{}}
	d.at = position{Version: positionVersion, Provider: h.provider.id, SessionID: sessionIDFor(job.SessionID, job.Agent.ID), Left: h.limit}
	if job.State != nil && len(job.State.Hosted) > 0 {
		at, err := decodePosition(job.State.Hosted)
		if err != nil {
			return nil, err
		}
		if at.Provider != h.provider.id {
			return nil, fmt.Errorf("continue the turn at agent provider %s: %w", at.Provider, errOtherProvider)
		}
		d.at = *at
	}
	d.env.Model, d.env.ModelID, d.env.Provider, d.env.Upstream = d, h.provider.id, h.provider.id, h.options.Model
	if job.State != nil {
		d.addQuestions() // one of them may wait
	}
	return d, d.checkBudgets()
}

// checkBudgets returns an error if the turn's budgets cannot be enforced: providers do not report
// their models' usage.
func (d *drive) checkBudgets() error {
	left := d.job.Meter.Left()
	if left == nil || left.MaxTokens == nil && left.MaxCost == nil {
		return nil
	}
	return &TurnError{Code: CodeUnmetered, Detail: fmt.Sprintf(
		"agent provider %q does not report usage, so a turn that is limited by max_tokens or max_cost cannot run there", d.at.Provider)}
}

// loopJob returns the job for the local loop.
func (d *drive) loopJob() *backend.Job {
	job := *d.job
	job.Local = &d.env
	if keep := d.job.Checkpoint; keep != nil {
		job.Checkpoint = func(ctx context.Context, state *backend.State) error { return d.keepState(ctx, state) }
	}
	return &job
}

// loopHost returns the host for the local loop.
func (d *drive) loopHost() backend.Host {
	if j, ok := d.host.(backend.Journaler); ok {
		return &journalingHost{d.host, j, d}
	}
	return d.host
}

// journalingHost adds the position of the provider's turn to the states that it stores.
type journalingHost struct {
	backend.Host
	backend.Journaler
	drive *drive
}

// Begin keeps the state of the turn before tool calls.
func (h *journalingHost) Begin(ctx context.Context, state *backend.State) error {
	h.drive.completeState(state)
	err := h.Journaler.Begin(ctx, state)
	h.drive.unkept = h.drive.unkept || err != nil
	return err
}

// completeState adds the progress of the provider's turn to a state.
func (d *drive) completeState(state *backend.State) {
	at := d.at
	at.Left = max(at.Left-time.Since(d.began), time.Second)
	state.Hosted = encodeRecord(&at)
}

// keepState stores a state, if the job has a checkpoint.
func (d *drive) keepState(ctx context.Context, state *backend.State) error {
	if d.job.Checkpoint == nil || ctx.Err() != nil {
		return nil
	}
	d.completeState(state)
	err := d.job.Checkpoint(ctx, state)
	if err != nil && !errors.Is(err, backend.ErrYield) {
		d.unkept = true
	}
	d.last = state
	return err
}

// keepPosition stores the state after the last step, with the provider's turn that is about to
// start.
func (d *drive) keepPosition(ctx context.Context) error {
	state := &backend.State{Version: backend.StateVersion, Agent: d.job.Agent.ID, Budgets: d.job.Meter.Budgets(), Spent: d.job.Meter.Spent()}
	if d.last != nil {
		copied := *d.last
		state = &copied
	} else if d.job.Local.Output != nil {
		state.Output = d.job.Local.Output.Spec
	}
	return d.keepState(ctx, state)
}

// Stream continues the provider with the messages of the request or the results of its calls,
// until it calls tools or its turn ends.
func (d *drive) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		err := d.continueTurn(ctx, req, yield)
		if err != nil && !errors.Is(err, errStopped) {
			yield(model.Event{}, err)
		}
	}
}

// errStopped reports that the answer is no longer read.
var errStopped = errors.New("the answer is not read any more")

// continueTurn lets the provider continue.
func (d *drive) continueTurn(ctx context.Context, req *model.Request, yield func(model.Event, error) bool) error {
	d.said = saying{yield: yield}
	err := d.proceed(ctx, req)
	if errors.Is(err, errBusy) {
		return d.passCalls()
	}
	return err
}

// proceed starts or resumes the turn at the provider and follows it.
func (d *drive) proceed(ctx context.Context, req *model.Request) error {
	if err := d.attach(ctx); err != nil {
		return err
	}
	if d.at.Live {
		if err := d.resumeTurn(ctx, req); err != nil {
			return err
		}
	} else if err := d.beginTurn(ctx, req); err != nil {
		return err
	}
	return d.followTurn(ctx)
}

// resumeTurn continues the turn at the provider. If the runtime ended while creating it, the turn
// is created now if the provider keeps its turns and does not know it.
func (d *drive) resumeTurn(ctx context.Context, req *model.Request) error {
	if err := d.openCalls(); err != nil {
		return err
	}
	d.deliverResults(req)
	if d.creation != nil {
		d.creation.seen = time.Now()
	}
	if d.met {
		return nil
	}
	sent := *req
	if n := d.at.Messages; n > 0 && n < len(req.Messages) {
		sent.Messages = req.Messages[:n]
	}
	if d.findCreation(&sent) || d.at.Seq > 0 || !d.process.current().Capabilities.GetResumableTurns() {
		d.met = true
		return nil
	}
	_, err := d.getTurn(ctx)
	if errors.Is(err, errBusy) {
		return err
	}
	d.met = true
	if status.Code(err) != codes.NotFound {
		return nil // following the turn reveals other errors
	}
	d.at.Grant = hostservice.HashGrant(d.calls.Grant)
	if err := d.keepPosition(ctx); err != nil {
		return err
	}
	return d.startCreation(ctx, &sent, d.knowsSession(), false)
}

// attach acquires a process for the turn if it has none.
func (d *drive) attach(ctx context.Context) error {
	if d.process.current() != nil {
		return nil
	}
	lease, err := d.hosted.provider.acquire(ctx, d.at.SessionID)
	if err != nil {
		if ended := backend.Ended(ctx); ended != nil {
			return ended
		}
		return &TurnError{Code: CodeUnavailable, Detail: fmt.Sprintf("agent provider %q cannot be used: %v", d.at.Provider, err), Err: err}
	}
	d.process.use(lease)
	return nil
}

// releaseProcess gives the process back.
func (d *drive) releaseProcess() { d.process.use(nil) }

// grantLimit is the maximum lifetime of a grant.
const grantLimit = 24 * time.Hour

// openCalls lets the provider call back for the turn.
func (d *drive) openCalls() error {
	d.process.opening.Lock()
	defer d.process.opening.Unlock()
	if d.calls != nil && d.calls.TurnID == d.at.TurnID {
		return nil
	}
	entries := d.job.Local.Tools
	offered := make([]hostservice.Tool, 0, len(d.job.Local.Offered))
	if d.callsTools() {
		for _, t := range d.job.Local.Offered {
			offered = append(offered, hostservice.Tool{Tool: t, Effect: entries.Get(t.Name).Descriptor.EffectClass()})
		}
	}
	calls, err := d.hosted.provider.host.service.Open(&hostservice.Turn{
		SessionID: d.at.SessionID, TurnID: d.at.TurnID, RuntimeTurnID: d.job.TurnID, Tools: offered, Connections: d.hosted.provider.connections,
		Until: time.Now().Add(grantLimit), Earlier: d.at.Grant,
	})
	if err != nil {
		return err
	}
	d.calls = calls
	if d.job.State != nil {
		d.settleResults(d.job.State.Messages)
	}
	return nil
}

// callsTools reports whether the provider can call tools here.
func (d *drive) callsTools() bool {
	return canCallTools(d.process.current().Capabilities) && !d.hosted.provider.toolless
}

// beginTurn creates the next turn at the provider.
func (d *drive) beginTurn(ctx context.Context, req *model.Request) error {
	can := d.process.current().Capabilities
	if err := d.hosted.provider.checkCapabilities(can, d.needs(req)); err != nil {
		return &TurnError{Code: CodeCapability, Detail: err.Error(), Err: err}
	}
	again := d.at.Number > 0
	d.at.Number++
	d.at.TurnID, d.at.Seq, d.at.Live, d.at.Grant = turnIDFor(d.job.TurnID, d.at.Number), 0, true, ""
	d.at.Messages = len(req.Messages)
	d.met = true
	clear(d.known)
	if err := d.openCalls(); err != nil {
		return err
	}
	d.at.Grant = hostservice.HashGrant(d.calls.Grant)
	if err := d.keepPosition(ctx); err != nil {
		return err
	}
	return d.startCreation(ctx, req, again || d.knowsSession(), again)
}

// needs returns the turn's requirements on the provider. A delegate has a separate session,
// without a requested workspace.
func (d *drive) needs(req *model.Request) needs {
	return needs{form: req.Output != nil, tools: usesTools(d.job.Agent), workspace: d.job.Workspace != nil && d.job.Depth == 0}
}

// preparedWorkspace returns the session's workspace for the provider, which runs on this machine;
// nil if absent or the provider does not use one.
func (d *drive) preparedWorkspace() (*providerproto.PreparedAgentWorkspace, error) {
	w := d.job.Workspace
	if w == nil || !d.process.current().Capabilities.GetSupportsPreparedWorkspace() {
		return nil, nil //nolint:nilnil // none is handed over
	}
	root, err := w.Resolve(".")
	if err != nil {
		return nil, err
	}
	cwd, err := w.Directory()
	return &providerproto.PreparedAgentWorkspace{Root: root, Cwd: cwd}, err
}

// deliverResults hands the results of the last calls to the provider.
func (d *drive) deliverResults(req *model.Request) {
	if n := len(req.Messages); n > 0 {
		for i := n - 1; i >= 0 && req.Messages[i].Role != model.RoleAssistant; i-- {
			d.settleResults(req.Messages[i : i+1])
		}
	}
}

// settleResults hands the results among messages to the provider.
func (d *drive) settleResults(messages []model.Message) {
	for i := range messages {
		for j := range messages[i].Parts {
			if r := messages[i].Parts[j].ToolResult; r != nil {
				d.known[r.CallID] = true
				d.calls.SettleCall(d.providerCall(r.CallID), outcomeOf(r))
			}
		}
	}
}

// endTurn ends the turn at the provider, unless it has ended, and revokes its access to tools.
func (d *drive) endTurn(ctx context.Context, why error) {
	if d.at.TurnID == "" {
		return
	}
	host := d.hosted.provider.host
	host.service.CloseTurn(d.at.TurnID)
	defer host.requests.endTurn(d.at.TurnID)
	if !d.at.Live {
		return
	}
	reason := "the turn has ended"
	if why != nil {
		reason = why.Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	p := d.process.current()
	if p == nil {
		return
	}
	if err := host.cancelTurn(ctx, p.Instance, &d.at, reason); err != nil {
		d.hosted.provider.logger.Warn("cancel of the provider's turn failed", "turn", d.job.TurnID, "error", err)
	}
}

// cancelTurn ends a turn at the provider.
func (p *provider) cancelTurn(ctx context.Context, at *position, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	lease, err := p.acquire(ctx, at.SessionID)
	if err != nil {
		return err
	}
	defer lease.Release()
	return p.host.cancelTurn(ctx, lease.Instance, at, reason)
}

// cancelTurn ends a turn that can no longer call tools. A turn that is still being created is
// canceled once the provider knows it.
func (h *host) cancelTurn(ctx context.Context, i *pool.Instance, at *position, reason string) error {
	known, err := cancelTurn(ctx, i, at, reason)
	e := h.requests.find(at.TurnID, createKey)
	if known || err != nil || e == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createPatience)
	defer cancel()
	select {
	case <-e.done:
	case <-i.Lost():
		return nil
	case <-ctx.Done():
		return errors.New("cancel the turn: the provider is still creating it")
	}
	if e.err == nil {
		_, err = cancelTurn(ctx, i, at, reason)
	}
	return err
}

// cancelTurn cancels a turn at a provider. known is false for a turn that the provider does not
// know.
func cancelTurn(ctx context.Context, i *pool.Instance, at *position, reason string) (known bool, err error) {
	select {
	case <-i.Lost():
		return true, nil
	default:
	}
	turn, err := i.CancelTurn(ctx, &providerproto.CancelAgentProviderTurnRequest{TurnId: at.TurnID, Reason: reason, Subject: subjectOf(at)})
	switch {
	case status.Code(err) == codes.NotFound:
		return false, nil
	case err != nil:
		return true, fmt.Errorf("cancel the turn: %w", err)
	case isLive(turn.GetStatus()):
		return true, fmt.Errorf("cancel the turn: the provider answers that it is %s", turn.GetStatus())
	}
	return true, nil
}

// outcomeOf returns a call's result in the form for providers.
func outcomeOf(r *model.ToolResult) hostservice.Outcome {
	o := hostservice.Outcome{Status: 200, Body: model.PartsText(r.Content)}
	if r.IsError {
		o.Status = 400
	}
	return o
}

// questionTimeout limits asking and answering a question.
const questionTimeout = tools.DefaultTimeout
