package question

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/google/go-cmp/cmp"
)

// Only a terminal on standard input, or --approve, provides an answerer; the prompt and the answers
// cannot both come from standard input.
func TestWhoAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		approve       string
		promptRead    bool
		answers, fail bool
	}{
		{approve: ApproveAuto},
		{approve: ApproveAuto, promptRead: true},
		{approve: ApproveAsk, answers: true},
		{approve: ApproveAsk, promptRead: true, fail: true},
		{approve: ApproveYes, promptRead: true, answers: true},
		{approve: ApproveNo, answers: true},
	} {
		a, err := NewAnswerer(terminal.Streams{In: strings.NewReader("")}, tt.approve, tt.promptRead, plain)
		if (a != nil) != tt.answers || (err != nil) != tt.fail {
			t.Errorf("%+v: %v, %v", tt, a, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	permission := &interaction.Request{ID: "t", Action: permissionAction, Message: "May it?", Tool: "pay", Arguments: []byte(`{"key":"s3cret"}`),
		ResponseSchema: []byte(`{"properties":{"scope":{"enum":["once","session"]}}}`)}
	onceOnly := *permission
	onceOnly.ResponseSchema = []byte(`{"properties":{"scope":{"enum":["once"]}}}`)
	other := &interaction.Request{ID: "t", Action: "tool:Ask", Tool: "ask", Arguments: []byte("{}\u202e\x1b[2J")}
	preset := &interaction.Request{ID: "t", Action: "tool:Ask", Message: "When?", ResponseSchema: []byte(`{"type":"string","default":"today"}`)}
	resume := func(result string) interaction.Answer {
		return interaction.Answer{Target: "t", Action: interaction.Resume, Result: json.RawMessage(result)}
	}
	cancel := func(reason string) interaction.Answer {
		return interaction.Answer{Target: "t", Action: interaction.Cancel, Reason: reason}
	}
	for name, tt := range map[string]struct {
		approve string
		ticket  *interaction.Request
		typed   string
		want    interaction.Answer
		shown   string
	}{
		"yes":                        {ApproveYes, permission, "", resume(`{"approved":true,"scope":"once"}`), "? May it? (pay {\"key\":\"***\"})\n  yes\n"},
		"yes is no answer to others": {ApproveYes, other, "", cancel("--approve yes was given"), "? tool:Ask (ask {}\\u202e\\u001b[2J)\n  no\n"},
		"no":                         {ApproveNo, permission, "", cancel("--approve no was given"), "? May it? (pay {\"key\":\"***\"})\n  no\n"},
		"once": {
			ApproveAsk, permission, " Yes \n", resume(`{"approved":true,"scope":"once"}`),
			"? May it? (pay {\"key\":\"***\"})\n  [y] once, [s] for the session, [?] explains, anything else refuses:  Yes \n",
		},
		"for the session": {
			ApproveAsk, permission, "s\n", resume(`{"approved":true,"scope":"session"}`),
			"? May it? (pay {\"key\":\"***\"})\n  [y] once, [s] for the session, [?] explains, anything else refuses: s\n",
		},
		"anything else": {
			ApproveAsk, permission, "yo\n", resume(`{"approved":false}`),
			"? May it? (pay {\"key\":\"***\"})\n  [y] once, [s] for the session, [?] explains, anything else refuses: yo\n",
		},
		"nothing": {
			ApproveAsk, permission, "", resume(`{"approved":false}`),
			"? May it? (pay {\"key\":\"***\"})\n  [y] once, [s] for the session, [?] explains, anything else refuses: \n",
		},
		"only once": {
			ApproveAsk, &onceOnly, "y\n", resume(`{"approved":true,"scope":"once"}`),
			"? May it? (pay {\"key\":\"***\"})\n  [y] once, [?] explains, anything else refuses: y\n",
		},
		"nobody":                   {ApproveAsk, other, "", cancel("nobody answered"), "? tool:Ask (ask {}\\u202e\\u001b[2J)\n  your answer, as JSON or text: \n"},
		"text":                     {ApproveAsk, other, "on \"Monday\"\n", resume(`"on \"Monday\""`), "? tool:Ask (ask {}\\u202e\\u001b[2J)\n  your answer, as JSON or text: on \"Monday\"\n"},
		"the default":              {ApproveAsk, preset, " \n", resume(`"today"`), "? When?\n  your answer, as JSON or text, or Enter for \"today\":  \n"},
		"another than the default": {ApproveAsk, preset, "later\n", resume(`"later"`), "? When?\n  your answer, as JSON or text, or Enter for \"today\": later\n"},
		"nobody, though a default": {ApproveAsk, preset, "", cancel("nobody answered"), "? When?\n  your answer, as JSON or text, or Enter for \"today\": \n"},
		"JSON":                     {ApproveAsk, other, "{\"day\": 1}\n", resume(`{"day": 1}`), "? tool:Ask (ask {}\\u202e\\u001b[2J)\n  your answer, as JSON or text: {\"day\": 1}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shown bytes.Buffer
			a, err := NewAnswerer(terminal.Streams{In: strings.NewReader(tt.typed), Err: &shown}, tt.approve, false,
				func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") })
			if err != nil {
				t.Fatal(err)
			}
			got, ok := a.answer(t.Context(), nil, tt.ticket)
			if diff := cmp.Diff(tt.want, got); diff != "" || !ok {
				t.Errorf("the answer (%v, -want +got):\n%s", ok, diff)
			}
			if shown.String() != tt.shown {
				t.Errorf("shown is %q, want %q", shown.String(), tt.shown)
			}
		})
	}
}

// A turn that has ended or was canceled no longer needs an answer.
func TestAQuestionIsGivenUpWithItsTurn(t *testing.T) {
	t.Parallel()
	in, typed := io.Pipe()
	t.Cleanup(func() { _ = typed.Close() })
	over := make(chan struct{})
	close(over)
	a, err := NewAnswerer(terminal.Streams{In: in, Err: &bytes.Buffer{}}, ApproveAsk, false, plain)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := a.answer(t.Context(), over, &interaction.Request{ID: "t", Action: permissionAction}); ok {
		t.Errorf("the answer is %+v", got)
	}
}

// plain is the redact function for texts without secrets.
func plain(text string) string { return text }
