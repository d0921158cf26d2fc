package a2abackend

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// conclude ends the step of a task that has settled, and says how the turn ends.
func (d *delegation) conclude() (event.Termination, error) {
	text := d.assembly.text()
	if d.interrupted {
		d.assembly.finish(text)
		d.course.Left, d.course.Deadline = max(time.Until(d.course.Deadline), time.Second), time.Time{}
		d.endStep()
		d.ask()
		d.response = d.tickets[0].Message
		return event.Termination{Type: event.Suspended}, nil
	}
	said := messageText(d.status.Message)
	if text == "" && (d.replied || d.course.State == a2a.TaskStateCompleted) {
		text = said
		if text == "" {
			text = d.closing
		}
	}
	if len(text) > d.peer.options.maxOutputBytes {
		return event.Termination{}, d.bounded(&outputError{d.peer.options.maxOutputBytes})
	}
	d.response = text + d.keepFiles(text)
	d.assembly.finish(d.response)
	d.endStep()
	switch {
	case d.replied, d.course.State == a2a.TaskStateCompleted:
		return event.Termination{Type: event.NaturalEnd}, nil
	case d.course.State == a2a.TaskStateCanceled:
		detail := "the peer canceled the task"
		if said != "" {
			detail += ": " + d.peer.shown(said, maxShown)
		}
		return event.Termination{Type: event.Cancelled, Detail: detail}, nil
	case d.course.State == a2a.TaskStateRejected:
		return event.Termination{}, d.fail(CodeRemoteRejected, said, nil)
	default:
		return event.Termination{}, d.fail(CodeRemoteFailed, said, nil)
	}
}

// silent reports whether the task has no artifact that is known. A peer may have
// kept them for the task itself.
func (d *delegation) silent() bool { return d.assembly.text() == "" && len(d.assembly.files()) == 0 }

// keepFiles keeps the images and files of the task as artifacts of the session,
// and returns what the answer says of them.
func (d *delegation) keepFiles(text string) string {
	var notes strings.Builder
	for i, part := range d.assembly.files() {
		if text != "" || i > 0 {
			notes.WriteByte('\n')
		}
		notes.WriteString(d.keepFile(i+1, part.Blob))
	}
	if notes.Len() > 0 {
		d.host.FlushSession()
	}
	return notes.String()
}

// keepFile keeps one file. Its name is one that no other turn's has: a peer must
// not be able to replace what others keep.
func (d *delegation) keepFile(number int, blob *model.Blob) string {
	name := cleanText(path.Base(strings.ReplaceAll(blob.Name, "\\", "/")), 200)
	if blob.Name == "" {
		name = "file"
	}
	media := cleanText(blob.MediaType, 100)
	if blob.URI != "" {
		return fmt.Sprintf("[%s (%s) is at %s]", name, media, cleanText(blob.URI, 2000))
	}
	id := d.messageID() + "/f" + strconv.Itoa(number)
	_, err := d.host.Session().KeepArtifact(tools.Artifact{ID: id, Name: id + "/" + name, MediaType: media, Data: blob.Data})
	if err != nil {
		return fmt.Sprintf("[%s (%s, %d bytes) is lost: %v]", name, media, len(blob.Data), err)
	}
	return fmt.Sprintf("[%s (%s, %d bytes) is kept as artifact %s]", name, media, len(blob.Data), id)
}

// permitted reports why the peer must not be called: turns would be nested too
// deep, or nothing is left of the budgets.
func (d *delegation) permitted() error {
	if d.job.MaxDepth > 0 && d.depth() > d.job.MaxDepth {
		return d.fail(CodeDepth, fmt.Sprintf("turns may be nested %d deep", d.job.MaxDepth), nil)
	}
	if err := d.job.Meter.Exceeded(); err != nil {
		return err
	}
	left := d.job.Meter.Left()
	switch {
	case left == nil:
		return nil
	case left.MaxTokens != nil && *left.MaxTokens <= 0:
		return usedUp(backend.BudgetTokens, d.job.Meter.Spent().Tokens)
	case left.MaxModelCalls != nil && *left.MaxModelCalls <= 0:
		return usedUp(backend.BudgetModelCalls, d.job.Meter.Spent().ModelCalls)
	}
	return nil
}

// depth is how many turns led to the task: as many as led to this turn, whose
// work it does. A turn that nobody delegated leads to it itself, so that runtimes
// which send turns to each other come to an end.
func (d *delegation) depth() int { return max(d.job.Depth, 1) }

// usedUp returns the error of a budget of which nothing is left.
func usedUp(budget string, used int) error {
	return &backend.BudgetError{Budget: budget, Limit: float64(used), Used: float64(used)}
}

// grant tells the peer what the turn may still use, and until when.
func (d *delegation) grant(ctx context.Context, m *a2a.Message) {
	g := &a2awire.Grant{Depth: d.depth(), Deadline: d.course.Deadline}
	if deadline, ok := ctx.Deadline(); ok {
		g.Deadline = deadline
	}
	if left := d.job.Meter.Left(); left != nil {
		g.MaxTokens, g.MaxModelCalls, g.MaxToolCalls = left.MaxTokens, left.MaxModelCalls, left.MaxToolCalls
		if left.MaxCost != nil {
			g.MaxCost, g.Currency = new(max(*left.MaxCost, 0)), cmp.Or(left.Currency, spec.DefaultCurrency)
		}
		if left.MaxDuration != nil {
			if end := time.Now().Add(left.MaxDuration.Std()); end.Before(g.Deadline) {
				g.Deadline = end
			}
		}
	}
	a2awire.SetGrant(m, g)
	m.Extensions = append(m.Extensions, a2awire.Extension)
}

// report adds what the peer says that the task has used. It tells what the whole
// task used so far, so only what was not told before counts. What cannot be read
// counts for nothing.
func (d *delegation) report(metadata map[string]any) {
	if !d.grants {
		return
	}
	r, err := a2awire.ReportOf(metadata)
	if r == nil || err != nil {
		return
	}
	before := &d.course.Reported
	used := model.Usage(larger(r.Usage, before.Usage))
	used.Sub(model.Usage(before.Usage))
	d.stats.Usage.Add(used)
	d.stats.Steps += max(r.Steps-before.Steps, 0)
	cost := 0.0
	if r.Cost != nil && (d.stats.Currency == "" || d.stats.Currency == r.Cost.Currency) {
		cost = r.Cost.Amount
		if before.Cost != nil {
			cost = max(cost-before.Cost.Amount, 0)
		}
		d.stats.Cost += cost
		d.stats.Currency = r.Cost.Currency
	}
	d.job.Meter.Spend(used, cost)
	before.Usage, before.Steps = larger(r.Usage, before.Usage), max(r.Steps, before.Steps)
	if r.Cost != nil && (before.Cost == nil || r.Cost.Amount > before.Cost.Amount) {
		before.Cost = r.Cost
	}
}

// larger returns the larger count of each kind.
func larger(a, b event.Usage) event.Usage {
	return event.Usage{
		Input: max(a.Input, b.Input), Output: max(a.Output, b.Output), CacheRead: max(a.CacheRead, b.CacheRead),
		CacheWrite: max(a.CacheWrite, b.CacheWrite), Reasoning: max(a.Reasoning, b.Reasoning),
	}
}
