package plugins_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
)

func TestAccessIsReadAsItIsWritten(t *testing.T) {
	for _, want := range []plugins.Access{plugins.AccessAllow, plugins.AccessDepends, plugins.AccessAsk, plugins.AccessDeny} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := plugins.AccessAllow
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Errorf("%s is read as %s: %v", data, got, err)
		}
	}
	var a plugins.Access
	if err := json.Unmarshal([]byte(`"maybe"`), &a); err == nil {
		t.Error("an unknown access is read")
	}
}
