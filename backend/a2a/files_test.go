package a2a

import (
	"errors"
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

func TestFilesAreKeptAndNamed(t *testing.T) {
	t.Parallel()
	named := a2a.NewRawPart([]byte("%PDF-"))
	named.Filename, named.MediaType = `..\..\etc/re"port.pdf`, "application/pdf"
	parts := a2a.ContentParts{
		a2a.NewTextPart("Here it is."), named, nil, a2a.NewRawPart([]byte{1, 2}),
		a2a.NewFileURLPart("https://example.com/plan.png", "image/png"), a2a.NewFileURLPart("file:///etc/passwd", "text/plain"),
	}
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(&a2a.Task{
		ID: peertest.TaskID, ContextID: peertest.ContextID, Status: a2a.TaskStatus{State: peertest.Completed}, Artifacts: []*a2a.Artifact{{ID: "a", Parts: parts[:2]}, nil, {ID: "b", Parts: parts[3:]}},
	})}})
	res, err := r.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := "Here it is.\n" +
		"[re\"port.pdf (application/pdf, 5 bytes) is kept as artifact turn-1/m1/f1]\n" +
		"[file (application/octet-stream, 2 bytes) is kept as artifact turn-1/m1/f2]\n" +
		"[file (image/png) is at https://example.com/plan.png]"
	if diff := cmp.Diff(want, res.Response); diff != "" {
		t.Error(diff)
	}
	var kept []string
	for _, a := range r.host.kept {
		kept = append(kept, fmt.Sprintf("%s %s %s %q", a.ID, a.Name, a.MediaType, a.Data))
	}
	if diff := cmp.Diff([]string{
		`turn-1/m1/f1 turn-1/m1/f1/re"port.pdf application/pdf "%PDF-"`, `turn-1/m1/f2 turn-1/m1/f2/file application/octet-stream "\x01\x02"`,
	}, kept); diff != "" {
		t.Error(diff)
	}
	checkTurn(t, r, res, err)

	r = newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(&a2a.Message{ID: "m", Role: a2a.MessageRoleAgent, Parts: parts[3:4]})}})
	r.host.refuse = errors.New("no room")
	if res, err = r.run(t.Context()); err != nil || res.Response != "[file (application/octet-stream, 2 bytes) is lost: no room]" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestWhatATurnAnswers(t *testing.T) {
	t.Parallel()
	history := []*a2a.Message{peertest.Said("earlier"), {ID: "u", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("me")}}, peertest.Said("later"), nil}
	full := peertest.Task(peertest.Completed, "artifact")
	full.Status.Message, full.History = peertest.Said("status"), history
	for want, last := range map[string]*a2a.Task{
		"artifact": full,
		"status":   {ID: peertest.TaskID, ContextID: peertest.ContextID, Status: full.Status, History: history},
		"later":    {ID: peertest.TaskID, ContextID: peertest.ContextID, Status: a2a.TaskStatus{State: peertest.Completed}, History: history},
		"":         {ID: peertest.TaskID, ContextID: peertest.ContextID, Status: a2a.TaskStatus{State: peertest.Completed}},
	} {
		r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(peertest.Task(peertest.Working, ""), peertest.Turned(peertest.Completed, ""))}, peertest.MethodGet: {peertest.Result(last)}})
		if want == "status" {
			r = newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.StreamOf(last)}})
		}
		res, err := r.run(t.Context())
		if err != nil || res.Response != want && want != "artifact" || res.Termination.Type != event.NaturalEnd {
			t.Errorf("it answers %q, not %q, %v", res.Response, want, err)
		}
		if (len(res.Messages) == 0) != (want == "") {
			t.Errorf("the conversation gets %+v", res.Messages)
		}
		checkTurn(t, r, res, err)
	}
}
