package a2asdk

import "testing"

// ForEach runs a test for both versions and both transports, passed by name. The tests run in
// parallel and share their setup.
func ForEach(t *testing.T, test func(t *testing.T, v Version, transport string)) {
	t.Helper()
	for _, v := range jsVersions {
		useDriver(t, v)
	}
	for _, v := range jsVersions {
		for _, transport := range []string{JSONRPC, REST} {
			t.Run(string(v)+" "+transport, func(t *testing.T) {
				t.Parallel()
				test(t, v, transport)
			})
		}
	}
}

// ForEachPython runs a test with the Python SDK over each transport. The tests run in parallel and
// share the process.
func ForEachPython(t *testing.T, test func(t *testing.T, transport string)) {
	t.Helper()
	useDriver(t, Python)
	for _, transport := range []string{JSONRPC, REST, GRPC} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			test(t, transport)
		})
	}
}
