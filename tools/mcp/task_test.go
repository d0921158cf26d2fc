package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// offersTasks is a handshake with tasks, and slowTool a tool that runs as a task only.
	offersTasks = `initialize {"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"scripted","version":"1"}}`
	slowTool    = `tools/list {"tools":[{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`
	startedTask = `tools/call {"task":{"taskId":"t1","status":"working","ttl":null,"pollInterval":1}}`
)

func TestToolsThatRequireATaskRunAsOne(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, strings.Join([]string{
		offersTasks, slowTool, startedTask, `tasks/get {"taskId":"t1","status":"completed","ttl":null}`, `tasks/result {"content":[{"type":"text","text":"slowly done"},{"type":"odd"}]}`,
	}, "\n")))
	if got := succeed(t, s, "slow", `{}`); !strings.HasPrefix(got, "slowly done") {
		t.Errorf("the task says %q", got)
	}
}

func TestToolsThatRequireATaskAreLeftOutWithoutTasks(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, slowTool))
	members, found := s.Members()
	if len(members) != 0 || codes(found) != "warning[no-effect]" || !strings.Contains(found[0].Message, "the server does not offer tasks") {
		t.Errorf("the tools are %v: %v", members, found)
	}
}

func TestTasksThatFail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ script, want string }{
		"no tasks":          {startedTask, "It may or may not have taken effect"},
		"no task ID":        {`tools/call {"task":{"status":"working"}}`, "without a valid taskId"},
		"an unknown status": {startedTask + "\n" + `tasks/get {"taskId":"t1","status":"odd"}`, `the status "odd"`},
		"canceled":          {startedTask + "\n" + `tasks/get {"taskId":"t1","status":"cancelled","statusMessage":"no time"}`, "canceled the task: no time"},
		"of the extension":  {`tools/call {"resultType":"task","taskId":"t1","status":"working"}`, "It may or may not have taken effect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ready(t, local(t, offersTasks+"\n"+slowTool+"\n"+test.script))
			fails(t, s, "slow", test.want)
		})
	}
}

func TestACanceledCallCancelsItsTask(t *testing.T) {
	t.Parallel()
	asked := new(atomic.Int32)
	s, cancels := readyWithTasks(t, func(*remoteTask) { asked.Add(1) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan tools.Result, 1)
	go func() {
		ended <- entries(t, s)["mcp__fake__hold"].Execute(ctx, &tools.Call{ID: "call_1", Arguments: json.RawMessage(`{}`), Host: new(host)})
	}()
	soon(t, "the client asks for the task", func() bool { return asked.Load() > 1 })
	cancel()
	if r := <-ended; !r.IsError {
		t.Errorf("the canceled call says %+v", r)
	}
	soon(t, "the task is canceled", func() bool { return cancels.Load() == 1 })
}

func TestATaskAsksQuestions(t *testing.T) {
	t.Parallel()
	s, _ := readyWithTasks(t, func(task *remoteTask) {
		if task.Status == "working" {
			task.Status, task.InputRequests = "input_required", mcp.InputRequestMap{"seats": &mcp.ElicitParams{Mode: "form", Message: "How many?", RequestedSchema: json.RawMessage(seatForm)}}
		}
	})
	wait := asked(t, s, "hold")
	if q := wait.Questions[0]; !strings.Contains(q.Message, "How many?") {
		t.Errorf("the question is %+v", q)
	}
	// The answer may reach the server from another process.
	if got := answered(t, s, "hold", wait, `{"seats":2}`); got != `accept {"seats":2}` {
		t.Errorf("the task says %q", got)
	}
}

func TestATaskSurvivesItsConnection(t *testing.T) {
	t.Parallel()
	asked := new(atomic.Int32)
	var live atomic.Pointer[server]
	s, _ := readyWithTasks(t, func(task *remoteTask) {
		switch asked.Add(1) {
		case 1:
			go func() { // the connection breaks while the task works
				session, _, err := live.Load().link.openSession(context.Background())
				if err == nil {
					session.client.Close()
				}
			}()
		case 2, 3:
		default:
			task.Status, task.Result = "completed", textResult("survived")
		}
	})
	live.Store(s)
	if got := succeed(t, s, "hold", `{}`); got != "survived" {
		t.Errorf("the task says %q", got)
	}
}

// TestATaskSurvivesItsProcess continues a call in another process, which has the stored state of
// the call alone. The call has no question, or one that was answered before the process died.
func TestATaskSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asks bool
		want string
	}{"a task": {false, "survived"}, "an answered question": {true, `accept {"seats":2}`}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mayEnd, isAnswered atomic.Bool
			s, cancels := readyWithTasks(t, func(task *remoteTask) {
				switch {
				case test.asks && !isAnswered.Load():
					task.Status, task.InputRequests = "input_required", mcp.InputRequestMap{"seats": &mcp.ElicitParams{Mode: "form", Message: "How many?", RequestedSchema: json.RawMessage(seatForm)}}
				case !mayEnd.Load():
					task.Status = "working"
				case !test.asks:
					task.Status, task.Result = "completed", textResult("survived")
				}
			})
			var resumed *tools.Resumed
			if test.asks {
				wait := asked(t, s, "hold")
				isAnswered.Store(true)
				resumed = &tools.Resumed{State: wait.State, Answers: []interaction.Answer{{Target: wait.Questions[0].ID, Action: interaction.Resume, Result: json.RawMessage(`{"seats":2}`)}}}
			}
			h := new(host)
			ctx, die := context.WithCancelCause(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				entries(t, s)["mcp__fake__hold"].Execute(ctx, &tools.Call{ID: "call_1", Arguments: json.RawMessage(`{}`), Host: h, Resumed: resumed})
			}()
			soon(t, "the task is stored", func() bool { return len(h.stored()) > 0 })
			die(tools.ErrReleased)
			<-ended
			mayEnd.Store(true)
			if r := callAs(t, s, new(host), "hold", `{}`, &tools.Resumed{State: h.stored()}); model.PartsText(r.Content) != test.want {
				t.Errorf("the call says %q", model.PartsText(r.Content))
			}
			if n := cancels.Load(); n > 0 {
				t.Errorf("the task was canceled %d times", n)
			}
		})
	}
}

// readyWithTasks returns a server without sessions whose tool hold becomes a task. Change may
// change the task before it is returned; the counter counts cancellations.
func readyWithTasks(t *testing.T, change func(*remoteTask)) (*server, *atomic.Int32) {
	t.Helper()
	fake, calls, cancels, answer := newFake(), new(atomic.Int32), new(atomic.Int32), new(atomic.Pointer[mcp.ElicitResult])
	plainTool(fake, "hold", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return textResult("not a task"), nil
	})
	type described struct {
		mcp.ResultBase
		ResultType     string              `json:"resultType"`
		TaskID         string              `json:"taskId"`
		Status         string              `json:"status"`
		PollIntervalMs int                 `json:"pollIntervalMs"`
		Result         *mcp.CallToolResult `json:"result,omitempty"`
		InputRequests  mcp.InputRequestMap `json:"inputRequests,omitempty"`
	}
	fake.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if call, ok := r.(*mcp.CallToolRequest); ok && call.Params.Name == "hold" {
				if call.ClientCapabilities().Extensions[tasksExtension] == nil {
					t.Error("the client does not declare tasks")
				}
				if calls.Add(1) > 1 {
					t.Error("the tool is called again")
				}
				return &described{ResultType: "task", TaskID: "t1", Status: "working"}, nil
			}
			if strings.HasPrefix(method, "tasks/") && r.GetExtra().Header.Get("Mcp-Name") != "t1" {
				t.Errorf("%s has the header %q", method, r.GetExtra().Header.Get("Mcp-Name"))
			}
			return next(ctx, method, r)
		}
	})
	handle := func(method string, answerTask func(*taskParams) *described) {
		err := mcp.AddReceivingCustomMethod(fake, method, func(_ context.Context, _ *mcp.ServerSession, p *taskParams) (*described, error) {
			return answerTask(p), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	handle(getTask, func(*taskParams) *described {
		task := &remoteTask{Status: "working"}
		if a := answer.Load(); a != nil {
			content, _ := json.Marshal(a.Content)
			task.Status, task.Result = "completed", textResult(a.Action+" "+string(content))
		}
		change(task)
		return &described{ResultType: "complete", TaskID: "t1", Status: task.Status, PollIntervalMs: 100, Result: task.Result, InputRequests: task.InputRequests}
	})
	handle(updateTask, func(p *taskParams) *described {
		a, _ := p.InputResponses["seats"].(*mcp.ElicitResult)
		answer.Store(a)
		return &described{ResultType: "complete"}
	})
	handle(cancelTask, func(*taskParams) *described {
		cancels.Add(1)
		return &described{ResultType: "complete"}
	})
	return ready(t, servedModern(t, fake)), cancels
}

func TestPollIntervalsAreBounded(t *testing.T) {
	t.Parallel()
	for ms, want := range map[float64]time.Duration{0: defaultPoll, -5: defaultPoll, 1: minPoll, 2500: 2500 * time.Millisecond, 1e300: maxPoll} {
		if got := (&remoteTask{PollIntervalMs: ms}).pollDelay(); got != want {
			t.Errorf("%v ms are %s and should be %s", ms, got, want)
		}
	}
}
