package mcp

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// serveVariable makes the test binary a server: its value selects which one.
const serveVariable = "MCPTOOL_TEST_SERVER"

func TestMain(m *testing.M) {
	if behaviour := os.Getenv(serveVariable); behaviour != "" {
		if err := serve(behaviour); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if scenario := os.Getenv(scenarioVariable); scenario != "" {
		if err := actAsClient(scenario, os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
