package process

import "testing"

func TestALineShowsWhereArgumentsEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command []string
		want    string
	}{
		{nil, ""},
		{[]string{"npx", "-y", "@scope/server"}, "npx -y @scope/server"},
		{[]string{"grep", "a b", "", `c\d`, `"e"`, "f\ng"}, `grep "a b" "" "c\\d" "\"e\"" "f\ng"`},
	} {
		if got := Line(tt.command); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.command, got, tt.want)
		}
	}
}
