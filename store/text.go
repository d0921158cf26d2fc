package store

import (
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// Each store first checks all texts to be stored, so that all stores reject the same texts: those
// that PostgreSQL cannot store. Search texts are not rejected; they just find nothing.

// texts checks the texts of a record. err is ErrText for the first that every store rejects.
type texts struct{ err error }

func (t *texts) add(list ...string) {
	for _, text := range list {
		if t.err == nil && !clip.IsClean(text) {
			t.err = fmt.Errorf("%w: %q", ErrText, clip.Text(text))
		}
	}
}

// checkTexts returns ErrText for a text that every store rejects.
func checkTexts(list ...string) error {
	var t texts
	t.add(list...)
	return t.err
}

func (t *texts) addLabels(labels map[string]string) {
	for name, value := range labels {
		t.add(name, value)
	}
}

func (t *texts) addSnapshot(s *Snapshot) {
	t.add(s.ID, s.SessionID, s.Owner.Tenant, s.Owner.Subject, s.ParentID, s.TurnID, s.AgentID, s.CurrentAgentID, s.FinishReason)
}

func (t *texts) addArtifact(a *Artifact) {
	t.add(a.ID, a.SessionID, a.TurnID, a.Owner.Tenant, a.Owner.Subject, a.Name, a.MediaType)
}

func (t *texts) addAgents(agents event.AgentUsages) {
	for i := range agents {
		t.add(agents[i].Agent, agents[i].ModelID, agents[i].Currency())
	}
}

// CheckText returns ErrText for a session that every store rejects.
func (n *NewSession) CheckText() error {
	var t texts
	s := &n.Session
	t.add(s.ID, s.Owner.Tenant, s.Owner.Subject, s.AgentID, s.CurrentAgentID, string(s.State), s.Tip)
	t.addLabels(s.Labels)
	t.add(n.Key.Value)
	for i := range n.Base {
		t.addSnapshot(&n.Base[i].Snapshot)
	}
	for _, a := range n.Artifacts {
		t.addArtifact(a)
	}
	return t.err
}

// CheckText returns ErrText for a change that every store rejects.
func (p *SessionPatch) CheckText() error {
	var t texts
	if p.Labels != nil {
		t.addLabels(*p.Labels)
	}
	for _, text := range []*string{p.AgentID, p.Tip, (*string)(p.State)} {
		if text != nil {
			t.add(*text)
		}
	}
	return t.err
}

// CheckText returns ErrText for a turn that every store rejects.
func (n *NewTurn) CheckText() error {
	t := &n.Turn
	return checkTexts(n.Key.Value, t.ID, t.SessionID, t.Owner.Tenant, t.Owner.Subject, t.AgentID, t.SnapshotID, t.ParentSnapshotID)
}

// CheckText returns ErrText for an end that every store rejects.
func (e *EndTurn) CheckText() error {
	var t texts
	t.addAgents(e.Agents)
	t.add(string(e.Event.Type), string(e.Status))
	t.add(e.Event.Path...)
	return t.err
}

// CheckText returns ErrText for a commit that every store rejects.
func (c *Commit) CheckText() error {
	var t texts
	for i := range c.Events {
		t.add(string(c.Events[i].Type))
		t.add(c.Events[i].Path...)
	}
	for i := range c.Journal {
		t.add(c.Journal[i].Key)
	}
	for _, a := range c.Artifacts {
		t.addArtifact(a)
	}
	for _, i := range c.Asked {
		t.add(i.ID, i.TurnID, i.SessionID, i.Owner.Tenant, i.Owner.Subject, string(i.State), i.Action, i.AnsweredBy)
	}
	if c.Suspend != nil {
		t.add(c.Suspend.Open...)
	}
	if c.Finish != nil {
		t.addAgents(c.Finish.Agents)
		t.add(string(c.Finish.Status))
		if c.Finish.Snapshot != nil {
			t.addSnapshot(c.Finish.Snapshot)
		}
	}
	if t.err != nil {
		return fmt.Errorf("commit to turn %s: %w", c.TurnID, t.err)
	}
	return nil
}

// CheckText returns ErrText for an answer that every store rejects.
func (r *Answer) CheckText() error { return checkTexts(r.By) }

// CheckText returns ErrText for a webhook that every store rejects.
func (n *NewWebhook) CheckText() error {
	w := &n.Webhook
	return checkTexts(w.ID, w.Surface, string(w.State), w.LastError, w.Worker)
}

// CheckText returns ErrText for a change that every store rejects.
func (a *AdvanceWebhook) CheckText() error { return checkTexts(string(a.State), a.LastError) }

// CheckText returns ErrText for a revocation that every store rejects.
func (r *Revocation) CheckText() error { return checkTexts(r.TokenID, r.ClientID) }

// CheckText returns ErrText for a revision that every store rejects.
func (p *PublishRevision) CheckText() error {
	r := &p.Revision
	errs := []error{checkTexts(r.Tenant, r.Hash, r.Author, r.Note, p.Base)}
	if p.Attempt != nil {
		errs = append(errs, p.Attempt.CheckText())
	}
	if p.Proven != nil {
		for _, held := range p.Proven.Held {
			errs = append(errs, checkTexts(held.Tenant, held.Base))
		}
	}
	return errors.Join(errs...)
}

// CheckText returns ErrText for a build that every store rejects.
func (b *RevisionBuild) CheckText() error { return checkTexts(b.Build, b.Tenant, b.Hash, b.Base) }

// CheckText returns ErrText for an attempt that every store rejects.
func (a *RevisionAttempt) CheckText() error {
	return checkTexts(a.Tenant, a.Hash, a.Expected, a.Author, a.Note, string(a.Outcome))
}

// CheckText returns ErrText for a variable that every store rejects. Its value may hold anything.
func (v *TenantVariable) CheckText() error { return checkTexts(v.Tenant, v.Name, v.Author) }
