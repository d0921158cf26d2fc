package native

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/failuretest"
	"github.com/agentruntime/agentruntime/server"
)

func TestEveryErrorIsAnsweredByItsClass(t *testing.T) {
	t.Parallel()
	for _, tt := range failuretest.All() {
		w := refused(t, tt.Err)
		f := server.Classify(t.Context(), tt.Err)
		if w.Code != f.Status || (w.Header().Get("Retry-After") != "") != f.Retry || strings.Contains(w.Body.String(), failuretest.Secret) || !strings.Contains(w.Body.String(), `"code":"`+f.Code+`"`) {
			t.Errorf("%s gives %d %v %s", tt.Name, w.Code, w.Header(), w.Body)
		}
	}
}
