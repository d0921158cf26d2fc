package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// audit compares a store's content with the readers' events, the tools' actions and the turns'
// plans.
type audit struct {
	t     testing.TB
	store store.Store
	load  *workload
	// calls are the marks by turn and call.
	calls map[string]map[string]*trace

	// What was counted.
	turns, succeeded, canceled, events, seen, takenOver, indeterminate, repeated int
	delegates, delegated                                                         int
}

// trace is the witness's record of a call.
type trace struct {
	effect       tools.Effect
	begins, ends int
	keys         map[string]bool
}

// check fails the test on any violation.
func check(ctx context.Context, t testing.TB, kept store.Store, load *workload, marks []mark) *audit {
	t.Helper()
	a := &audit{t: t, store: kept, load: load, calls: make(map[string]map[string]*trace)}
	a.trace(marks)
	for session, turns := range load.sessions {
		a.session(ctx, session, turns)
	}
	return a
}

// trace sorts the marks and checks the tools' actions, independent of their turns.
func (a *audit) trace(marks []mark) {
	owners := make(map[string]string) // of keys
	begun := make(map[string]int)     // plans' calls that must not be repeated
	for _, m := range marks {
		calls := a.calls[m.Turn]
		if calls == nil {
			calls = make(map[string]*trace)
			a.calls[m.Turn] = calls
		}
		c := calls[m.Call]
		if c == nil {
			c = &trace{effect: m.Effect, keys: make(map[string]bool)}
			calls[m.Call] = c
		}
		c.keys[m.Key] = true
		switch m.What {
		case begins:
			c.begins++
			if begun[m.Plan+" "+m.Call]++; m.Effect == tools.Once && begun[m.Plan+" "+m.Call] > 1 {
				a.t.Errorf("call %s of plan %s must not be repeated, and was made again in turn %s", m.Call, m.Plan, m.Turn)
			}
		case ends:
			c.ends++
		}
		who := m.Turn + "/" + m.Call
		if owner, ok := owners[m.Key]; ok && owner != who {
			a.t.Errorf("calls %s and %s have the same key %s", owner, who, m.Key)
		}
		owners[m.Key] = who
	}
	for turn, calls := range a.calls {
		for id, c := range calls {
			if c.begins > 1 {
				a.repeated++
			}
			if c.effect == tools.Once && c.begins > 1 {
				a.t.Errorf("call %s of turn %s must not be repeated, and was made %d times", id, turn, c.begins)
			}
			if len(c.keys) > 1 {
				a.t.Errorf("call %s of turn %s (%s) had several keys: %v", id, turn, c.effect, c.keys)
			}
		}
	}
}

// session checks the turns of a session and its snapshot chain.
func (a *audit) session(ctx context.Context, id string, turns []string) {
	kept, err := a.store.Session(ctx, store.Everything, id)
	if err != nil {
		a.t.Errorf("session %s: %v", id, err)
		return
	}
	tip, snapshots := "", 0
	var conversation [][]byte
	for _, turnID := range turns {
		turn, err := a.store.Turn(ctx, store.Everything, turnID)
		if err != nil {
			a.t.Errorf("turn %s: %v", turnID, err)
			continue
		}
		a.turn(ctx, turn)
		snapshot, err := a.store.Snapshot(ctx, store.Everything, turn.SnapshotID)
		if turn.Status != store.Succeeded {
			if err == nil {
				a.t.Errorf("turn %s is %s, and left snapshot %s", turnID, turn.Status, snapshot.ID)
			}
			continue
		}
		if err != nil {
			a.t.Errorf("the snapshot of turn %s: %v", turnID, err)
			continue
		}
		if snapshot.ParentID != tip || snapshot.TurnID != turnID {
			a.t.Errorf("the snapshot of turn %s goes on from %q and not from %q: %+v", turnID, snapshot.ParentID, tip, snapshot)
		}
		tip, snapshots = snapshot.ID, snapshots+1
		own, err := a.store.OwnMessages(ctx, turnID)
		if err != nil {
			a.t.Errorf("the messages of turn %s: %v", turnID, err)
		}
		a.messages(turn, own)
		conversation = append(conversation, own...)
	}
	if kept.Tip != tip {
		a.t.Errorf("the tip of session %s is %q and not %q", id, kept.Tip, tip)
	}
	a.chain(ctx, id, tip, snapshots, conversation)
}

// chain checks a session's number of snapshots and its conversation.
func (a *audit) chain(ctx context.Context, session, tip string, snapshots int, conversation [][]byte) {
	page, err := a.store.Snapshots(ctx, store.SnapshotQuery{Scope: store.Everything, SessionID: session, Page: store.Page{Limit: store.MaxPage}})
	if err != nil || len(page.Snapshots) != snapshots {
		a.t.Errorf("session %s has %d snapshots and not %d, %v", session, len(page.Snapshots), snapshots, err)
	}
	if tip == "" {
		return
	}
	kept, err := a.store.Conversation(ctx, tip)
	if err != nil || len(kept) != len(conversation) {
		a.t.Errorf("the conversation of session %s has %d messages and not %d, %v", session, len(kept), len(conversation), err)
		return
	}
	for i := range kept {
		if !bytes.Equal(kept[i], conversation[i]) {
			a.t.Errorf("message %d of session %s is\n%s\nand not\n%s", i, session, kept[i], conversation[i])
		}
	}
}

// turn checks a turn's end and its events.
func (a *audit) turn(ctx context.Context, turn *store.Turn) {
	known := a.load.turns[turn.ID]
	a.turns++
	switch {
	case turn.Status == store.Succeeded && known.ended != store.Canceled:
		a.succeeded++
	case turn.Status == store.Canceled && known.canceled:
		a.canceled++
	default:
		a.t.Errorf("turn %s is %s (asked to be canceled: %t, answered: %s): %s", turn.ID, turn.Status, known.canceled, known.ended, turn.Result)
	}
	records, err := a.log(ctx, turn.ID)
	if err != nil {
		a.t.Errorf("the events of turn %s: %v", turn.ID, err)
	}
	if turn.Seq != uint64(len(records)) {
		a.t.Errorf("turn %s has %d events, and its seq is %d", turn.ID, len(records), turn.Seq)
	}
	runs := 0
	for i := range records {
		r := &records[i]
		if r.Seq != uint64(i+1) {
			a.t.Errorf("event %d of turn %s has seq %d", i+1, turn.ID, r.Seq)
		}
		if r.Terminal() != (i == len(records)-1) {
			a.t.Errorf("event %d of the %d of turn %s is a %s", i+1, len(records), turn.ID, r.Type)
		}
		if r.Type == event.TypeRunStart && len(r.Path) == 0 {
			runs++
		}
	}
	a.readers(known, records)
	a.takenOver += max(0, runs-1)
	a.auditDelegates(turn, records)
	a.outcomes(turn, records)
	a.finish(turn, records)
}

// finish checks that the terminal event agrees with the turn.
func (a *audit) finish(turn *store.Turn, records []event.Record) {
	if len(records) == 0 {
		return
	}
	var last event.RunFinish
	if err := json.Unmarshal(records[len(records)-1].Data, &last); err != nil || string(last.Status) != string(turn.Status) {
		a.t.Errorf("turn %s is %s, and its last event says %s, %v", turn.ID, turn.Status, last.Status, err)
	}
}

// log returns all events of a turn.
func (a *audit) log(ctx context.Context, turnID string) (all []event.Record, err error) {
	for after := uint64(0); ; {
		records, err := a.store.Events(ctx, turnID, after, 1000)
		if err != nil || len(records) == 0 {
			return all, err
		}
		all = append(all, records...)
		after = all[len(all)-1].Seq
	}
}

// readers checks that the readers' events match the stored events.
func (a *audit) readers(known *watched, records []event.Record) {
	a.events += len(records)
	for seq, s := range known.seen {
		a.seen++
		if seq > uint64(len(records)) {
			a.t.Errorf("event %d of turn %s was seen and is lost: %s", seq, s.Turn, s.Data)
			continue
		}
		if is, err := sight(&records[seq-1]); err != nil || !bytes.Equal(is.Data, s.Data) {
			a.t.Errorf("event %d of turn %s was seen as\n%s\nand is\n%s\n%v", seq, s.Turn, s.Data, is.Data, err)
		}
	}
}

// outcomes checks the outcomes of a turn's calls in its events: calls that must not be repeated
// have exactly one outcome.
func (a *audit) outcomes(turn *store.Turn, records []event.Record) {
	done := make(map[string]event.ToolCallDone)
	for i := range records {
		if records[i].Type != event.TypeToolCallDone || len(records[i].Path) > 0 {
			continue
		}
		var d event.ToolCallDone
		if err := json.Unmarshal(records[i].Data, &d); err != nil {
			a.t.Errorf("event %d of turn %s: %v", records[i].Seq, turn.ID, err)
		}
		before, again := done[d.ID]
		if once(d.Name) && again && before.Outcome != event.CallSuspended && (before.Outcome != d.Outcome || before.Result.Text() != d.Result.Text()) {
			a.t.Errorf("call %s of turn %s %s: %q, and then %s: %q", d.ID, turn.ID, before.Outcome, before.Result.Text(), d.Outcome, d.Result.Text())
		}
		done[d.ID] = d
		c := a.calls[turn.ID][d.ID]
		if d.Outcome == event.CallSucceeded && d.Name != delegate && (c == nil || c.ends == 0) {
			a.t.Errorf("call %s of turn %s succeeded, and was not made", d.ID, turn.ID)
		}
		if d.Outcome == event.CallIndeterminate && !once(d.Name) {
			a.t.Errorf("call %s of turn %s is of tool %s and indeterminate", d.ID, turn.ID, d.Name)
		}
	}
	for _, d := range done {
		if d.Outcome == event.CallIndeterminate {
			a.indeterminate++
		}
	}
	if turn.Status == store.Succeeded {
		a.complete(turn, done)
	}
}

// complete checks that each call of a plan has an outcome.
func (a *audit) complete(turn *store.Turn, done map[string]event.ToolCallDone) {
	p := a.load.turns[turn.ID].plan
	for step, calls := range p.Steps {
		for i := range calls {
			d, ok := done[callID(step, i)]
			if !ok || d.Outcome == event.CallSuspended {
				a.t.Errorf("call %s of turn %s has no outcome: %+v", callID(step, i), turn.ID, d)
			}
		}
	}
}

func once(tool string) bool {
	return tool == pay || tool == sign || tool == delegate || tool == subdelegate
}

// messages checks that a turn has the messages of its plan, with one result for
// each call.
func (a *audit) messages(turn *store.Turn, own [][]byte) {
	p := &a.load.turns[turn.ID].plan
	list := make([]model.Message, len(own))
	for i, data := range own {
		if err := json.Unmarshal(data, &list[i]); err != nil {
			a.t.Errorf("message %d of turn %s: %v", i, turn.ID, err)
		}
	}
	if want := 2 + 2*len(p.Steps); len(list) != want {
		a.t.Errorf("turn %s has %d messages and not %d: %s", turn.ID, len(list), want, bytes.Join(own, []byte("\n")))
		return
	}
	if list[0].Role != model.RoleUser || list[0].Text() != p.text() {
		a.t.Errorf("turn %s begins with %s", turn.ID, own[0])
	}
	for step := range len(p.Steps) + 1 {
		said := &list[1+2*step]
		if said.Role != model.RoleAssistant || said.Text() != p.says(step) {
			a.t.Errorf("step %d of turn %s is %s", step, turn.ID, own[1+2*step])
		}
		if step == len(p.Steps) {
			continue
		}
		calls, results := said.ToolCalls(), list[2+2*step].Parts
		if len(calls) != len(p.Steps[step]) || len(results) != len(calls) || list[2+2*step].Role != model.RoleTool {
			a.t.Errorf("step %d of turn %s has the calls %+v and the results %s", step, turn.ID, calls, own[2+2*step])
			continue
		}
		for i := range calls {
			a.result(turn, step, i, p.Steps[step][i], results[i].ToolResult)
		}
	}
}

// result checks the result of a call against the tool's actions.
func (a *audit) result(turn *store.Turn, step, i int, tool string, r *model.ToolResult) {
	id := callID(step, i)
	c := a.calls[turn.ID][id]
	if c == nil {
		c = new(trace)
	}
	problem := ""
	switch {
	case r == nil || r.CallID != id || r.Name != tool:
		problem = "is not of the call"
	case !r.IsError && tool != delegate && (c.ends == 0 || !c.keys[keyIn(r, tool)]):
		problem = "is of a call that was not made"
	case r.IsError && !once(tool):
		problem = "is an error, though the call can be repeated"
	}
	if tool == sign && a.load.turns[turn.ID].refused && (c.begins > 0 || r == nil || !r.IsError) {
		problem = "is of a call that was refused"
	}
	if problem != "" {
		a.t.Errorf("the result of call %s (%s) of turn %s %s: %+v, %+v", id, tool, turn.ID, problem, r, c)
	}
}

// keyIn returns the key in a result's text.
func keyIn(r *model.ToolResult, tool string) string {
	return model.PartsText(r.Content)[len(did(tool, "")):]
}

// String is the report.
func (a *audit) String() string {
	return fmt.Sprintf("%d turns (%d succeeded, %d canceled), %d events (%d seen by readers), %d runs taken up again, %d calls repeated, %d calls indeterminate, %d delegates with %d events",
		a.turns, a.succeeded, a.canceled, a.events, a.seen, a.takenOver, a.repeated, a.indeterminate, a.delegates, a.delegated)
}
