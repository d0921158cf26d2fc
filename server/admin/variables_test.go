package admin_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const withVariables = `tenants:
  variables:
    GREETING: {default: Hello, description: How customers are greeted.}
    KEY: {secret: true}
`

func openWithVariables(t *testing.T) *site {
	t.Helper()
	return open(t, strings.Replace(configuration, "server:\n", withVariables+"server:\n  encryption_key: a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=\n", 1))
}

func TestVariablesOfTenantsAreSetOverHTTP(t *testing.T) {
	s := openWithVariables(t)
	if list := s.want(200, "GET /tenants/acme/variables", ""); at(list, "variables", "0", "state") != "default" || at(list, "variables", "1", "state") != "unset" {
		t.Errorf("at first there are %v", list)
	}
	if set := s.want(200, "PUT /tenants/acme/variables/GREETING\n"+`{"value":"Hi"}`, ""); at(set, "value") != "Hi" || at(set, "set_by") != "ops/ann" {
		t.Errorf("the answer is %v", set)
	}
	// The answers to a secret never have it, as ask checks for the value of a variable.
	s.want(200, "PUT /tenants/acme/variables/KEY\n"+`{"value":"`+modelSecret+`"}`, "")
	list := s.want(200, "GET /tenants/acme/variables", "")
	if at(list, "variables", "0", "value") != "Hi" || at(list, "variables", "1", "state") != "set" || at(list, "variables", "1", "secret") != "true" {
		t.Errorf("then there are %v", list)
	}
	if other := s.want(200, "GET /tenants/globex/variables", ""); at(other, "variables", "0", "state") != "default" {
		t.Errorf("another tenant has %v", other)
	}
	s.want(200, "DELETE /tenants/acme/variables/GREETING", "")
	s.want(404, "DELETE /tenants/acme/variables/GREETING", "")
}

func TestWhatOfVariablesOfTenantsIsRefused(t *testing.T) {
	s := openWithVariables(t)
	for request, want := range map[string]int{
		"PUT /tenants/acme/variables/NONE\n" + `{"value":"x"}`:           http.StatusBadRequest,
		"PUT /tenants/acme/variables/KEY\n" + `{"value":"short"}`:        http.StatusBadRequest,
		"PUT /tenants/acme/variables/KEY\n" + `{"value":null}`:           http.StatusBadRequest,
		"PUT /tenants/acme/variables/KEY\n" + `{"value":3}`:              http.StatusBadRequest,
		"PUT /tenants/acme/variables/KEY\n" + `{"value":"x","more":"x"}`: http.StatusBadRequest,
	} {
		s.want(want, request, "")
	}
	const put = "PUT /tenants/acme/variables/GREETING\n" + `{"value":"Hi"}`
	for key, want := range map[string]int{readerKey: http.StatusForbidden, plainKey: http.StatusForbidden, someKey: http.StatusBadRequest} {
		if got, answer := s.ask(key, put, ""); got != want {
			t.Errorf("%s is answered with %d: %v", key, got, answer)
		}
	}
	for key, want := range map[string]int{readerKey: http.StatusOK, plainKey: http.StatusForbidden} {
		if got, answer := s.ask(key, "GET /tenants/acme/variables", ""); got != want {
			t.Errorf("%s lists with %d: %v", key, got, answer)
		}
	}
}

func TestSecretsOfTenantsNeedAnEncryptionKey(t *testing.T) {
	s := open(t, strings.Replace(configuration, "server:\n", withVariables+"server:\n", 1))
	if refused := s.want(409, "PUT /tenants/acme/variables/KEY\n"+`{"value":"a-long-secret"}`, ""); at(refused, "error", "code") != "no_encryption_key" {
		t.Errorf("it is refused with %v", refused)
	}
}

// A tenant sets variables of its own, and those of others look as if they did not exist.
func TestATenantSetsItsOwnVariables(t *testing.T) {
	s := open(t, strings.Replace(tenantConfiguration, "tenants: {may: {models: [spare]}}\n", withVariables+"  may: {models: [spare]}\n", 1))
	const put = "PUT /tenants/acme/variables/GREETING\n" + `{"value":"Hi"}`
	if set := s.as(acmeKey, http.StatusOK, put, ""); at(set, "set_by") != "acme/amy" {
		t.Errorf("the answer is %v", set)
	}
	if list := s.as(peekKey, http.StatusOK, "GET /tenants/acme/variables", ""); at(list, "variables", "0", "value") != "Hi" {
		t.Errorf("there are %v", list)
	}
	s.as(peekKey, http.StatusForbidden, put, "")
	s.as(peekKey, http.StatusForbidden, "DELETE /tenants/acme/variables/GREETING", "")
	for _, request := range []string{"GET /tenants/acme/variables", put, "DELETE /tenants/acme/variables/GREETING"} {
		s.as(otherKey, http.StatusNotFound, request, "")
		s.as(otherKey, http.StatusNotFound, strings.Replace(request, "acme", "nobody", 1), "")
		s.as(plainKey, http.StatusForbidden, request, "")
	}
	s.as(acmeKey, http.StatusOK, "DELETE /tenants/acme/variables/GREETING", "")
}

// What sets and deletes a variable leaves an audit record, which has no value.
func TestChangesOfVariablesLeaveRecords(t *testing.T) {
	var out bytes.Buffer
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&out), zap.DebugLevel))
	s := openWith(t, strings.Replace(configuration, "server:\n", withVariables+"server:\n  encryption_key: a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=\n", 1), log)
	s.want(http.StatusOK, "PUT /tenants/acme/variables/KEY\n"+`{"value":"`+modelSecret+`"}`, "")
	s.want(http.StatusOK, "PUT /tenants/acme/variables/GREETING\n"+`{"value":"plain-value-of-acme"}`, "")
	s.want(http.StatusOK, "DELETE /tenants/acme/variables/KEY", "")
	text := out.String()
	for _, want := range []string{"set_tenant_variable", "delete_tenant_variable"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no record of %s in\n%s", want, text)
		}
	}
	for _, value := range []string{modelSecret, "plain-value-of-acme"} {
		if strings.Contains(text, value) {
			t.Errorf("a record has the value %s", value)
		}
	}
}
