package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

func TestTheBillListsWhatABinaryWasBuiltFrom(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable() // this test is a Go binary with dependencies
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := writeBOM(&text, binary); err != nil {
		t.Fatal(err)
	}
	bom := new(cyclonedx.BOM)
	if err := cyclonedx.NewBOMDecoder(&text, cyclonedx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}
	if len(*bom.Components) != len(info.Deps)+1 {
		t.Errorf("%d components for %d modules and the standard library", len(*bom.Components), len(info.Deps))
	}
	i := slices.IndexFunc(*bom.Components, func(c cyclonedx.Component) bool {
		return strings.HasPrefix(c.PackageURL, "pkg:golang/github.com/CycloneDX/cyclonedx-go@v")
	})
	if i < 0 {
		t.Fatalf("a dependency is missing: %+v", *bom.Components)
	}
	if c := (*bom.Components)[i]; c.Hashes == nil || len((*c.Hashes)[0].Value) != 64 {
		t.Errorf("the dependency has no checksum: %+v", c)
	}
	if needed := (*bom.Dependencies)[0]; needed.Ref != bom.Metadata.Component.BOMRef || len(*needed.Dependencies) != len(*bom.Components) {
		t.Errorf("the binary does not depend on all components: %+v", needed)
	}
}

func TestWhatIsNoGoBinaryHasNoBill(t *testing.T) {
	t.Parallel()
	if err := writeBOM(new(bytes.Buffer), "main.go"); err == nil {
		t.Error("a bill is written for a text")
	}
}
