package store

import (
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// Each store first checks all texts to be stored, so that all stores reject the same texts: those
// that PostgreSQL cannot store. Search texts are not rejected; they just find nothing.

// checkTexts returns ErrText for a text that every store rejects.
func checkTexts(texts ...string) error {
	for _, text := range texts {
		if !clip.IsClean(text) {
			return fmt.Errorf("%w: %q", ErrText, clip.Text(text))
		}
	}
	return nil
}

func checkLabels(labels map[string]string) error {
	for name, value := range labels {
		if err := checkTexts(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) checkText() error {
	if err := checkTexts(s.ID, s.Owner.Tenant, s.Owner.Subject, s.AgentID, s.CurrentAgentID, string(s.State), s.Tip); err != nil {
		return err
	}
	return checkLabels(s.Labels)
}

func (s *Snapshot) checkText() error {
	return checkTexts(s.ID, s.SessionID, s.Owner.Tenant, s.Owner.Subject, s.ParentID, s.TurnID, s.AgentID, s.CurrentAgentID, s.FinishReason)
}

func (a *Artifact) checkText() error {
	return checkTexts(a.ID, a.SessionID, a.TurnID, a.Owner.Tenant, a.Owner.Subject, a.Name, a.MediaType)
}

func (i *Interaction) checkText() error {
	return checkTexts(i.ID, i.TurnID, i.SessionID, i.Owner.Tenant, i.Owner.Subject, string(i.State), i.Action, i.AnsweredBy)
}

// CheckText returns ErrText for a session that every store rejects.
func (n *NewSession) CheckText() error {
	errs := []error{n.Session.checkText(), checkTexts(n.Key.Value)}
	for i := range n.Base {
		errs = append(errs, n.Base[i].Snapshot.checkText())
	}
	for _, a := range n.Artifacts {
		errs = append(errs, a.checkText())
	}
	return firstError(errs)
}

// CheckText returns ErrText for a change that every store rejects.
func (p *SessionPatch) CheckText() error {
	var errs []error
	if p.Labels != nil {
		errs = append(errs, checkLabels(*p.Labels))
	}
	if p.AgentID != nil {
		errs = append(errs, checkTexts(*p.AgentID))
	}
	if p.Tip != nil {
		errs = append(errs, checkTexts(*p.Tip))
	}
	if p.State != nil {
		errs = append(errs, checkTexts(string(*p.State)))
	}
	return firstError(errs)
}

// CheckText returns ErrText for a turn that every store rejects.
func (n *NewTurn) CheckText() error {
	t := &n.Turn
	return checkTexts(n.Key.Value, t.ID, t.SessionID, t.Owner.Tenant, t.Owner.Subject, t.AgentID, t.SnapshotID, t.ParentSnapshotID)
}

// CheckText returns ErrText for an end that every store rejects.
func (e *EndTurn) CheckText() error {
	if err := checkAgents(e.Agents); err != nil {
		return err
	}
	return checkTexts(append([]string{string(e.Event.Type), string(e.Status)}, e.Event.Path...)...)
}

// CheckText returns ErrText for a commit that every store rejects.
func (c *Commit) CheckText() error {
	if err := c.checkText(); err != nil {
		return fmt.Errorf("commit to turn %s: %w", c.TurnID, err)
	}
	return nil
}

func (c *Commit) checkText() error {
	for i := range c.Events {
		if err := checkTexts(string(c.Events[i].Type)); err != nil {
			return err
		}
		if err := checkTexts(c.Events[i].Path...); err != nil {
			return err
		}
	}
	for i := range c.Journal {
		if err := checkTexts(c.Journal[i].Key); err != nil {
			return err
		}
	}
	for _, a := range c.Artifacts {
		if err := a.checkText(); err != nil {
			return err
		}
	}
	for _, i := range c.Asked {
		if err := i.checkText(); err != nil {
			return err
		}
	}
	if c.Suspend != nil {
		if err := checkTexts(c.Suspend.Open...); err != nil {
			return err
		}
	}
	if c.Finish == nil {
		return nil
	}
	if err := checkAgents(c.Finish.Agents); err != nil {
		return err
	}
	if err := checkTexts(string(c.Finish.Status)); err != nil || c.Finish.Snapshot == nil {
		return err
	}
	return c.Finish.Snapshot.checkText()
}

func checkAgents(agents event.AgentUsages) error {
	for i := range agents {
		if err := checkTexts(agents[i].Agent, agents[i].ModelID, agents[i].Currency()); err != nil {
			return err
		}
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

// firstError returns the first non-nil error.
func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
