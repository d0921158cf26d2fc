package aisdk

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/surfacetest"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// everyPart has a value for each field of a part.
const everyPart = `{"type":"tool-t","text":"a","state":"output-error","mediaType":"b","url":"c","filename":"d","toolName":"e","toolCallId":"f","input":{"g":1},
	"output":{"h":1},"errorText":"i","providerExecuted":true,"approval":{"id":"j","approved":true,"reason":"k"}}`

func TestMessageIsTheLastOfMessages(t *testing.T) {
	t.Parallel()
	message := `{"id":"m","role":"assistant","parts":[` + everyPart + `]}`
	var read [2]chatRequest
	for i, body := range []string{`{"id":"c","message":` + message + `}`, `{"id":"c","messages":[` + message + `]}`} {
		if err := server.DecodeJSON([]byte(body), &read[i], true); err != nil {
			t.Fatal(err)
		}
		if err := read[i].check(); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(read[0].Messages, read[1].Messages) {
		t.Errorf("%+v and %+v", read[0].Messages, read[1].Messages)
	}
	for _, v := range []reflect.Value{reflect.ValueOf(read[0].Messages[0].Parts[0]), reflect.ValueOf(*read[0].Messages[0].Parts[0].Approval)} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("the test has no value for %s", v.Type().Field(i).Name)
			}
		}
	}
}

// waitingTurn lets a turn of the chat c wait for an approval, and returns the ID of the turn.
func waitingTurn(t *testing.T, w *surfacetest.World) string {
	t.Helper()
	w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("pay"), ""), http.StatusOK)
	list, err := w.Service.ListTurns(t.Context(), service.Operator(), service.TurnQuery{})
	if err != nil || len(list.Turns) != 1 || list.Turns[0].Status != service.Waiting {
		t.Fatalf("%v: %+v", err, list)
	}
	return list.Turns[0].ID
}

func TestApprovalsAreReadByField(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		approval, want string
		status, paid   int
	}{
		"approved":     {`{"id":"{turn}/perm_c0_0","approved":true}`, "pay done", http.StatusOK, 1},
		"refused":      {`{"id":"{turn}/perm_c0_0","approved":false,"reason":"too much"}`, "too much", http.StatusOK, 0},
		"undecided":    {`{"id":"{turn}/perm_c0_0"}`, "has no answer", http.StatusBadRequest, 0},
		"another id":   {`{"id":"{turn}/perm_c9_9","approved":true}`, "has no answer", http.StatusBadRequest, 0},
		"without one":  {`null`, "has no answer", http.StatusBadRequest, 0},
		"given twice":  {`{"id":"{turn}/perm_c0_0","approved":false}},{"type":"tool-pay","toolCallId":"{turn}/c0_0","approval":{"id":"{turn}/perm_c0_0","approved":true}`, "twice", http.StatusBadRequest, 0},
		"a wrong type": {`{"id":"{turn}/perm_c0_0","approved":"true"}`, "approved", http.StatusBadRequest, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serve(t)
			turn := waitingTurn(t, w)
			answered := strings.ReplaceAll(`{"id":"{turn}","role":"assistant","parts":[{"type":"tool-pay","state":"approval-responded","toolCallId":"{turn}/c0_0","approval":`+tt.approval+`}]}`, "{turn}", turn)
			got := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("pay")+","+answered, ""), tt.status)
			if !strings.Contains(string(got), tt.want) || w.Pay.Count() != tt.paid {
				t.Errorf("%d calls: %s", w.Pay.Count(), got)
			}
		})
	}
}

func TestAnEditedMessageIsAnsweredAgain(t *testing.T) {
	t.Parallel()
	w := serve(t)
	first := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("look"), ""), http.StatusOK)
	again := w.Ask("alice", "POST /aisdk/clerk", chatBody("c", said("look"), `,"messageId":"ul"`), http.StatusOK)
	if string(first) == string(again) || w.Look.Count() != 2 {
		t.Errorf("%d calls: %s", w.Look.Count(), again)
	}
}

func TestVariablesFillThePrompt(t *testing.T) {
	t.Parallel()
	w := serve(t)
	for variables, want := range map[string]string{``: "Be kind.", `,"variables":{"tone":"zeta","other":1}`: "Be zeta."} {
		body := chatBody("c"+want, strings.Replace(said("x"), `"text":"x"`, `"text":"who are you"`, 1), variables)
		if got := w.Ask("alice", "POST /aisdk/boss", body, http.StatusOK); !strings.Contains(string(got), want) {
			t.Errorf("%s: %s", variables, got)
		}
	}
}

func TestWrongValuesAreNoInternalErrors(t *testing.T) {
	t.Parallel()
	w := serve(t)
	turn := waitingTurn(t, w)
	w.SendWrongValues("POST /aisdk/boss", `{"id":"c{n}","messages":[`+
		`{"id":"a","role":"user","parts":[{"type":"text","text":"hi"},{"type":"file","mediaType":"image/png","filename":"f","url":"data:image/png;base64,aGk="}]},`+
		`{"id":"b","role":"assistant","parts":[`+strings.ReplaceAll(everyPart, "\n", "")+`]},{"id":"u{n}","role":"user","parts":[{"type":"text","text":"hi"}]}],`+
		`"trigger":"submit-message","messageId":null,"tools":[{"name":"t","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}],"variables":{"tone":"x"}}`)
	answer := map[string]any{"id": turn, "role": "assistant", "parts": []any{map[string]any{
		"type": "tool-pay", "state": "approval-responded", "toolCallId": turn + "/c0_0", "approval": map[string]any{"id": turn + "/perm_c0_0", "reason": "r"},
	}}}
	body, err := json.Marshal(map[string]any{"id": "c", "messages": []any{answer}})
	if err != nil {
		t.Fatal(err)
	}
	w.SendWrongValues("POST /aisdk/clerk", string(body))
	if w.Pay.Count() > 0 {
		t.Error("a wrong value approves a call")
	}
}
