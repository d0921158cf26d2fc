package a2a

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestFieldsOfAMessageThatCannotBeHonoredAreRejectedByName(t *testing.T) {
	t.Parallel()
	for _, accepted := range [][]string{nil, {"text"}, {"image/png", "Text/Plain; charset=utf-8"}, {"*/*"}, {"application/json"}} {
		if err := checkOutputModes(accepted); err != nil {
			t.Errorf("%q: %v", accepted, err)
		}
	}
	if err := checkOutputModes([]string{"image/png"}); !errors.Is(err, a2a.ErrUnsupportedContentType) || !strings.Contains(err.Error(), "acceptedOutputModes") {
		t.Errorf("a client that accepts images only is told %v", err)
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))
	m.ReferenceTasks = []a2a.TaskID{"t"}
	if err := checkMessage(m, "ROLE_USER"); err == nil || !strings.Contains(err.Error(), "referenceTaskIds") {
		t.Errorf("a message that refers to tasks is told %v", err)
	}
}
