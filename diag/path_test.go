package diag_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/diag"
)

// build is the path of segments.
func build(segments []diag.Segment) string {
	path := ""
	for _, s := range segments {
		if s.IsIndex {
			path = diag.Index(path, s.Index)
		} else {
			path = diag.Key(path, s.Key)
		}
	}
	return path
}

func key(k string) diag.Segment { return diag.Segment{Key: k} }
func index(i int) diag.Segment  { return diag.Segment{Index: i, IsIndex: true} }

func TestPathsAndTheirSegments(t *testing.T) {
	for path, segments := range map[string][]diag.Segment{
		"":                                  nil,
		"version":                           {key("version")},
		"agents.assistant.allowed_tools[0]": {key("agents"), key("assistant"), key("allowed_tools"), index(0)},
		`agents["gpt-4.1"].model_id`:        {key("agents"), key("gpt-4.1"), key("model_id")},
		"delegates[12][3].x":                {key("delegates"), index(12), index(3), key("x")},
		"[0].id":                            {index(0), key("id")},
		`["a b"]["[0]"]`:                    {key("a b"), key("[0]")},
		`[""]`:                              {key("")},
		`a["\"]"].b`:                        {key("a"), key(`"]`), key("b")},
		`a["größe"]`:                        {key("a"), key("größe")},
		`a["\xff\x00"]`:                     {key("a"), key("\xff\x00")},
		"cloud/translator.remote:x":         {key("cloud/translator"), key("remote:x")},
		"sections.permission.rules[2].tool": {key("sections"), key("permission"), key("rules"), index(2), key("tool")},
		"agents.7.0x":                       {key("agents"), key("7"), key("0x")},
	} {
		t.Run(path, func(t *testing.T) {
			if got := build(segments); got != path {
				t.Errorf("the path of %v is %s", segments, got)
			}
			got, ok := diag.ParsePath(path)
			if !ok || !slices.Equal(got, segments) {
				t.Errorf("ParsePath = %v, %v; want %v", got, ok, segments)
			}
		})
	}
}

func TestParsePathRefusesOtherSpellings(t *testing.T) {
	for _, path := range []string{
		".", ".a", "a.", "a..b", "a.[0]", "[0].", "[0]a", `["a b"]c`, `a.["b c"]`,
		"[", "[]", "[0", "]", "a]", "[-1]", "[+1]", "[01]", "[0x1]", "[ 1]", "[99999999999999999999]",
		`["a"]`, `["a b"`, `["a b]`, `["a b" ]`, "[`a b`]", `['a']`, `["\u0020"]`, `["\q"]`,
		"a b", `a"b`, "größe", "a\n",
	} {
		if segments, ok := diag.ParsePath(path); ok || segments != nil {
			t.Errorf("ParsePath(%q) = %v, %v", path, segments, ok)
		}
	}
}

func TestParsePathUndoesKeyAndIndex(t *testing.T) {
	segment := rapid.OneOf(
		rapid.Map(rapid.String(), key),
		rapid.Map(rapid.StringMatching(`[a-z0-9_.:/\[\]"-]{0,8}`), key),
		rapid.Map(rapid.IntRange(0, 1_000_000), index),
	)
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(segment, 0, 6).Draw(t, "segments")
		path := build(segments)
		got, ok := diag.ParsePath(path)
		if !ok || !slices.Equal(got, segments) {
			t.Fatalf("ParsePath(%q) = %v, %v; want %v", path, got, ok, segments)
		}
	})
}

func TestJoinBuildsWhatTheSegmentsBuild(t *testing.T) {
	segment := rapid.OneOf(
		rapid.Map(rapid.StringMatching(`[a-z. ]{0,4}`), key),
		rapid.Map(rapid.IntRange(0, 20), index),
	)
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(segment, 0, 6).Draw(t, "segments")
		cut := rapid.IntRange(0, len(segments)).Draw(t, "cut")
		if got, want := diag.Join(build(segments[:cut]), build(segments[cut:])), build(segments); got != want {
			t.Fatalf("Join gives %q, want %q", got, want)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, path := range []string{"", "a.b[0]", `a["x y"].z`, `[""]`, "[0]a", `["\xff"]`, "a..b", "["} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		segments, ok := diag.ParsePath(path)
		if !ok {
			if segments != nil {
				t.Errorf("ParsePath(%q) fails with %v", path, segments)
			}
			return
		}
		if got := build(segments); got != path {
			t.Errorf("ParsePath(%q) = %v, of which the path is %q", path, segments, got)
		}
	})
}

func TestSentencesContinueAFieldThatAVerbFollows(t *testing.T) {
	t.Parallel()
	for problem, want := range map[string]string{
		"is required":       "name is required",
		"must be text":      "name must be text",
		"requires an agent": "name requires an agent",
		"unknown version 7": "name: unknown version 7",
		"isolated":          "name: isolated",
		"":                  "name: ",
	} {
		if got := diag.Sentence("name", problem); got != want {
			t.Errorf("%q gives %q, want %q", problem, got, want)
		}
	}
}
