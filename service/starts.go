package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// A session that needs preparation begins in two steps. It is stored as starting, which reserves
// its id and its idempotency key but shows nothing of it. The request that created the record, in
// any process, does the preparation and makes the session active, or deletes the record. Other
// requests with the same key wait for either. If the process dies in between, the record says how
// long to wait for it.

const (
	// startMargin is added to the preparation limit while waiting for a starting session, to allow
	// for clock differences between machines.
	startMargin = 30 * time.Second
	// startPoll is how often a session being started by another request is checked.
	startPoll = 100 * time.Millisecond
	// releaseTime is the timeout for storing the result of a start.
	releaseTime = 10 * time.Second
)

// starts begins sessions.
type starts struct{ *core }

// startRecord is the metadata of a starting session.
type startRecord struct {
	// Until is how long to wait for the session, and Token names the request that starts it.
	Until time.Time `json:"_starting_until"`
	Token string    `json:"_starting_token"`
}

// errTakenOver means that the record of a starting session is gone.
var errTakenOver = errors.New("the start of the session took too long; another request has taken its place")

// preparation is the work to do before a session begins.
type preparation struct {
	hooks     []spec.SessionHook
	workspace *workspace.Request
	// prepared is a workspace prepared by a host.
	prepared   *workspace.Prepared
	workspaces *workspace.Manager
	// claim is the place of the workspace; nil before it is claimed.
	claim *workspace.Claim
}

// isNeeded reports whether there is anything to do.
func (p *preparation) isNeeded() bool { return len(p.hooks) > 0 || p.workspace != nil }

// limit returns how long the preparation may take.
func (p *preparation) limit() time.Duration {
	limit := sessionstart.Limit(p.hooks)
	if p.workspace != nil {
		limit += p.workspaces.Timeout()
	}
	return limit
}

// takePlace claims the place of the workspace, if there will be one.
func (p *preparation) takePlace(sessionID, token string) error {
	if p.workspace == nil {
		return nil
	}
	var err error
	p.claim, err = p.workspaces.Claim(sessionID, token)
	return err
}

// leavePlace ends the claim: the workspace is kept for the session, or deleted.
func (p *preparation) leavePlace(keep bool) error {
	claim := p.claim
	p.claim = nil
	switch {
	case claim == nil:
		return nil
	case keep:
		return claim.Keep()
	default:
		return claim.Discard()
	}
}

// run prepares the session and returns the record of it for the session's metadata. Programs run
// in the workspace, unless they name a directory.
func (p *preparation) run(ctx context.Context) (map[string]json.RawMessage, error) {
	record, place, err := p.prepareWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	dir := ""
	if place != nil {
		if dir, err = place.Directory(); err != nil {
			return nil, err
		}
	}
	kept, err := sessionstart.Run(ctx, p.hooks, dir)
	if err == nil && record != nil {
		err = encodeRecord(kept, record)
	}
	return kept, err
}

// prepareWorkspace returns the workspace of the session; nil if it has none.
func (p *preparation) prepareWorkspace(ctx context.Context) (*workspace.Record, *tools.Workspace, error) {
	switch {
	case p.prepared != nil:
		record, err := p.workspaces.Accept(p.prepared)
		if err != nil {
			return nil, nil, err
		}
		place, err := p.workspaces.Open(record)
		return record, place, err
	case p.claim != nil:
		return p.claim.Prepare(ctx, p.workspace)
	default:
		return nil, nil, nil
	}
}

// preparationOf returns the work to do before a session begins.
func (s *starts) preparationOf(ctx context.Context, tenant string, req *CreateSession) (*preparation, error) {
	hooks, err := s.hooksOf(ctx, tenant, req.Revision, req.AgentID)
	return &preparation{
		hooks: append(hooks, req.SessionStart...), workspace: req.Workspace, prepared: req.Prepared, workspaces: s.settings.Workspaces,
	}, err
}

// hooksOf returns the programs that run when a session of an agent begins for a tenant.
func (s *starts) hooksOf(ctx context.Context, tenant, revision, agentID string) ([]spec.SessionHook, error) {
	if agentID == "" || s.settings.Runtime == nil {
		return nil, nil
	}
	rev, err := s.acquirePinned(ctx, tenant, revision, agentID)
	if err != nil {
		return nil, err
	}
	defer rev.Release()
	return HooksOf(rev, agentID), nil
}

// HooksOf returns the programs that run when a session of an agent begins.
func HooksOf(rev *registry.Revision, agentID string) []spec.SessionHook {
	set := rev.Set()
	agent, ok := set.Agent(agentID)
	if !ok {
		return nil
	}
	agent, _ = set.Defaults.Apply(agent)
	return agent.Clone().SessionStart
}

// checkHooksRan returns an error for a turn of an agent whose hooks did not run for the session.
func (s *starts) checkHooksRan(ctx context.Context, session *store.Session, agentID string) error {
	if agentID == session.AgentID {
		return nil
	}
	hooks, err := s.hooksOf(ctx, session.Owner.Tenant, "", agentID)
	if err != nil || len(hooks) == 0 {
		return err
	}
	return &InvalidError{"agent_id", fmt.Sprintf("agent %q has programs that run when its sessions begin, and this session is not one of its: make a session with the agent", agentID)}
}

// contextOf returns the message that precedes every turn of a session; nil if absent.
func contextOf(session *store.Session) *model.Message {
	m, ok := sessionstart.Context(session.Metadata)
	if !ok {
		return nil
	}
	return &m
}

// checkHooks checks the programs that a request brings.
func checkHooks(hooks []spec.SessionHook) error {
	for _, d := range spec.ValidateSessionHooks(hooks) {
		return &InvalidError{diag.Join("session_start", d.Path), d.Message}
	}
	return nil
}

// startAttempts bounds the attempts to create a session whose id is taken by a session that
// cannot be found, because it failed to start or has another owner.
const startAttempts = 3

// beginSession stores a new session once its preparation is done. While another request starts a
// session with the same id, it waits: if that fails, this request creates the session; otherwise
// the existing session can be read.
func (s *starts) beginSession(ctx context.Context, n *store.NewSession, p *preparation) (*store.Session, error) {
	for attempt := 1; ; attempt++ {
		made, err := s.tryBegin(ctx, n, p)
		exists, ok := errors.AsType[*store.ExistsError](err)
		if !ok {
			return made, err
		}
		free, found, failed := s.awaitTaken(ctx, n.Session.Owner, exists.ID)
		if failed != nil {
			return nil, failed
		}
		if !free || !found && attempt == startAttempts {
			return nil, err
		}
	}
}

// tryBegin is beginSession without waiting for a session with the same id.
func (s *starts) tryBegin(ctx context.Context, n *store.NewSession, p *preparation) (*store.Session, error) {
	if !p.isNeeded() {
		if err := p.addPrepared(ctx, n); err != nil {
			return nil, err
		}
		made, err := s.settings.Store.CreateSession(ctx, n)
		if err != nil || made.State != store.SessionStarting {
			return made, err
		}
		return s.awaitStart(ctx, made, n, p) // hooks existed when it began
	}
	final := n.Session.Metadata
	record := startRecord{Until: s.now().Add(p.limit() + startMargin), Token: s.settings.NewID()}
	waiting, err := json.Marshal(&record)
	if err != nil {
		return nil, err
	}
	n.Session.State, n.Session.Metadata = store.SessionStarting, waiting
	if err := p.takePlace(n.Session.ID, record.Token); err != nil {
		return nil, err
	}
	made, err := s.settings.Store.CreateSession(ctx, n)
	n.Session.Metadata = final
	if err == nil && made.State == store.SessionStarting && readStart(made).Token == record.Token {
		return s.startSession(ctx, n, p, record.Until.Add(-startMargin))
	}
	if wrong := p.leavePlace(false); wrong != nil {
		s.logError(ctx, "deleting a workspace failed", wrong)
	}
	if err != nil {
		return nil, err
	}
	return s.awaitStart(ctx, made, n, p)
}

// addPrepared adds a workspace prepared by a host to the metadata of a session that needs no other
// preparation.
func (p *preparation) addPrepared(ctx context.Context, n *store.NewSession) error {
	if p.prepared == nil {
		return nil
	}
	kept, err := p.run(ctx)
	if err == nil {
		n.Session.Metadata, err = sessionstart.Replace(n.Session.Metadata, kept)
	}
	return err
}

// startSession prepares a starting session and makes it active.
func (s *starts) startSession(ctx context.Context, n *store.NewSession, p *preparation, end time.Time) (*store.Session, error) {
	limited, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	kept, err := p.run(limited)
	keep := false
	defer func() {
		if wrong := p.leavePlace(keep); wrong != nil {
			s.logError(context.WithoutCancel(ctx), "releasing a workspace failed", wrong)
		}
	}()
	if err == nil {
		n.Session.Metadata, err = sessionstart.Replace(n.Session.Metadata, kept)
	}
	if err == nil {
		err = checkMetadata(n.Session.Metadata)
	}
	storing, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer stop()
	scope := store.Of(n.Session.Owner)
	if err != nil {
		if wrong := s.settings.Store.DeleteSession(storing, scope, n.Session.ID); wrong != nil && !errors.Is(wrong, store.ErrNotFound) {
			s.logError(storing, "deleting a session that did not start failed", wrong)
		}
		return nil, err
	}
	active := store.SessionActive
	started, err := s.settings.Store.UpdateSession(storing, scope, n.Session.ID, store.SessionPatch{State: &active, Metadata: &n.Session.Metadata, Now: s.now()})
	if errors.Is(err, store.ErrNotFound) {
		return nil, errTakenOver
	}
	keep = err == nil
	return started, err
}

// awaitStart waits for a session that another request or process is starting. If the other one
// fails, this request starts the session itself.
func (s *starts) awaitStart(ctx context.Context, made *store.Session, n *store.NewSession, p *preparation) (*store.Session, error) {
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for made.State == store.SessionStarting {
		if s.isStartDead(made) {
			s.dropExpired(ctx, made.Owner, made.ID)
			return s.beginSession(ctx, n, p)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		next, err := s.settings.Store.Session(ctx, store.Of(made.Owner), made.ID)
		if errors.Is(err, store.ErrNotFound) {
			return s.beginSession(ctx, n, p)
		}
		if err != nil {
			return nil, err
		}
		made = next
	}
	return made, nil
}

// awaitTaken waits while the owner's session with an id that is taken is starting. It
// reports whether the id is free afterwards, and whether such a session was found.
func (s *starts) awaitTaken(ctx context.Context, owner store.Owner, id string) (free, found bool, err error) {
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		session, err := s.settings.Store.Session(ctx, store.Of(owner), id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return true, found, nil
		case err != nil || session.State != store.SessionStarting:
			return false, true, err
		case s.isStartDead(session) && s.dropExpired(ctx, owner, id):
			return true, true, nil
		}
		found = true
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, true, context.Cause(ctx)
		}
	}
}

// readStart returns the start record of a starting session.
func readStart(session *store.Session) startRecord {
	var record startRecord
	if json.Unmarshal(session.Metadata, &record) != nil {
		return startRecord{}
	}
	return record
}

// isStartDead reports whether the start of a session was abandoned: its time has run out, or the
// local process that prepares its workspace is dead.
func (s *starts) isStartDead(session *store.Session) bool {
	record := readStart(session)
	return s.now().After(record.Until) || s.settings.Workspaces.IsAbandoned(session.ID, record.Token)
}

// dropExpired deletes a starting session whose process is dead, and reports whether it
// did.
func (s *starts) dropExpired(ctx context.Context, owner store.Owner, id string) bool {
	scope := store.Of(owner)
	found, err := s.settings.Store.Session(ctx, scope, id)
	if err != nil || found.State != store.SessionStarting || !s.isStartDead(found) {
		return false
	}
	if found, err = s.settings.Store.Session(ctx, scope, id); err != nil || found.State != store.SessionStarting {
		return false // it began meanwhile
	}
	return s.settings.Store.DeleteSession(ctx, scope, id) == nil
}

// dropAbandoned deletes the starting sessions whose processes are dead.
func (s *starts) dropAbandoned(ctx context.Context) {
	q := store.SessionQuery{Scope: store.Everything, State: store.SessionStarting, Page: store.Page{Limit: store.MaxPage}}
	for {
		page, err := s.settings.Store.Sessions(ctx, q)
		if err != nil {
			s.logError(ctx, "listing starting sessions failed", err)
			return
		}
		for _, found := range page.Sessions {
			s.dropExpired(ctx, found.Owner, found.ID)
		}
		if q.Page.After = page.Next; page.Next == "" {
			return
		}
	}
}
