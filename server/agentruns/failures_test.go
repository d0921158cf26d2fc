package agentruns

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/failuretest"
	"github.com/agentruntime/agentruntime/server"
	"go.uber.org/zap"
)

// ownStatus are the statuses that clients of the protocol know for a class, where
// they are not those of the server.
var ownStatus = map[server.Class]int{
	server.ClassNoAgent:     http.StatusForbidden,
	server.ClassKeyConflict: http.StatusUnprocessableEntity,
	server.ClassExists:      http.StatusBadRequest,
	server.ClassBusy:        http.StatusBadRequest,
	server.ClassLimit:       http.StatusBadRequest,
	server.ClassWorkspace:   http.StatusBadRequest, // runs ask for none
}

func TestEveryErrorIsAnsweredByItsClass(t *testing.T) {
	t.Parallel()
	for _, tt := range failuretest.All() {
		w := httptest.NewRecorder()
		c := &call{Surface: &Surface{settings: Settings{Logger: zap.NewNop()}}, w: w, r: httptest.NewRequest(http.MethodGet, "/", http.NoBody)}
		c.writeError(tt.Err)
		f := server.Classify(t.Context(), tt.Err)
		if w.Code != cmp.Or(ownStatus[f.Class], f.Status) || (w.Header().Get("Retry-After") != "") != f.Retry || strings.Contains(w.Body.String(), failuretest.Secret) {
			t.Errorf("%s gives %d %v %s", tt.Name, w.Code, w.Header(), w.Body)
		}
		w = httptest.NewRecorder()
		c.w = w
		rpc := c.rpcErrorOf(tt.Err)
		if (rpc.Code == rpcInternal) != (f.Status >= http.StatusInternalServerError) || (w.Header().Get("Retry-After") != "") != f.Retry || strings.Contains(rpc.Message, failuretest.Secret) {
			t.Errorf("%s is %+v in JSON-RPC, with %v", tt.Name, rpc, w.Header())
		}
	}
}
