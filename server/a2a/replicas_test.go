package a2a_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/agentruntime/agentruntime/internal/a2awire"
)

// storyClient returns a client of the storyteller at a replica.
func storyClient(t *testing.T, url string) *a2aclient.Client {
	t.Helper()
	client, err := a2aclient.NewFromEndpoints(t.Context(), []*a2a.AgentInterface{
		a2a.NewAgentInterface(url+"/a2a/storyteller", a2a.TransportProtocolJSONRPC),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Destroy() })
	return client
}

// listener is what a client knows of a task from its stream.
type listener struct {
	task a2a.TaskID
	// states are those that the task was in, each once in a row.
	states []a2a.TaskState
	text   string
	events int
}

// hear reads an event and reports what is wrong with it.
func (l *listener) hear(ev a2a.Event) error {
	l.events++
	info := ev.(a2a.TaskInfoProvider).TaskInfo()
	switch {
	case l.task == "":
		l.task = info.TaskID
	case l.task != info.TaskID:
		return errors.New("an event of another task came")
	}
	if len(l.states) > 0 && l.states[len(l.states)-1].Terminal() {
		return errors.New("an event came behind the last")
	}
	switch ev := ev.(type) {
	case *a2a.Task:
		if l.events > 1 {
			return errors.New("the task came again in the middle")
		}
		l.enter(ev.Status.State)
		l.text = textOfTask(ev)
	case *a2a.TaskStatusUpdateEvent:
		l.enter(ev.Status.State)
	case *a2a.TaskArtifactUpdateEvent:
		if !ev.Append {
			l.text = ""
		}
		l.text += a2awire.Text(ev.Artifact.Parts)
	}
	if l.events == 1 && len(l.states) == 0 {
		return errors.New("the stream does not begin with the task")
	}
	return nil
}

func (l *listener) enter(s a2a.TaskState) {
	if len(l.states) == 0 || l.states[len(l.states)-1] != s {
		l.states = append(l.states, s)
	}
}

func textOfTask(t *a2a.Task) string {
	text := ""
	for _, a := range t.Artifacts {
		text += a2awire.Text(a.Parts)
	}
	return text
}

// subscribe follows a task to its end. Each event is told, too.
func subscribe(ctx context.Context, client *a2aclient.Client, task a2a.TaskID, told func(*listener)) (*listener, error) {
	l := new(listener)
	for ev, err := range client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task}) {
		if err != nil {
			return l, err
		}
		if err := l.hear(ev); err != nil {
			return l, err
		}
		told(l)
	}
	return l, nil
}

// tell asks for a story, and returns the task once it is worked on.
func tell(t *testing.T, client *a2aclient.Client) a2a.TaskID {
	t.Helper()
	l := new(listener)
	for ev, err := range client.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{
		Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Tell me a story.")),
	}) {
		if err == nil {
			err = l.hear(ev)
		}
		if err != nil {
			t.Fatal(err)
		}
		if l.states[len(l.states)-1] == a2a.TaskStateWorking {
			return l.task
		}
	}
	t.Fatalf("nobody works on the task; it went through %v", l.states)
	return ""
}

// works makes a replica work on turns.
func works(t *testing.T, r *replica) {
	t.Helper()
	if err := r.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestATaskThatWasBegunOnOneReplicaIsFollowedOnAnotherWhenTheFirstIsKilled(t *testing.T) {
	t.Parallel()
	dsn := newDatabase(t)
	url, kill := launchReplica(t, dsn)
	survivor := joinReplica(t, dsn)
	task := tell(t, storyClient(t, url))
	works(t, survivor)
	second := storyClient(t, survivor.url)
	heard := ""
	l, err := subscribe(t.Context(), second, task, func(l *listener) {
		if heard == "" && l.text != "" {
			heard = l.text
			kill()
		}
	})
	if err != nil {
		t.Fatalf("after %d events: %v", l.events, err)
	}
	if heard == "" || heard == story() {
		t.Errorf("the first replica was killed after %q", heard)
	}
	if last := l.states[len(l.states)-1]; last != a2a.TaskStateCompleted {
		t.Errorf("the task went through %v", l.states)
	}
	if l.text != story() {
		t.Errorf("the subscriber heard %q", l.text)
	}
	whole, err := second.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task})
	if err != nil || textOfTask(whole) != story() {
		t.Errorf("the task is %+v, %v", whole, err)
	}
}

func TestATaskIsCanceledThroughAnotherReplica(t *testing.T) {
	t.Parallel()
	dsn := newDatabase(t)
	url, _ := launchReplica(t, dsn)
	other := joinReplica(t, dsn)
	first, second := storyClient(t, url), storyClient(t, other.url)
	task := tell(t, first)
	works(t, other)
	type end struct {
		*listener
		err error
	}
	atFirst := make(chan end, 1)
	go func() {
		l, err := subscribe(t.Context(), first, task, func(*listener) {})
		atFirst <- end{l, err}
	}()
	canceled := false
	l, err := subscribe(t.Context(), second, task, func(l *listener) {
		if canceled || l.text == "" {
			return
		}
		canceled = true
		got, err := second.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task})
		if err != nil || got.Status.State != a2a.TaskStateCanceled {
			t.Errorf("the canceled task is %+v, %v", got, err)
		}
	})
	for where, e := range map[string]end{"second": {l, err}, "first": <-atFirst} {
		if e.err != nil {
			t.Errorf("the stream of the %s replica: %v", where, e.err)
			continue
		}
		if !slices.Contains(e.states, a2a.TaskStateCanceled) || e.text == story() {
			t.Errorf("the %s replica shows %v and %q", where, e.states, e.text)
		}
	}
	for where, client := range map[string]*a2aclient.Client{"first": first, "second": second} {
		got, err := client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task})
		if err != nil || got.Status.State != a2a.TaskStateCanceled {
			t.Errorf("the %s replica has %+v, %v", where, got, err)
		}
		if again, err := client.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task}); err != nil || again.Status.State != a2a.TaskStateCanceled {
			t.Errorf("the %s replica answers %+v, %v when it is canceled again", where, again, err)
		}
	}
}
