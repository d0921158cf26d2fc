package openai

import (
	"embed"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
)

//go:embed testdata/package.json testdata/package-lock.json testdata/sdk.mjs
var manifests embed.FS

func TestTheJavaScriptSDK(t *testing.T) {
	t.Parallel()
	program, err := manifests.ReadFile("testdata/sdk.mjs")
	if err != nil {
		t.Fatal(err)
	}
	nodeenv.Install(t, manifests).Run(t, program, serving(t).URL)
}
