package a2a_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestTasksAreListedPageByPage(t *testing.T) {
	w := open(t)
	var made []a2a.TaskID
	for i := range 7 {
		made = append(made, send(t, w.alice(), request(user(fmt.Sprint("hello ", i)))).ID)
	}
	send(t, w.client("alice", "other", a2a.TransportProtocolJSONRPC), request(user("hello")))
	slices.Reverse(made)
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		var got []a2a.TaskID
		req := &a2a.ListTasksRequest{PageSize: 3}
		for {
			page, err := c.ListTasks(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if page.TotalSize != 7 || page.PageSize != 3 || len(page.Tasks) > 3 {
				t.Errorf("%s: a page has %d tasks of %d", over, len(page.Tasks), page.TotalSize)
			}
			for _, task := range page.Tasks {
				if len(task.Artifacts) != 0 || len(task.History) != 0 {
					t.Errorf("%s: a task has %d artifacts and %d messages", over, len(task.Artifacts), len(task.History))
				}
				got = append(got, task.ID)
			}
			if req.PageToken = page.NextPageToken; req.PageToken == "" {
				break
			}
		}
		if !slices.Equal(got, made) {
			t.Errorf("%s: the tasks are %v, not %v", over, got, made)
		}
	}
}

func TestAListShowsWhatItIsAskedFor(t *testing.T) {
	w := open(t)
	w.model.teach("ask", asks("1", "who?"))
	w.model.teach("slow", reply{chunks: []string{"never", ""}, hold: make(chan struct{})})
	c := w.alice()
	done, asking, slow := send(t, c, request(user("hello"))), send(t, c, request(user("ask"))), send(t, c, atOnce(user("slow")))
	reach(t, c, slow.ID, a2a.TaskStateWorking)
	two, past, future := 2, done.Status.Timestamp.Add(-time.Hour), time.Now().Add(time.Hour)
	for name, l := range map[string]struct {
		req  a2a.ListTasksRequest
		want []a2a.TaskID
	}{
		"by context":         {a2a.ListTasksRequest{ContextID: asking.ContextID}, []a2a.TaskID{asking.ID}},
		"those that ended":   {a2a.ListTasksRequest{Status: a2a.TaskStateCompleted}, []a2a.TaskID{done.ID}},
		"those that ask":     {a2a.ListTasksRequest{Status: a2a.TaskStateInputRequired}, []a2a.TaskID{asking.ID}},
		"those that work":    {a2a.ListTasksRequest{Status: a2a.TaskStateWorking}, []a2a.TaskID{slow.ID}},
		"those that failed":  {a2a.ListTasksRequest{Status: a2a.TaskStateFailed}, nil},
		"after the past":     {a2a.ListTasksRequest{StatusTimestampAfter: &past}, []a2a.TaskID{slow.ID, asking.ID, done.ID}},
		"after the future":   {a2a.ListTasksRequest{StatusTimestampAfter: &future}, nil},
		"with all they have": {a2a.ListTasksRequest{IncludeArtifacts: true, HistoryLength: &two, Status: a2a.TaskStateCompleted}, []a2a.TaskID{done.ID}},
	} {
		for _, over := range transports {
			if over == a2a.TransportProtocolGRPC && l.req.StatusTimestampAfter != nil && l.req.StatusTimestampAfter.After(time.Now()) {
				continue
			}
			list, err := w.client("alice", "clerk", over).ListTasks(t.Context(), &l.req)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, over, err)
			}
			var got []a2a.TaskID
			for _, task := range list.Tasks {
				got = append(got, task.ID)
				if l.req.IncludeArtifacts && (answerOf(task) == "" || len(task.History) != 1) {
					t.Errorf("%s, %s: the task is %+v", name, over, task)
				}
			}
			if !slices.Equal(got, l.want) {
				t.Errorf("%s, %s: the tasks are %v, not %v", name, over, got, l.want)
			}
		}
	}
	for name, req := range map[string]a2a.ListTasksRequest{
		"a page that is too large": {PageSize: 101}, "less than a page": {PageSize: -1}, "a token that is none": {PageToken: "x"},
		"a state that is none": {Status: "TASK_STATE_DREAMING"},
	} {
		if _, err := c.ListTasks(t.Context(), &req); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}
