package console_test

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
)

// pictures is the folder of the pictures of the documentation.
const pictures = "../../docs/images"

// maxPicture bounds the size of a picture of the documentation.
const maxPicture = 150 << 10

func saveShot(t *testing.T, b *browser.Browser, name string) {
	t.Helper()
	shot, err := png.Decode(bytes.NewReader(b.Screenshot()))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&file, reduceColors(shot)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pictures, "console-"+name+".png"), file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reduceColors replaces colors by the nearest of the 256 most frequent ones.
func reduceColors(shot image.Image) image.Image {
	bounds := shot.Bounds()
	uses := map[color.Color]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			uses[shot.At(x, y)]++
		}
	}
	order := func(a, b color.Color) int {
		ar, ag, ab, _ := a.RGBA()
		br, bg, bb, _ := b.RGBA()
		return cmp.Or(uses[b]-uses[a], cmp.Compare(ar, br), cmp.Compare(ag, bg), cmp.Compare(ab, bb))
	}
	frequent := slices.SortedFunc(maps.Keys(uses), order)
	palette := color.Palette(frequent[:min(256, len(frequent))])
	nearest := map[color.Color]uint8{}
	for c := range uses {
		nearest[c] = uint8(palette.Index(c)) //nolint:gosec // there are 256 colors at most
	}
	reduced := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			reduced.SetColorIndex(x, y, nearest[shot.At(x, y)])
		}
	}
	return reduced
}

func TestPicturesOfTheDocumentationAreSmall(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pictures, "console-*.png"))
	if err != nil || len(files) != len(shown) {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.Size() > maxPicture {
			t.Errorf("%s has %d bytes, %v", file, info.Size(), err)
		}
	}
}
