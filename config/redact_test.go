package config_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
)

// TestASecretIsRedactedHoweverItIsWritten hides a secret with characters that formats escape.
func TestASecretIsRedactedHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"plain-s3cret", `a"b\s3cret`, "<w&d>s3cret", "line\ns3cret", "s3cret \u2028 ünï", "tab\ts3cret\x01"} {
		text := "version: 1\nserver: {keys: [{id: ci, key: \"${KEY}\"}]}\n"
		f, _ := config.Parse([]config.Source{{Name: "c", Data: []byte(text)}}, options(map[string]string{"KEY": secret}))
		once, err := json.Marshal("the key " + secret)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := json.Marshal(string(once))
		if err != nil {
			t.Fatal(err)
		}
		for _, written := range []string{secret, fmt.Sprintf("%q", secret), string(once), string(twice), url.QueryEscape(secret), url.PathEscape(secret)} {
			if shown := f.Redact("x " + written + " y"); strings.Contains(shown, "s3cret") {
				t.Errorf("%q is shown as %s", secret, shown)
			}
		}
	}
}
