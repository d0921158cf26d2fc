package agents

import (
	_ "embed"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/genkitjs"
)

//go:embed testdata/client.mjs
var clientProgram []byte

func TestTheVendorsJavaScriptClientIsServed(t *testing.T) {
	t.Parallel()
	client := genkitjs.Install(t)
	client.Run(t, clientProgram, serving(t).url, "alice")
}
