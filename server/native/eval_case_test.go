package native

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
)

func TestAnEndedTurnBecomesAnEvalCase(t *testing.T) {
	w := serving(t)
	alice := w.client("alice")
	turn := begin(t, alice, "boss", "hello")
	followed(t, alice, turn.ID, 0)
	for id, want := range map[string]string{"": "turn-" + turn.ID, "greeting": "greeting"} {
		made, err := alice.ReadEvalCase(t.Context(), turn.ID, id)
		if err != nil {
			t.Fatal(err)
		}
		suite, found := evals.Parse("cases.yaml", []byte(made.Cases))
		if len(found) > 0 || made.ID != want || len(suite.Cases) != 1 || suite.Cases[0].ID != want || suite.Cases[0].Turns[0].Prompt != "hello" {
			t.Errorf("got %+v, %v", made, found)
		}
	}
	if _, err := w.client("bob").ReadEvalCase(t.Context(), turn.ID, ""); !errors.As(err, new(*service.NotFoundError)) {
		t.Errorf("bob gets %v", err)
	}
	waiting := begin(t, alice, "clerk", "pay")
	until(t, alice, waiting.ID, store.Waiting)
	for _, c := range []struct{ turn, id, problem string }{{waiting.ID, "", "only turns that have ended"}, {turn.ID, "../x", "cannot be the ID of a case"}} {
		_, err := alice.ReadEvalCase(t.Context(), c.turn, c.id)
		if unfit, ok := errors.AsType[*service.InvalidError](err); !ok || !strings.Contains(unfit.Problem, c.problem) {
			t.Errorf("%q: %v", c.problem, err)
		}
	}
}
