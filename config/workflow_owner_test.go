package config_test

import (
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/config"
)

func TestAWorkflowWithoutOwnerBelongsToTheCallersOfAServerWithoutCredentials(t *testing.T) {
	t.Parallel()
	const flow = "version: 1\ntools: {t: {type: command, description: X., command: [cat]}}\nworkflows: {w: {%s steps: [{id: a, tool: {name: t}}]}}\n"
	keys := "server: {keys: [{id: k, hash: \"" + keyHash + "\"}]}\n"
	for _, tt := range []struct {
		owner, server string
		keyed         bool
		want          string
	}{
		{"", "", false, "local/local"},
		{"", "server: {listen: 127.0.0.1:0}\n", false, "local/local"},
		{"", keys, false, "default/workflow"},
		{"", "", true, "default/workflow"},
		{"tenant: acme,", "", false, "acme/workflow"},
		{"subject: ann,", "", false, "default/ann"},
	} {
		opts := options(nil)
		opts.Keyed = tt.keyed
		file, _ := config.Parse([]config.Source{{Name: "f", Data: []byte(fmt.Sprintf(flow, tt.owner) + tt.server)}}, opts)
		if len(file.Workflows) != 1 {
			t.Fatalf("%d workflows", len(file.Workflows))
		}
		if tenant, subject := file.Workflows[0].Owner(); tenant+"/"+subject != tt.want {
			t.Errorf("%+v: the owner is %s/%s", tt, tenant, subject)
		}
	}
}
