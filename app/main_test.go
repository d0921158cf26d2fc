package app

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	providertest.RunProcess()
	goleak.VerifyTestMain(m)
}
