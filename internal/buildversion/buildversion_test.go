package buildversion

import "testing"

func TestVersionsAreNamed(t *testing.T) {
	for recorded, want := range map[string]string{"": "devel", "(devel)": "devel", "v1.2.3": "v1.2.3"} {
		if got := name(recorded); got != want {
			t.Errorf("%q is shown as %q, want %q", recorded, got, want)
		}
	}
	if got := Program(); got == "" || got[0] == '(' {
		t.Errorf("the program's version is %q", got)
	}
}
