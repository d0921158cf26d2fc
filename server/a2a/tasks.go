package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/service"
)

// view defines how much of a task is shown.
type view struct {
	// history is the number of latest messages to include; negative for all.
	history int
	// artifacts includes the task's artifacts, as long as there is room in bytes.
	artifacts bool
	room      *int
}

// maxInline limits the artifact content of one response, in bytes. A stream has no such limit.
const maxInline = 16 << 20

// fullView shows a task with its artifacts and the latest messages; nil for all.
func fullView(history *int) view {
	room := maxInline
	v := view{history: -1, artifacts: true, room: &room}
	if history != nil {
		v.history = *history
	}
	return v
}

// toTask returns a turn as a task.
func (c *call) toTask(ctx context.Context, turn *service.Turn, v view) (*a2a.Task, error) {
	info, err := c.infoOf(ctx, turn)
	if err != nil {
		return nil, err
	}
	t := &a2a.Task{ID: info.TaskID, ContextID: info.ContextID}
	var asked []*service.Interaction
	if v.history != 0 || turn.Status == service.Waiting {
		if asked, err = c.service.ListInteractions(ctx, c.caller, service.InteractionQuery{TurnID: turn.ID}); err != nil {
			return nil, err
		}
	}
	t.Status = statusOf(turn, info, asked)
	if o := turn.Outcome; o != nil && c.extended {
		a2awire.SetReport(t, &a2awire.Report{Usage: o.Usage, Cost: o.Cost, Steps: o.Steps})
	}
	if v.history != 0 {
		if t.History, err = c.listMessages(ctx, turn, info, asked, v.history); err != nil {
			return nil, err
		}
	}
	if v.artifacts {
		t.Artifacts, err = c.listArtifacts(ctx, turn, v.room)
	}
	return t, err
}

// statusOf returns the status of a task. asked are the interactions of a waiting turn.
func statusOf(turn *service.Turn, info a2a.TaskInfo, asked []*service.Interaction) a2a.TaskStatus {
	at := cmp.Or(turn.ChangedAt, turn.UpdatedAt, turn.CreatedAt)
	if turn.ChangedAt.IsZero() && !turn.FinishedAt.IsZero() {
		at = turn.FinishedAt
	}
	s := a2a.TaskStatus{State: stateOf(turn), Timestamp: &at}
	switch {
	case turn.Outcome != nil:
		s.State, s.Message = endState(&turn.Outcome.Termination), endMessage(info, &turn.Outcome.Termination)
	case turn.Status == service.Waiting:
		if open := pendingInteractions(asked); len(open) > 0 {
			s.State, s.Message = askState(&open[0].Request), askMessage(info, open[0])
		}
	}
	return s
}

// askState returns the state of a task that asks for something: a credential, or
// anything else.
func askState(t *interaction.Request) a2a.TaskState {
	action := strings.ToLower(t.Action)
	if strings.HasPrefix(action, "auth") || action == "a2a:auth_required" {
		return a2a.TaskStateAuthRequired
	}
	return a2a.TaskStateInputRequired
}

// maxAsked bounds each part of a question, in bytes as they are sent.
const maxAsked = 128 << 10

// askMessage is the question of a task: its text, and its data for programs. Oversized parts are
// truncated or omitted, as noted in the data.
func askMessage(info a2a.TaskInfo, i *service.Interaction) *a2a.Message {
	data := map[string]any{keyInteraction: i.ID, "tool": i.Request.Tool}
	for name, value := range map[string]json.RawMessage{
		"arguments": i.Request.Arguments, "parameters": i.Request.Parameters, "response_schema": i.Request.ResponseSchema,
	} {
		var decoded any
		if len(value) == 0 || json.Unmarshal(value, &decoded) != nil {
			continue
		}
		if wireSize(decoded) > maxAsked {
			data[keyTruncated] = true
			continue
		}
		data[name] = decoded
	}
	if i.Request.Action != "" {
		data["action"] = i.Request.Action
	}
	text := questionText(i)
	if n := textChunk(text, maxAsked); n < len(text) {
		text, data[keyTruncated] = text[:n]+"…", true
	}
	return agentSays(info, i.ID, a2a.NewTextPart(text), a2a.NewDataPart(data))
}

// agentSays is a message of the agent. Its id is always the same.
func agentSays(info a2a.TaskInfo, id string, parts ...*a2a.Part) *a2a.Message {
	return &a2a.Message{ID: string(info.TaskID) + "." + id, Role: a2a.MessageRoleAgent, TaskID: info.TaskID, ContextID: info.ContextID, Parts: parts}
}

// endMessage explains why a task did not succeed, without internal details; nil if it did. A task
// stopped by a limit is completed, because the turn succeeded, but the answer is not the agent's
// last word.
func endMessage(info a2a.TaskInfo, why *event.Termination) *a2a.Message {
	var text string
	switch {
	case why.CutShort():
		text = "the agent was stopped before it gave its answer: " + plainWord(why.Code)
	case why.Status() == event.StatusSucceeded:
		return nil
	case why.Type == event.Canceled:
		text = "the task was canceled"
	case why.Type == event.BudgetExceeded:
		text = "the task needed more than it may use: " + plainWord(why.Code)
	case why.Type == event.Blocked:
		text = "the agent lacks a permission that the task needs"
	case why.Code == service.CodeInteractionTimeout:
		text = "nobody answered in time"
	case why.Code == service.CodeUnresolved:
		text = "the agent cannot be run now"
	case plainWord(why.Code) != "":
		text = "the task failed: " + plainWord(why.Code)
	default:
		text = "the task failed"
	}
	return agentSays(info, "end", a2a.NewTextPart(text))
}

// plainWord returns a code if it is a plain word: an error class rather than free text.
func plainWord(code string) string {
	for _, r := range code {
		if r != '_' && (r < 'a' || r > 'z') {
			return ""
		}
	}
	return code
}

// listMessages returns the latest messages of a task: its input, questions and answers.
func (c *call) listMessages(ctx context.Context, turn *service.Turn, info a2a.TaskInfo, asked []*service.Interaction, limit int) ([]*a2a.Message, error) {
	input, err := c.service.TurnInput(ctx, c.caller, turn.ID)
	if err != nil {
		return nil, err
	}
	var list []*a2a.Message
	for i := range input {
		m := &input[i]
		list = append(list, &a2a.Message{
			ID: cmp.Or(m.ID, fmt.Sprintf("%s.input%d", turn.ID, i+1)), Role: a2a.MessageRoleUser,
			TaskID: info.TaskID, ContextID: info.ContextID, Parts: a2awire.Parts(m.Parts),
		})
	}
	for _, i := range asked {
		list = append(list, askMessage(info, i))
		if answer := answerMessage(info, i); answer != nil {
			list = append(list, answer)
		}
	}
	if limit >= 0 && len(list) > limit {
		list = list[len(list)-limit:]
	}
	return list, nil
}

// answerMessage is the answer to an interaction; nil if it has none.
func answerMessage(info a2a.TaskInfo, i *service.Interaction) *a2a.Message {
	var given interaction.Answer
	if i.State != service.InteractionAnswered || json.Unmarshal(i.Answer, &given) != nil {
		return nil
	}
	m := agentSays(info, i.ID+".answer", a2a.NewTextPart(cmp.Or(given.Reason, string(given.Action))))
	m.ID, m.Role = cmp.Or(given.ID, m.ID), a2a.MessageRoleUser
	var value any
	if len(given.Result) == 0 || json.Unmarshal(given.Result, &value) != nil {
		return m
	}
	m.Parts = []*a2a.Part{a2a.NewDataPart(value)}
	if text, ok := value.(string); ok {
		m.Parts = []*a2a.Part{a2a.NewTextPart(text)}
	}
	return m
}

// ListTasks returns a page of the caller's tasks of the agent, the most recently changed first.
// Where turns do not distinguish two task states, such as failed and rejected, a page may be
// incomplete, and the total counts both.
func (h *handler) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (_ *a2a.ListTasksResponse, err error) {
	defer h.server.guardMethod(ctx, "ListTasks", &err)
	c, err := h.admitRequest(ctx, req.Tenant)
	if err != nil {
		return nil, err
	}
	query, err := c.turnQuery(req)
	if err != nil {
		return nil, err
	}
	if req.ContextID != "" {
		session, err := c.newThreads().Find(ctx, req.ContextID)
		if err != nil {
			return nil, contextError(err)
		}
		if session != nil { // else the caller has none with the agent
			query.SessionID = session.ID
		}
	}
	page, err := c.service.ListTurns(ctx, c.caller, query)
	if err != nil {
		return nil, err
	}
	v := fullView(new(int))
	v.artifacts = req.IncludeArtifacts
	if req.HistoryLength != nil {
		v.history = *req.HistoryLength
	}
	out := &a2a.ListTasksResponse{Tasks: make([]*a2a.Task, 0, len(page.Turns)), TotalSize: page.Total, PageSize: query.Page.Limit, NextPageToken: page.Next}
	for _, turn := range page.Turns {
		t, err := c.toTask(ctx, turn, v)
		if err != nil {
			return nil, err
		}
		if req.Status == a2a.TaskStateUnspecified || t.Status.State == req.Status {
			out.Tasks = append(out.Tasks, t)
		}
	}
	return out, nil
}

// The page sizes of a list.
const (
	defaultPage = 50
	maxPage     = 100
)

// turnQuery returns the store query for a list of tasks.
func (c *call) turnQuery(req *a2a.ListTasksRequest) (service.TurnQuery, error) {
	q := service.TurnQuery{SessionID: req.ContextID, AgentID: c.agent, ByChange: true, Count: true, Page: service.Page{After: req.PageToken, Limit: cmp.Or(req.PageSize, defaultPage)}}
	if q.Page.Limit < 1 || q.Page.Limit > maxPage {
		return q, newInvalidParams("pageSize is %d; it must be from 1 to %d", req.PageSize, maxPage)
	}
	if err := checkHistory(req.HistoryLength); err != nil {
		return q, err
	}
	if req.StatusTimestampAfter != nil {
		q.ChangedAfter = req.StatusTimestampAfter.UTC().Truncate(time.Microsecond)
	}
	if req.Status == a2a.TaskStateUnspecified {
		return q, nil
	}
	statuses, ok := statusesOf[req.Status]
	if !ok {
		return q, newInvalidParams("unknown status %q", req.Status)
	}
	q.Statuses = statuses
	return q, nil
}

// statusesOf returns the turn statuses for a task state.
var statusesOf = map[a2a.TaskState][]service.Status{
	a2a.TaskStateSubmitted:     {service.Pending},
	a2a.TaskStateWorking:       {service.Running, service.Pending},
	a2a.TaskStateInputRequired: {service.Waiting},
	a2a.TaskStateAuthRequired:  {service.Waiting},
	a2a.TaskStateCompleted:     {service.Succeeded},
	a2a.TaskStateCanceled:      {service.Canceled},
	a2a.TaskStateFailed:        {service.Failed},
	a2a.TaskStateRejected:      {service.Failed},
}

// trimHistory drops the oldest messages of a task until it fits into one event, and
// returns its size.
func trimHistory(task *a2a.Task) int {
	for {
		size := wireSize(task)
		if size <= maxChunk || len(task.History) == 0 {
			return size
		}
		task.History = task.History[1:]
	}
}

// wireSize returns the size of a value's JSON, in bytes.
func wireSize(value any) int {
	data, err := json.Marshal(value)
	if err != nil {
		return 0
	}
	return len(data)
}
