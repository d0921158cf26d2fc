package connection_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/connection"
)

// fixed is a source with one connection.
type fixed map[string]string

func (f fixed) Resolve(context.Context, string) (*connection.Connection, error) {
	return &connection.Connection{Headers: f}, nil
}

func TestAConnectionHasTheHeadersOfItsHost(t *testing.T) {
	if _, err := connection.Resolve(t.Context(), "crm"); err == nil || !strings.Contains(err.Error(), `"crm"`) || !strings.Contains(err.Error(), "no host") {
		t.Errorf("without a host: %v", err)
	}
	for name, headers := range map[string]fixed{
		"a line break":        {"Authorization": "Bearer x\r\nHost: other"},
		"no name":             {"": "x"},
		"an invalid name":     {"a b": "x"},
		"the length":          {"content-length": "9"},
		"the host":            {"HOST": "other"},
		"the idempotency key": {"Idempotency-Key": "x"},
	} {
		_, err := connection.Resolve(connection.NewContext(t.Context(), headers), "crm")
		if _, ok := errors.AsType[*connection.Error](err); !ok || strings.Contains(err.Error(), "Bearer") {
			t.Errorf("%s: %v", name, err)
		}
	}
	found, err := connection.Resolve(connection.NewContext(t.Context(), fixed{"authorization": "Bearer of-the-host"}), "crm")
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Authorization": {"Bearer mine"}}
	if found.SetHeaders(header); header.Get("Authorization") != "Bearer of-the-host" || len(header) != 1 {
		t.Errorf("the headers are %v", header)
	}
	if secrets := strings.Join(found.Secrets(), "|"); secrets != "Bearer of-the-host|of-the-host" {
		t.Errorf("the secrets are %s", secrets)
	}
}
