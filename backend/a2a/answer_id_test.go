package a2abackend

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// answersOf are the answers of a peer to one request, in JSON-RPC: whether each may
// be believed, and what its error is otherwise.
var answersOf = map[string]struct {
	answer string
	// wrong is set for what is refused, and foreign for what is refused by its id.
	wrong, foreign bool
}{
	"the id":                      {answer: `{"jsonrpc":"2.0","id":"` + sameID + `","result":RESULT}`},
	"the id, after the result":    {answer: `{"result":RESULT,"jsonrpc":"2.0","id":"` + sameID + `"}`},
	"another id":                  {answer: `{"jsonrpc":"2.0","id":"another","result":RESULT}`, wrong: true, foreign: true},
	"another id of an error":      {answer: `{"jsonrpc":"2.0","id":"another","error":{"code":-32001,"message":"x"}}`, wrong: true, foreign: true},
	"another id, then more":       {answer: `{"jsonrpc":"2.0","id":"another","result":RESULT} {}`, wrong: true, foreign: true},
	"two ids, the last another":   {answer: `{"jsonrpc":"2.0","id":"` + sameID + `","id":"another","result":RESULT}`, wrong: true, foreign: true},
	"no id":                       {answer: `{"jsonrpc":"2.0","result":RESULT}`, wrong: true, foreign: true},
	"the id null":                 {answer: `{"jsonrpc":"2.0","id":null,"result":RESULT}`, wrong: true, foreign: true},
	"the id null, and no error":   {answer: `{"jsonrpc":"2.0","id":null,"error":null,"result":RESULT}`, wrong: true, foreign: true},
	"an id that is a number":      {answer: `{"jsonrpc":"2.0","id":1,"result":RESULT}`, wrong: true, foreign: true},
	"an id that is an object":     {answer: `{"jsonrpc":"2.0","id":{"id":"` + sameID + `"},"result":RESULT}`, wrong: true, foreign: true},
	"an id that is a list":        {answer: `{"jsonrpc":"2.0","id":["` + sameID + `"],"result":RESULT}`, wrong: true, foreign: true},
	"a batch":                     {answer: `[{"jsonrpc":"2.0","id":"` + sameID + `","result":RESULT}]`, wrong: true},
	"an error without an id":      {answer: `{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`, wrong: true},
	"an error with the id null":   {answer: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, wrong: true},
	"an error with the same id":   {answer: `{"jsonrpc":"2.0","id":"` + sameID + `","error":{"code":-32700,"message":"x"}}`, wrong: true},
	"an answer that is cut short": {answer: `{"jsonrpc":"2.0","id":"` + sameID + `","result":`, wrong: true},
}

func TestAnAnswerHasTheIDOfItsRequest(t *testing.T) {
	t.Parallel()
	for name, tt := range answersOf {
		h := newHost(t)
		h.answer(nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", typeJSON)
			_, _ = io.WriteString(w, strings.ReplaceAll(tt.answer, "RESULT", `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}`))
		})
		p := reach(t, h.endpoint(""))
		err := getTask(t, p)
		if tt.wrong != (err != nil) || tt.foreign != errors.Is(err, errForeignAnswer) {
			t.Errorf("%s: error is %v", name, err)
		}
		if tt.foreign && judge(err) != (judgement{passing, CodeProtocol}) {
			t.Errorf("%s: it is judged %+v", name, judge(err))
		}
	}
}

func TestEveryEventHasTheIDOfItsRequest(t *testing.T) {
	t.Parallel()
	const result = `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`
	for name, tt := range answersOf {
		for _, kind := range []string{typeEvents, typeJSON} {
			good := strings.ReplaceAll(answersOf["the id"].answer, "RESULT", result)
			answer := strings.ReplaceAll(tt.answer, "RESULT", result)
			h := newHost(t)
			h.answer(nil, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				if kind == typeJSON { // in place of a stream
					_, _ = io.WriteString(w, answer)
					return
				}
				_, _ = fmt.Fprintf(w, "data: %s\n\n: ping\n\ndata: %s\n\ndata: %s\n\n", good, answer, good)
			})
			got, err := stream(t, reach(t, h.endpoint("")))
			want := map[string]int{typeEvents: 3, typeJSON: 1}[kind]
			if tt.wrong {
				want = map[string]int{typeEvents: 1, typeJSON: 0}[kind]
			}
			if strings.Contains(name, "then more") && kind == typeJSON {
				if err == nil || len(got) != 0 { // no JSON
					t.Errorf("%s in place of a stream: %d events, %v", name, len(got), err)
				}
				continue
			}
			if len(got) != want || tt.wrong != (err != nil) || tt.foreign != errors.Is(err, errForeignAnswer) {
				t.Errorf("%s as %s: %d events, %v", name, kind, len(got), err)
			}
		}
	}
}

// What a stream has is passed on as it is, whatever pieces it comes in.
func TestAStreamOfAnswersIsPassedOnAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", ": ping\n\n", "data: {\"id\":\"1\"}\n\n", "data: {\"id\":\r\ndata:\"1\"}\r\n\r\nid: 7\n\n", "data: {\"id\":\"1\"}", "event: x\ndata: no JSON\n\n: a\n",
	} {
		for _, body := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
			got, err := io.ReadAll(newAnswerStream(io.NopCloser(body), "1"))
			if err != nil || string(got) != text {
				t.Errorf("%q: %q, %v", text, got, err)
			}
		}
	}
	broken := io.MultiReader(strings.NewReader("data: {\"id\":\"1\"}\n\ndata: {"), iotest.ErrReader(io.ErrUnexpectedEOF))
	got, err := io.ReadAll(newAnswerStream(io.NopCloser(broken), "1"))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(string(got), "data: {\"id\":\"1\"}\n\n") {
		t.Errorf("a stream that breaks: %q, %v", got, err)
	}
}

// A turn fails at a peer that answers other requests, and takes nothing from it.
func TestATurnTakesNothingFromTheAnswerToAnotherRequest(t *testing.T) {
	t.Parallel()
	other := func(w http.ResponseWriter, _ *request) {
		w.Header().Set("Content-Type", typeJSON)
		_, _ = io.WriteString(w, strings.ReplaceAll(envelope("result", a2a.StreamResponse{Event: task(completed, "of somebody else")}), sameID, "another"))
	}
	r := newRig(t, map[string][]reply{methodStream: {other}, methodSend: {other}})
	res, err := r.run(t.Context())
	if got := termination(res, err); got.Code != CodeProtocol || res != nil && res.Response != "" {
		t.Errorf("it ends by %+v, %+v", got, res)
	}
}
