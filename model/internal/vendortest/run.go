package vendortest

import (
	"testing"

	"go.uber.org/goleak"
)

// Run tests an implementation.
func Run(t *testing.T, v *Vendor) {
	for name, test := range map[string]func(*Vendor, *testing.T){
		"the kind makes executors":                      (*Vendor).testKind,
		"the configuration is checked":                  (*Vendor).testConfig,
		"the configuration is shown without secrets":    (*Vendor).testConfigIsShown,
		"the configuration alone decides what is sent":  (*Vendor).testHeaders,
		"base_url says where requests go":               (*Vendor).testURLs,
		"tools are encoded once":                        (*Vendor).testToolsAreEncodedOnce,
		"tools have names that the vendor accepts":      (*Vendor).testToolNames,
		"calls have names":                              (*Vendor).testBlankToolNames,
		"a connection is kept":                          (*Vendor).testConnectionIsKept,
		"many ask at once":                              (*Vendor).testManyAtOnce,
		"a redirect is not followed":                    (*Vendor).testRedirect,
		"what fails is asked once":                      (*Vendor).testNoRetries,
		"nobody is there":                               (*Vendor).testNobodyThere,
		"a call can be canceled":                        (*Vendor).testCancel,
		"a deadline is not a cancellation":              (*Vendor).testDeadline,
		"breaking off ends the request":                 (*Vendor).testBreak,
		"the body is closed":                            (*Vendor).testBodyIsClosed,
		"a server that does not close holds up nothing": (*Vendor).testPatience,
		"a connection breaks":                           (*Vendor).testAbruptClose,
		"the transport fails":                           (*Vendor).testTransportErrors,
		"headers need not fit the body":                 (*Vendor).testMislabeled,
		"a conflict passes":                             (*Vendor).testConflict,
		"secrets are kept":                              (*Vendor).testSecretsAreKept,
		"what never ends is cut":                        (*Vendor).testEndless,
		"the wait that a server asks for is told":       (*Vendor).testRetryAfter,
		"recordings are read":                           (*Vendor).testRecordings,
		"where the network cuts a stream is not seen":   (*Vendor).testSplitAnywhere,
		"a truncated stream is interrupted":             (*Vendor).testTruncatedAnywhere,
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) })
			test(v, t)
		})
	}
}
